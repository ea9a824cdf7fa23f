// SPDX-License-Identifier: Apache-2.0
// The settings of the links of one stage, compiled from a LinkPlan into a worker's units.
#pragma once

#include <cstdint>
#include <vector>

#include "dataplane/links/link_shape.h"
#include "dataplane/links/link_time.h"

namespace bfly::dataplane {

struct ServedLink {
  LinkTime byte_time = 0;  // 2^-64 TSC ticks; 0: sending takes no time
  uint64_t delay = 0;      // TSC
  uint64_t loss = 0;       // in 2^-63; 0: no packet is lost
  uint32_t queue_limit = 0;
  Discipline discipline = Discipline::kFifo;

  // Whether a packet with these 64 random bits is lost.
  bool Loses(uint64_t random) const { return random >> 1 < loss; }
  // Whether packets that wait or share the link leave and arrive at the same times.
  bool SameTimes(const ServedLink& other) const {
    return byte_time == other.byte_time && delay == other.delay && discipline == other.discipline;
  }

  // The time that sending takes without other packets, rounded up.
  LinkTime SendTime(uint32_t bytes) const {
    return (byte_time * bytes + UINT32_MAX) >> (64 - kTickFractionBits);
  }
};

ServedLink ToServed(const LinkShape& shape, double tsc_hz);

// Immutable. The link of (row, port) has the number row * ports + port.
class ShapeTable {
 public:
  ShapeTable(const LinkPlan& plan, int stage, uint32_t rows, int ports, double tsc_hz);

  const ServedLink& of(uint32_t link) const {
    return served_[shape_of_link_.empty() ? 0 : shape_of_link_[link]];
  }
  // The settings that all links have; null: the links differ.
  const ServedLink* of_all() const { return shape_of_link_.empty() ? &served_[0] : nullptr; }
  // True if any link has to keep packets.
  bool keeps_packets() const { return keeps_packets_; }
  // True if any link may lose packets.
  bool loses_packets() const { return loses_packets_; }
  bool SameAs(const ShapeTable& other) const {
    return shapes_ == other.shapes_ && shape_of_link_ == other.shape_of_link_;
  }

 private:
  void Apply(const LinkRule& rule, uint32_t rows, int ports);
  uint32_t NumberOf(const LinkShape& shape);

  std::vector<LinkShape> shapes_;
  std::vector<uint32_t> shape_of_link_;  // empty: all links have shapes_[0]
  std::vector<ServedLink> served_;       // for each of shapes_, in the same order
  bool keeps_packets_ = false;
  bool loses_packets_ = false;
};

}  // namespace bfly::dataplane

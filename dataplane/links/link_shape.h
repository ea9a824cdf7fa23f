// SPDX-License-Identifier: Apache-2.0
// The settings of a link: rate, delay, queue limit, discipline, loss. Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "dataplane/links/discipline.h"
#include "topologies/network.h"

namespace bfly::dataplane {

struct LinkShape {
  uint64_t bits_per_second = 0;  // counts frames without FCS; 0: no rate, sending takes no time
  uint64_t delay_ns = 0;         // from the end of sending to the next node
  // The most packets that may wait, not counting the one being sent; 0: no limit. Under processor
  // sharing, which lets no packet wait, queue_limit + 1 packets are served at a time.
  uint32_t queue_limit = 0;
  Discipline discipline = Discipline::kFifo;
  double loss = 0;  // probability that a sent packet does not arrive

  // True if the link has to keep packets.
  bool keeps_packets() const { return bits_per_second != 0 || delay_ns != 0 || loss > 0; }
  friend bool operator==(const LinkShape&, const LinkShape&) = default;
};

inline constexpr uint64_t kMaxLinkRate = 1'000'000'000'000;  // 1 Tbit/s
inline constexpr uint64_t kMaxLinkDelayNs = 60'000'000'000;  // 1 min
inline constexpr uint32_t kMaxLinkQueue = 1u << 20;

// Settings for the links of some stages and rows. A rule does not change the settings that it
// leaves out.
struct LinkRule {
  int first_stage = 0, last_stage = 0;  // inclusive
  Row first_row = 0, last_row = 0;      // inclusive
  std::optional<int> port = {};         // nullopt: all ports
  std::optional<uint64_t> bits_per_second = {};
  std::optional<uint64_t> delay_ns = {};
  std::optional<uint32_t> queue_limit = {};
  std::optional<Discipline> discipline = {};
  std::optional<double> loss = {};

  bool Covers(LinkId link) const {
    return link.stage >= first_stage && link.stage <= last_stage && link.row >= first_row &&
           link.row <= last_row && (!port || *port == link.port);
  }
  LinkShape Applied(LinkShape shape) const {
    shape.bits_per_second = bits_per_second.value_or(shape.bits_per_second);
    shape.delay_ns = delay_ns.value_or(shape.delay_ns);
    shape.queue_limit = queue_limit.value_or(shape.queue_limit);
    shape.discipline = discipline.value_or(shape.discipline);
    shape.loss = loss.value_or(shape.loss);
    return shape;
  }
};

// All links of a network: the settings of every link, and rules in the order in which they apply.
struct LinkPlan {
  LinkShape base;
  std::vector<LinkRule> rules;

  LinkShape Of(LinkId link) const {
    LinkShape shape = base;
    for (const LinkRule& rule : rules) {
      if (rule.Covers(link)) shape = rule.Applied(shape);
    }
    return shape;
  }
};

}  // namespace bfly::dataplane

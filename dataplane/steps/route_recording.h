// SPDX-License-Identifier: Apache-2.0
// Where every packet of a run was in every step: what the log of crossings knows, packet by packet.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "dataplane/steps/crossing_log.h"
#include "topologies/network.h"
#include "topologies/relation.h"

namespace bfly::dataplane {

// Packets are numbered as in the relation. A packet is at its input from the end of its first step
// on, and crosses one link after the other until it is at its output or the run ends.
struct RouteRecording {
  static constexpr uint32_t kNotSent = UINT32_MAX;

  // By packet.
  std::vector<Row> inputs;
  std::vector<Row> outputs;
  std::vector<uint32_t> begins;  // the step at whose end the packet begins; kNotSent: never
  std::vector<uint32_t> links;   // how many links the packet crossed
  // By packet and then by link: the step of the crossing, counted from 1, the port, and the row
  // that the link leads to.
  std::vector<uint32_t> steps;
  std::vector<uint32_t> ports;
  std::vector<Row> rows;
};

// The crossings that a recording has room for. Its network has at most so many rows times hops.
inline constexpr uint64_t kMaxRecordedCrossings = uint64_t{1} << 17;

// RESOURCE_EXHAUSTED: the packets may cross more links than a recording has room for, or the
// network is too large. The message says what fits.
absl::Status CheckRecordable(const Network& network, uint64_t packets);

// `log` has followed the packets of `relation`.
RouteRecording RecordingOf(const CrossingLog& log, const Relation& relation);

}  // namespace bfly::dataplane

// SPDX-License-Identifier: Apache-2.0
// Where every packet of a run was in every step, taken from the log of crossings.
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

  // One entry for each packet.
  std::vector<Row> inputs;
  std::vector<Row> outputs;
  std::vector<uint32_t> begins;  // the step at whose end the packet begins; kNotSent: never
  std::vector<uint32_t> links;   // how many links the packet crossed
  // For each packet and then each link: the step of the crossing, counted from 1, the port, and the
  // row that the link leads to.
  std::vector<uint32_t> steps;
  std::vector<uint32_t> ports;
  std::vector<Row> rows;
};

// How many crossings a recording has room for, and the most rows times hops of its network.
inline constexpr uint64_t kMaxRecordedCrossings = uint64_t{1} << 17;

// RESOURCE_EXHAUSTED: the packets may cross more links than a recording has room for, or the
// network is too large. The message says what fits.
absl::Status CheckRecordable(const Network& network, uint64_t packets);

// `log` is the log of a run of the packets of `relation`.
RouteRecording RecordingOf(const CrossingLog& log, const Relation& relation);

}  // namespace bfly::dataplane

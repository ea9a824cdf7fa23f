// SPDX-License-Identifier: Apache-2.0
#include "dataplane/steps/route_recording.h"

#include "absl/strings/str_cat.h"

namespace bfly::dataplane {

absl::Status CheckRecordable(const Network& network, uint64_t packets) {
  const auto hops = static_cast<uint64_t>(network.hops());
  const uint64_t most = kMaxRecordedCrossings / hops;
  if (network.rows() > most) {
    return absl::ResourceExhaustedError(
        absl::StrCat("network: a recording is of at most ", most, " rows where packets cross ",
                     hops, " links, and the network has ", network.rows(),
                     "; use `bfly route`, which counts without recording"));
  }
  if (packets <= most) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("h: ", packets, " packets that cross ", hops, " links each are ", packets * hops,
                   " crossings, and a recording has at most ", kMaxRecordedCrossings,
                   "; use a smaller h (", most / network.rows(), " fits)"));
}

RouteRecording RecordingOf(const CrossingLog& log, const Relation& relation) {
  const Network& network = log.network();
  const auto ports = static_cast<uint32_t>(network.ports());
  RouteRecording recording;
  recording.outputs = relation.destinations;
  for (Row input = 0; input < relation.rows(); ++input) {
    recording.inputs.resize(relation.first[input + 1], input);
  }
  for (uint64_t packet = 0; packet < log.packets(); ++packet) {
    const bool begun = log.has_begun(packet);
    recording.begins.push_back(begun ? log.begin(packet) : RouteRecording::kNotSent);
    uint32_t crossed = 0;
    for (int hop = 0; hop < network.hops(); ++hop, ++crossed) {
      const Crossing& crossing = log.at(hop, packet);
      if (crossing.step == 0) break;
      const Row tail = crossing.link / ports;
      const uint32_t port = crossing.link % ports;
      recording.steps.push_back(crossing.step);
      recording.ports.push_back(port);
      recording.rows.push_back(
          network.next_row(network.stage_of_hop(hop), tail, static_cast<int>(port)));
    }
    recording.links.push_back(crossed);
  }
  return recording;
}

}  // namespace bfly::dataplane

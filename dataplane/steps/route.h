// SPDX-License-Identifier: Apache-2.0
// Runs a step program for given packets on a network and reports what happened on the way: how long
// the run took, what crossed which link, and which packets waited where.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "dataplane/steps/extra_stages.h"
#include "dataplane/steps/h_relation.h"
#include "dataplane/steps/packet_traffic.h"
#include "dataplane/steps/route_recording.h"
#include "topologies/crew.h"
#include "topologies/fault_set.h"
#include "topologies/network.h"
#include "topologies/relation.h"

namespace bfly::dataplane {

struct RouteRequest {
  // The packets of every input, in the order in which they stand there.
  Relation relation;
  uint32_t h = 0;  // if not 0, the packets must be an h-relation
  uint64_t seed = 0;
  // The run ends with a report after at most this many steps. 0: it ends when it is done or makes
  // no progress.
  uint64_t max_steps = 0;
  uint32_t waves = 1;                        // waves: L
  uint32_t buffer = 4;                       // store_and_forward
  uint32_t queue_limit = 0;                  // greedy: GreedyConfig::queue; 0: no limit
  QueueOrder order = QueueOrder::kPriority;  // extra_stages
  HRelationConfig h_relation = {};           // h_relation; its h is the h of the relation
};

// The packets that stood at the nodes of one level. A packet has waited if it left more than 1 step
// after it came. In extra_stages 2 steps are allowed to a packet that came from a level before. In
// extra_stages, greedy and store_and_forward a packet that meets no other does not wait. In waves a
// packet may wait for its phase and colour, and in h_relation for its stage, even if it meets no
// other.
struct LevelWaits {
  uint64_t packets = 0;       // packets that stood at the level
  uint64_t waited = 0;        // packets that waited
  uint64_t waited_steps = 0;  // the steps that they stayed beyond the allowed ones, summed
  uint64_t most_steps = 0;    // the most steps that one packet stayed beyond the allowed ones
};

// Part of a run that begins when the part before it is over.
struct WaveSummary {
  uint32_t wave = 0;
  uint64_t packets = 0;
  uint64_t phases = 0;
  uint64_t steps = 0;
};

struct RouteReport {
  uint64_t packets = 0;
  uint64_t delivered = 0;
  // Packets that were not sent, because their input, or every path to their output, is faulty.
  uint64_t left_out = 0;
  std::vector<Row> faulty_inputs;  // the inputs of packets that were left out, ascending
  // The outputs of packets that were left out and that no input reaches.
  std::vector<Row> faulty_outputs;
  // Switches that are not down, but faulty by the rule (faulty_switches.h).
  uint64_t faulty_switches = 0;
  // Whether every packet that was sent has arrived. If not, `trouble` says why.
  bool finished = false;
  std::string trouble;
  // Steps of the run. A run of waves has whole phases and an h-relation has whole stages, unless
  // max_steps ends the last phase or stage early.
  uint64_t steps = 0;
  // How many of the steps the crew did not take. Of waves these are the steps of a phase after the
  // last packet of a wave has arrived.
  uint64_t steps_not_taken = 0;
  uint64_t steps_taken() const { return steps - steps_not_taken; }
  // What the program counts besides steps: phases of waves, stages of an h-relation. 0: it counts
  // only steps.
  uint64_t phases = 0;
  std::vector<WaveSummary> waves;  // filled in by the program waves
  double mean_latency = 0;         // steps from the beginning of a packet's wave to its delivery
  uint64_t max_latency = 0;
  uint32_t congestion = 0;                 // the most packets that crossed one link
  std::vector<uint32_t> stage_congestion;  // for each hop: the most packets that crossed one link
  std::vector<LevelWaits> levels;          // for each hop: the waits at the nodes before the hop

  // Where the packets stood over time. Sample s is taken after step s * steps_a_sample.
  uint64_t steps_a_sample = 1;
  uint64_t samples = 0;
  // For each sample and then each level 0..hops: how many packets were at the level. At level hops
  // these are the delivered packets.
  std::vector<uint64_t> standing;
  // For the level that RouteOptions::level names, for each sample and then each row: how many
  // packets stood there.
  std::vector<uint32_t> standing_of_level;
};

struct RouteOptions {
  uint64_t max_samples = 200;  // fewer if a level has very many rows
  int level = -1;  // RouteReport::standing_of_level is filled in for this level, 0..hops
  // The crew that takes the steps. Null: a crew of `workers` threads, made for the run.
  Crew* crew = nullptr;
  int workers = 1;
  // Gets what the packets do, for each block of the crew. May be null.
  PacketTraffic* traffic = nullptr;
  // Filled in with where every packet was. May be null.
  RouteRecording* recording = nullptr;
  // On stage workers every packet has a frame of this many bytes. 0: packets have no frames.
  // RunRoute ignores the field.
  uint32_t frame_bytes = 0;
  // The bytes that the run may take to follow its packets and for its nodes.
  uint64_t max_bytes = UINT64_MAX;
};

inline constexpr int kMaxRouteWorkers = 256;
// The bytes that a run may use to follow its packets.
inline constexpr uint64_t kMaxRouteBytes = uint64_t{1} << 30;

// One step program that RunRoute can run.
struct RouteProgram {
  absl::string_view name;
  absl::string_view about;
  absl::string_view networks;  // the networks on which it is defined
  bool around_faults = false;  // whether it is defined on networks with faults
};
const std::vector<RouteProgram>& AllRoutePrograms();

// The result does not depend on which crew takes the steps. `faults` is about the same network.
// InvalidArgument: there is no such program, the program is not defined on the network, a field is
// wrong, or the program does not take such packets; the message names the field or the row.
// FailedPrecondition: faults leave no packet to send, or the program does not go around faults.
// ResourceExhausted: more than kMaxRouteBytes, options.max_bytes, or what a recording has room for.
// Cancelled: options.crew has given up. A run that makes no progress or reaches max_steps is not an
// error: `finished` is false.
absl::StatusOr<RouteReport> RunRoute(absl::string_view program, const Network& network,
                                     const FaultSet& faults, const RouteRequest& request,
                                     const RouteOptions& options);

}  // namespace bfly::dataplane

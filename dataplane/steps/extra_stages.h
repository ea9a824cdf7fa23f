// SPDX-License-Identifier: Apache-2.0
// Sequences of permutations on a butterfly with extra random stages (Upfal, Felperin, Snir:
// Randomized routing with shorter paths, sections 2 to 4).
//
// The node model is that of section 4. A node has a buffer for one packet on each incoming link and
// an unbounded queue on each outgoing link. All nodes act at the same time, on the state at the
// start of the step:
//  * the head of a queue crosses its link if the buffer at the far end was empty;
//  * a packet in a buffer moves to the queue of its next link, and both buffers of a node may move
//    to the same queue. The buffer is not filled again in the same step.
// This model is NodeModel::kHalfRate: a link carries a packet every other step at most. Outputs
// have no buffers: a packet is delivered in the step in which it crosses its last link. Over h
// links a packet that meets no other takes 2h - 1 steps.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "topologies/network.h"
#include "topologies/permutation.h"

namespace bfly::dataplane {

// Which packet of a queue goes next. Packets that the order makes equal go in the order of arrival.
// If two packets arrive in the same step, the packet from the lower row goes first.
enum class QueueOrder {
  kFifo,
  // Section 3: a packet of the i-th permutation has the priority (ceil(i / log N), R), R uniform in
  // 0 .. (log N) 2^r. The packet with the smaller priority goes first; the first number is compared
  // before the second.
  kPriority,
};

// "fifo", "priority".
absl::string_view QueueOrderName(QueueOrder order);
// InvalidArgument lists the names.
absl::StatusOr<QueueOrder> QueueOrderFromName(absl::string_view name);

enum class NodeModel {
  kHalfRate,
  // A queue takes one packet a step. If both buffers of a node want the same queue, they take
  // turns, and one waits. An input puts one packet a step into its queues, in the order of the
  // permutations.
  kOneArrival,
};

// "half_rate", "one_arrival".
absl::string_view NodeModelName(NodeModel model);
// InvalidArgument lists the names.
absl::StatusOr<NodeModel> NodeModelFromName(absl::string_view name);

struct ExtraStagesConfig {
  // kHalfRate has an engine of its own. kOneArrival runs on the step clock and takes longer.
  NodeModel model = NodeModel::kHalfRate;
  QueueOrder order = QueueOrder::kPriority;
  // t: input i sends one packet for each permutation of the sequence. All packets stand at the
  // inputs when the run begins.
  uint32_t permutations = 1;
  // One of PermutationNames(). Every permutation of the sequence is this permutation.
  std::string permutation = "random";
  // The permutations of the sequence are random and independent. Only if `permutation` is random.
  bool independent = false;
  // If not empty, these permutations of the rows are the sequence, and `permutation` and
  // `independent` have no effect.
  std::vector<Permutation> given = {};
  // Processors get random new names, so that a permutation pi becomes s^-1 pi s with the same
  // uniform s for the whole sequence (section 2).
  bool renaming = false;
  uint64_t seed = 0;
  int workers = 1;  // threads that share the rows, 1 to kMaxExtraStagesWorkers
};

inline constexpr int kMaxExtraStagesWorkers = 256;
// A run holds up to 48 bytes for each packet.
inline constexpr uint64_t kMaxExtraStagesPackets = uint64_t{1} << 25;

struct ExtraStagesResult {
  uint64_t packets = 0;  // all of them are delivered
  uint64_t hops = 0;     // links crossed, over all packets
  uint64_t steps = 0;    // until the last packet was delivered
  // Steps from the start of the run until a packet is delivered, over all packets.
  double mean_latency = 0;
  uint64_t max_latency = 0;
  uint32_t congestion = 0;       // the most packets that crossed one link
  uint32_t node_congestion = 0;  // the most packets that passed one node behind the inputs
  // finished[f - 1]: the step in which the last packet of the first f permutations was delivered.
  std::vector<uint64_t> finished;
};

// A packet of a run. All engines of this model begin with the same packets, ordered by input and
// then by permutation.
struct ExtraPacket {
  // The packet with the smaller priority goes first. The priority is ceil(i / log N) - 1 times (log
  // N) 2^r + 1, plus R; under kFifo it is 0.
  uint64_t priority = 0;
  uint64_t path = 0;    // bit h is the direction of hop h
  uint32_t number = 0;  // permutation * rows + input, permutations counted from 0
  // When the packet crossed its last link, in pairs of steps. Only the engine uses the field.
  uint32_t crossed = 0;
};

// InvalidArgument names the field, its value and what would be right. The network must be a
// butterfly, with extra stages or without.
absl::Status CheckExtraStages(const Network& network, const ExtraStagesConfig& config);

// sequence[q][input]: the output of input's packet of permutation q. CheckExtraStages accepts the
// config.
std::vector<Permutation> PermutationsOf(const Network& network, const ExtraStagesConfig& config);
uint64_t LargestPriority(const Network& network, const ExtraStagesConfig& config);
// `workers` threads share the work. The packets do not depend on how many there are.
std::vector<ExtraPacket> PacketsOf(const Network& network, const ExtraStagesConfig& config);

// Every packet takes random directions in the extra stages and its destination's bits after them.
// The result is a pure function of the network, the config except for `workers`, and the model
// above.
//
// `crossings`, if given, gets the step in which each packet crossed each link:
// (*crossings)[hop * packets + number].
absl::StatusOr<ExtraStagesResult> RunExtraStages(const Network& network,
                                                 const ExtraStagesConfig& config,
                                                 std::vector<uint32_t>* crossings = nullptr);

}  // namespace bfly::dataplane

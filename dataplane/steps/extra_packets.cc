// SPDX-License-Identifier: Apache-2.0
// What a run on a butterfly with extra stages begins with: permutations, paths and priorities.
#include "dataplane/steps/extra_packets.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "topologies/crew.h"
#include "topologies/random.h"

namespace bfly::dataplane {
namespace {

constexpr QueueOrder kQueueOrders[] = {QueueOrder::kFifo, QueueOrder::kPriority};
constexpr NodeModel kNodeModels[] = {NodeModel::kHalfRate, NodeModel::kOneArrival};
constexpr size_t kInputsPerPart = 64;

// s^-1 pi s: input x has the name s(x), and the output with the name y is s^-1(y).
Permutation Renamed(const Permutation& permutation, const std::vector<uint32_t>& names) {
  std::vector<Row> named(names.size());
  for (Row row = 0; row < names.size(); ++row) named[names[row]] = row;
  Permutation renamed(names.size());
  for (Row row = 0; row < names.size(); ++row) renamed[row] = named[permutation[names[row]]];
  return renamed;
}

// A set has log N permutations.
uint32_t PrioritiesOfSet(const Network& network) {
  return (static_cast<uint32_t>(network.dimension()) << network.extra_hops()) + 1;
}

// The last d hops set every bit of the address once.
uint64_t PathTo(const Network& network, Row output) {
  uint64_t path = 0;
  for (int hop = network.extra_hops(); hop < network.hops(); ++hop) {
    const int position = network.position_of_stage(hop);
    path |= uint64_t{output >> (network.dimension() - position) & 1} << hop;
  }
  return path;
}

// The sequence, or its first permutation if all of them are the same.
std::vector<Permutation> DifferentPermutations(const Network& network,
                                               const ExtraStagesConfig& config) {
  const uint32_t rows = network.rows();
  std::vector<uint32_t> names;
  if (config.renaming) names = RandomPermutation(config.seed, RandomStream::kRenaming, rows);
  std::vector<Permutation> sequence;
  for (const Permutation& permutation : config.given) {
    sequence.push_back(config.renaming ? Renamed(permutation, names) : permutation);
  }
  if (!sequence.empty()) return sequence;
  const uint32_t different = config.independent ? config.permutations : 1;
  for (uint32_t q = 0; q < different; ++q) {
    // The first one is PermutationByName("random") too.
    Permutation permutation =
        config.permutation == "random"
            ? RandomPermutation(config.seed, RandomStream::kPermutation, rows, uint64_t{q} * rows)
            : *PermutationByName(config.permutation, rows, config.seed);
    if (config.renaming) permutation = Renamed(permutation, names);
    sequence.push_back(std::move(permutation));
  }
  return sequence;
}

}  // namespace

absl::string_view QueueOrderName(QueueOrder order) {
  return order == QueueOrder::kFifo ? "fifo" : "priority";
}

absl::StatusOr<QueueOrder> QueueOrderFromName(absl::string_view name) {
  for (const QueueOrder order : kQueueOrders) {
    if (QueueOrderName(order) == name) return order;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("\"", name, "\" is not an order of queues: fifo, priority"));
}

absl::string_view NodeModelName(NodeModel model) {
  return model == NodeModel::kHalfRate ? "half_rate" : "one_arrival";
}

absl::StatusOr<NodeModel> NodeModelFromName(absl::string_view name) {
  for (const NodeModel model : kNodeModels) {
    if (NodeModelName(model) == name) return model;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("\"", name, "\" is not a model of a node: half_rate, one_arrival"));
}

absl::Status CheckExtraStages(const Network& network, const ExtraStagesConfig& config) {
  if (network.kind() != NetworkKind::kButterfly) {
    return absl::InvalidArgumentError(
        absl::StrCat("network: kind is ", KindName(network.kind()),
                     ", and extra stages are stages of a butterfly; write butterfly"));
  }
  const uint64_t most = kMaxExtraStagesPackets / network.rows();
  if (config.permutations < 1 || config.permutations > most) {
    return absl::InvalidArgumentError(absl::StrCat(
        "permutations: ", config.permutations, " is outside 1..", most, " for ", network.rows(),
        " rows; a run holds at most ", kMaxExtraStagesPackets, " packets"));
  }
  if (config.workers < 1 || config.workers > kMaxExtraStagesWorkers) {
    return absl::InvalidArgumentError(
        absl::StrCat("workers: ", config.workers, " is outside 1..", kMaxExtraStagesWorkers));
  }
  if (!config.given.empty()) {
    if (config.given.size() != config.permutations) {
      return absl::InvalidArgumentError(absl::StrCat("permutations: ", config.permutations,
                                                     " is not the number of those given, ",
                                                     config.given.size()));
    }
    for (size_t q = 0; q < config.given.size(); ++q) {
      const absl::Status status = CheckPermutation(config.given[q], network.rows());
      if (!status.ok()) {
        return absl::InvalidArgumentError(absl::StrCat("given[", q, "]: ", status.message()));
      }
    }
    return absl::OkStatus();
  }
  const std::vector<std::string> names = PermutationNames();
  if (std::find(names.begin(), names.end(), config.permutation) == names.end()) {
    return absl::InvalidArgumentError(absl::StrCat("permutation: \"", config.permutation,
                                                   "\" is none of ", absl::StrJoin(names, ", ")));
  }
  if (config.independent && config.permutation != "random") {
    return absl::InvalidArgumentError(
        absl::StrCat("independent: permutations of a sequence differ only if they are random, and "
                     "permutation is ",
                     config.permutation, "; write random or leave independent out"));
  }
  return absl::OkStatus();
}

std::vector<Permutation> PermutationsOf(const Network& network, const ExtraStagesConfig& config) {
  std::vector<Permutation> sequence = DifferentPermutations(network, config);
  sequence.resize(config.permutations, sequence.front());
  return sequence;
}

uint64_t LargestPriority(const Network& network, const ExtraStagesConfig& config) {
  const auto set = static_cast<uint32_t>(network.dimension());
  return ((config.permutations - 1) / set + 1) * uint64_t{PrioritiesOfSet(network)} - 1;
}

PacketDraw::PacketDraw(const Network& network, const ExtraStagesConfig& config)
    : config_(config),
      rows_(network.rows()),
      extra_(network.extra_hops()),
      set_(static_cast<uint32_t>(network.dimension())),
      priorities_(PrioritiesOfSet(network)),
      path_to_(rows_),
      sequence_(DifferentPermutations(network, config)) {
  for (Row output = 0; output < rows_; ++output) path_to_[output] = PathTo(network, output);
}

ExtraPacket PacketDraw::Draw(Row input, uint32_t permutation) const {
  const uint64_t number = uint64_t{permutation} * rows_ + input;
  const Permutation& outputs = sequence_[sequence_.size() > 1 ? permutation : 0];
  ExtraPacket packet{.path = path_to_[outputs[input]], .number = static_cast<uint32_t>(number)};
  if (extra_ > 0) {
    packet.path |= Random64(config_.seed, RandomStream::kExtraTurns, number) >> (64 - extra_);
  }
  if (config_.order == QueueOrder::kPriority) {
    packet.priority = LeastPriority(permutation) +
                      RandomBelow(config_.seed, RandomStream::kQueuePriority, number, priorities_);
  }
  return packet;
}

std::vector<ExtraPacket> PacketsOf(const Network& network, const ExtraStagesConfig& config) {
  const PacketDraw draw(network, config);
  const uint32_t count = config.permutations;
  std::vector<ExtraPacket> packets(static_cast<size_t>(network.rows()) * count);
  Crew crew(config.workers);
  crew.ForEachPart(network.rows(), kInputsPerPart, [&](int, size_t first, size_t last) {
    for (size_t input = first; input < last; ++input) {
      for (uint32_t q = 0; q < count; ++q) {
        packets[input * count + q] = draw.Draw(static_cast<Row>(input), q);
      }
    }
  });
  return packets;
}

}  // namespace bfly::dataplane

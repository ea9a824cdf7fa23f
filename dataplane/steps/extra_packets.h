// SPDX-License-Identifier: Apache-2.0
// The packets of a run on a butterfly with extra stages, one input at a time.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "dataplane/steps/extra_stages.h"
#include "topologies/network.h"
#include "topologies/permutation.h"

namespace bfly::dataplane {

// Draws the packets of PacketsOf() one by one. Any thread may draw at any time.
class PacketDraw {
 public:
  // CheckExtraStages accepts `config`, which must outlive the PacketDraw.
  PacketDraw(const Network& network, const ExtraStagesConfig& config);

  // The packet of `input` for a permutation of the sequence, counted from 0.
  ExtraPacket Draw(Row input, uint32_t permutation) const;

  // Calls visit(place, packet) for every packet of `input`. Places count from 0. They order packets
  // by priority, and packets of the same priority by permutation. The order of the calls is not the
  // order of the places.
  template <typename Visit>
  void ForEachPlaced(Row input, Visit&& visit) const {
    // A packet never goes behind a packet of a later set, so each set is placed by itself.
    for (uint32_t first = 0; first < config_.permutations; first += set_) {
      const uint32_t count = std::min(set_, config_.permutations - first);
      const uint64_t least = LeastPriority(first);
      std::array<ExtraPacket, kMostOfASet> packets;
      std::array<uint32_t, kMostOfASet> keys;  // all different
      for (uint32_t i = 0; i < count; ++i) {
        packets[i] = Draw(input, first + i);
        keys[i] = static_cast<uint32_t>(packets[i].priority - least) * kMostOfASet + i;
      }
      for (uint32_t i = 0; i < count; ++i) {
        uint32_t before = 0;
        for (uint32_t j = 0; j < count; ++j) before += keys[j] < keys[i];
        visit(first + before, packets[i]);
      }
    }
  }

 private:
  // A set has log N permutations. A key holds a place in a set and (log N) 2^r.
  static constexpr uint32_t kMostOfASet = 32;
  static_assert(kMaxRows <= uint64_t{1} << kMostOfASet);
  static_assert((uint64_t{kMostOfASet} << kMaxExtraStages) < (uint64_t{1} << 32) / kMostOfASet);

  // The least priority of the packets of a permutation.
  uint64_t LeastPriority(uint32_t permutation) const {
    return config_.order == QueueOrder::kFifo ? 0 : uint64_t{permutation / set_} * priorities_;
  }

  const ExtraStagesConfig& config_;
  const Row rows_;
  const int extra_;
  const uint32_t set_;
  const uint32_t priorities_;  // how many different priorities a set has
  // For each output: the path that takes direction 0 in all extra stages.
  std::vector<uint64_t> path_to_;
  std::vector<Permutation> sequence_;  // only the first permutation if all are the same
};

}  // namespace bfly::dataplane

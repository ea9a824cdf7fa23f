// SPDX-License-Identifier: Apache-2.0
#include "dataplane/virtual_clock/source.h"

#include <algorithm>
#include <utility>

#include "topologies/random.h"
#include "topologies/tag.h"

namespace bfly::dataplane {
VirtualSource::VirtualSource(const Network& network, const ArrivalConfig& config,
                             DestinationPattern pattern, Ticks unit, Ticks slot)
    : network_(network),
      config_(config),
      pattern_(std::move(pattern)),
      mean_gap_(static_cast<double>(unit) / config.rate),
      slot_(slot),
      rows_(network.rows()) {
  const bool constant = config_.process == ArrivalConfig::Process::kConstant;
  ArrivalBatch batch;
  for (Row row = 0; row < network.rows(); ++row) {
    const uint64_t random = Random64(config_.seed, RandomStream::kFirstArrival, row);
    if (constant) {
      rows_[row].next = static_cast<Ticks>(static_cast<double>(random >> 11) * 0x1p-53 * mean_gap_);
    } else {
      // The gap before packet 0 is the first of a batch that the row's packets never reach.
      DrawArrivals(config_.seed, CounterOf(row, kPacketsOfARow - kArrivalBatch), mean_gap_, batch);
      rows_[row].next = batch.gap[0];
    }
  }
}

size_t VirtualSource::FillRow(Row row, Ticks window_end, std::vector<VirtualPacket>& packets,
                              size_t used) {
  // A slot's batch is the Poisson process of the slot, moved to the slot's start.
  const Ticks slot = config_.process == ArrivalConfig::Process::kSlotBatch ? slot_ : 1;
  const bool constant = config_.process == ArrivalConfig::Process::kConstant;
  const Tag prefix = GreedyTag(network_, row, 0);
  const int hops = network_.hops();
  RowState state = rows_[row];
  size_t filled = used;
  ArrivalBatch batch;
  do {
    if (packets.size() <= filled + kArrivalBatch)
      packets.resize(filled + filled / 4 + 2 * kArrivalBatch);
    if (state.next >= window_end) break;
    const uint64_t in_batch = state.number % kArrivalBatch;
    const uint64_t first = CounterOf(row, state.number - in_batch);
    DrawArrivals(config_.seed, first, mean_gap_, batch);
    pattern_.Draw(row, config_.seed, first, batch.choice);
    for (uint64_t i = in_batch; i < kArrivalBatch && state.next < window_end; ++i) {
      const Ticks time = slot == 1 ? state.next : state.next - state.next % slot;
      const Tag tag = prefix | LastBitsOf(network_, static_cast<Row>(batch.choice[i]));
      packets[filled++] = {time, MakeWord(tag, hops, time)};
      state.next += constant ? static_cast<Ticks>(mean_gap_) : batch.gap[i];
      ++state.number;
    }
  } while (state.next < window_end);
  rows_[row] = state;
  return filled - used;
}

}  // namespace bfly::dataplane

// SPDX-License-Identifier: Apache-2.0
#include "dataplane/virtual_clock/source.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace bfly::dataplane {
namespace {

// Uniform on (0, 1): 53 bits and never an end point.
double OpenUnit(const PhiloxBlock& block) {
  const uint64_t bits = block[0] | uint64_t{block[1]} << 32;
  return (static_cast<double>(bits >> 11) + 0.5) * 0x1p-53;
}

}  // namespace

VirtualSource::VirtualSource(const Network& network, const ArrivalConfig& config,
                             DestinationPattern pattern, Ticks unit, Ticks slot)
    : network_(network),
      config_(config),
      pattern_(std::move(pattern)),
      mean_gap_(static_cast<double>(unit) / config.rate),
      slot_(slot),
      rows_(network.rows()) {
  for (Row row = 0; row < network.rows(); ++row) {
    const PhiloxBlock block =
        RandomBlock(config_.seed, RandomStream::kFirstArrival, CounterOf(row, 0));
    rows_[row].next = config_.process == ArrivalConfig::Process::kConstant
                          ? static_cast<Ticks>(OpenUnit(block) * mean_gap_)
                          : Gap(block);
  }
}

Ticks VirtualSource::Gap(const PhiloxBlock& block) const {
  if (config_.process == ArrivalConfig::Process::kConstant) return static_cast<Ticks>(mean_gap_);
  return static_cast<Ticks>(-std::log(OpenUnit(block)) * mean_gap_);
}

void VirtualSource::FillWindow(Ticks window_end, Boundary& out) {
  // A slot's batch is the Poisson process of the slot, moved to the slot's start.
  const bool slotted = config_.process == ArrivalConfig::Process::kSlotBatch;
  for (Row row = 0; row < network_.rows(); ++row) {
    RowState& state = rows_[row];
    std::vector<VirtualPacket>& packets = row_packets_;
    packets.clear();
    while (state.next < window_end) {
      const uint64_t counter = CounterOf(row, state.number++);
      const PhiloxBlock block = RandomBlock(config_.seed, RandomStream::kArrivals, counter);
      const Row output = pattern_.Draw(row, block, config_.seed, RandomStream::kArrivals, counter);
      const Ticks time = slotted ? state.next - state.next % slot_ : state.next;
      packets.push_back({time, time, ToWire(GreedyTag(network_, row, output), network_.hops())});
      state.next += Gap(block);
    }
    VirtualPacket* places = out.Reserve(packets.size() + 2);
    out.Set(2 * row, places, std::copy(packets.begin(), packets.end(), places));
    out.Set(2 * row + 1, places + packets.size() + 1, places + packets.size() + 1);
    generated_ += packets.size();
  }
}

}  // namespace bfly::dataplane

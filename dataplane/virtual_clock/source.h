// SPDX-License-Identifier: Apache-2.0
// Arrivals under the virtual clock: every input row generates packets by a process of its own.
#pragma once

#include <vector>

#include "dataplane/virtual_clock/boundary.h"
#include "dataplane/virtual_clock/destination.h"
#include "topologies/network.h"

namespace bfly::dataplane {

struct ArrivalConfig {
  enum class Process {
    kPoisson,    // exponential gaps of mean 1/rate
    kSlotBatch,  // a batch of Poisson(rate * slot) packets at every slot boundary (section 3.4)
    kConstant,   // one packet every 1/rate, the first after a random part of 1/rate
  };
  Process process = Process::kPoisson;
  double rate = 0;  // packets per unit of time and input row
  uint64_t seed = 0;
};

// Packet k of row r depends only on seed, r and the row's earlier packets, so windows of any length
// give the same packets. In extra stages every packet takes directions of its own, each of the two
// with probability 1/2 (Upfal, Felperin, Snir, section 1: the first r stages are random;
// RandomStream::kExtraTurns). A network of two copies is crossed straight through the first copy.
class VirtualSource {
 public:
  // unit: ticks of a unit of time; slot: ticks of a slot (kSlotBatch). Windows end on slot
  // boundaries.
  VirtualSource(const Network& network, const ArrivalConfig& config, DestinationPattern pattern,
                Ticks unit, Ticks slot);

  // Writes the packets that `row` generates before `window_end` and that were not written yet, in
  // order of time, to packets[used] and the places behind. Returns how many packets it wrote.
  // `packets` grows as needed and has one place more. Rows are independent: several workers may
  // fill different rows at once.
  size_t FillRow(Row row, Ticks window_end, std::vector<VirtualPacket>& packets, size_t used);

  size_t bytes() const { return rows_.size() * sizeof(RowState); }

 private:
  struct RowState {
    Ticks next = 0;       // when the row's next packet is generated
    uint64_t number = 0;  // the number of that packet
  };
  static constexpr uint64_t kPacketsOfARow = uint64_t{1} << 40;
  static uint64_t CounterOf(Row row, uint64_t number) { return row * kPacketsOfARow + number; }

  // Replaces the random bits `choice` of eight packets by the directions of their paths, without
  // the directions that all packets of the row share (PrefixOf). `counter` is the number of the
  // first packet.
  void DrawDirections(Row row, uint64_t counter, uint64_t choice[kArrivalBatch]) const;
  Tag PrefixOf(Row row) const;

  const Network& network_;
  const ArrivalConfig config_;
  const DestinationPattern pattern_;
  const double mean_gap_;  // ticks
  const Ticks slot_;
  std::vector<RowState> rows_;
};

}  // namespace bfly::dataplane

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
    kSlotBatch,  // a Poisson(rate * slot) batch at every slot boundary (section 3.4)
    kConstant,   // one packet every 1/rate, the first after a random part of it
  };
  Process process = Process::kPoisson;
  double rate = 0;  // packets per unit of time and input row
  uint64_t seed = 0;
};

// Packet k of row r depends on seed, r and the row's earlier packets alone: windows of any length
// give the same packets.
class VirtualSource {
 public:
  // unit: ticks of a unit of time; slot: ticks of a slot (kSlotBatch). Windows end on slot
  // boundaries.
  VirtualSource(const Network& network, const ArrivalConfig& config, DestinationPattern pattern,
                Ticks unit, Ticks slot);

  // Writes what the rows generate before `window_end` and have not yet: row r's packets to list 2r,
  // in order of time; list 2r+1 stays empty.
  void FillWindow(Ticks window_end, Boundary& out);

  uint64_t generated() const { return generated_; }

 private:
  struct RowState {
    Ticks next = 0;       // when its next packet is generated
    uint64_t number = 0;  // of that packet
  };
  static constexpr uint64_t kPacketsOfARow = uint64_t{1} << 40;
  static uint64_t CounterOf(Row row, uint64_t number) { return row * kPacketsOfARow + number; }
  // Writes the packets of `row` before `window_end` to the front of `packets` and counts them.
  size_t FillRow(Row row, Ticks window_end, std::vector<VirtualPacket>& packets);

  const Network& network_;
  const ArrivalConfig config_;
  const DestinationPattern pattern_;
  const double mean_gap_;  // ticks
  const Ticks slot_;
  std::vector<RowState> rows_;
  std::vector<VirtualPacket> row_packets_;  // one row of one window
  uint64_t generated_ = 0;
};

}  // namespace bfly::dataplane

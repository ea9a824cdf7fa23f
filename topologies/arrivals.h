// SPDX-License-Identifier: Apache-2.0
// Arrival processes say when the packets of an input row are born. The rows are independent of each
// other. Every random choice is a pure function of (seed, row, index), so arrivals do not depend on
// the order in which callers ask for them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "topologies/network.h"
#include "topologies/random.h"

namespace bfly {

enum class ArrivalProcess {
  kConstant,      // a packet every 1/rate
  kPoisson,       // independent exponential gaps of mean 1/rate
  kBernoulli,     // at the start of every slot a packet with probability rate * slot
  kOnOff,         // Poisson while on, at rate / duty; on and off periods of exponential length
  kSlottedBatch,  // at the start of every slot Poisson(rate * slot) packets (Stamoulis &
                  // Tsitsiklis, section 3.4)
};

// "constant", "poisson", "bernoulli", "on-off", "slotted-batch".
const char* ArrivalProcessName(ArrivalProcess process);
// InvalidArgument lists the names.
absl::StatusOr<ArrivalProcess> ArrivalProcessByName(absl::string_view name);

struct ArrivalSpec {
  ArrivalProcess process = ArrivalProcess::kConstant;
  double rate = 0;  // packets per unit of time, above 0
  double slot = 0;  // units of time: kBernoulli, kSlottedBatch
  double on = 0;    // kOnOff: mean length of an on period, units of time
  double duty = 0;  // kOnOff: part of the time that is on, above 0, at most 1
};

// InvalidArgument names the field: "slot: ...". kOnOff allows 10^4 on periods for each packet, so
// that the next packet is found in a bounded time.
absl::Status CheckArrivals(const ArrivalSpec& spec);

class Arrivals {
 public:
  // Times are in ticks; a unit of time has `ticks` of them. CheckArrivals must have accepted the
  // spec.
  Arrivals(const ArrivalSpec& spec, uint64_t seed, double ticks);

  // One row: packet `index` is born at `time`.
  struct RowState {
    uint64_t time = 0;
    uint64_t index = 0;
    // The fields below are private to the arrival process.
    uint64_t clock = 0;   // kPoisson to kSlottedBatch: ticks, or slots, or ticks of being on
    uint64_t on_end = 0;  // kOnOff: where the on period ends, in ticks of being on
    uint64_t off = 0;     // kOnOff: ticks of being off up to now
    uint64_t period = 0;  // kOnOff
  };
  // Returns the first packet of a row. `phase`, 0..1, says where in its gap the first packet of
  // kConstant lies.
  RowState First(Row row, double phase) const;
  void Next(Row row, RowState& state) const;

 private:
  void Place(Row row, RowState& state, double phase) const;
  uint64_t Exponential(const PhiloxBlock& block, int word, double mean) const;
  void NextPeriod(Row row, RowState& state) const;

  const ArrivalSpec spec_;
  const uint64_t seed_;
  const double gap_;   // ticks; kOnOff: while on
  const double slot_;  // ticks
  const double on_;    // ticks
  const double off_;   // ticks
};

}  // namespace bfly

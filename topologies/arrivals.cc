// SPDX-License-Identifier: Apache-2.0
#include "topologies/arrivals.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace bfly {
namespace {

constexpr const char* kNames[] = {"constant", "poisson", "bernoulli", "on-off", "slotted-batch"};

// The number of the period whose block says whether a row starts on or off.
constexpr uint64_t kBeforeAllPeriods = (uint64_t{1} << 40) - 1;

PhiloxBlock BlockOf(uint64_t seed, RandomStream stream, Row row, uint64_t index) {
  const RowDraw draw = DrawOfRow(row, index);
  return RandomBlock(seed, stream, draw.counter, draw.attempt);
}

// Returns a number that is uniform on (0, 1), from 53 bits of words `word` and `word` + 1. It is
// never an end point.
double OpenUnit(const PhiloxBlock& block, int word) {
  const uint64_t bits = block[word] | uint64_t{block[word + 1]} << 32;
  return (static_cast<double>(bits >> 11) + 0.5) * 0x1p-53;
}

// On-off: an arrival goes through the periods before it one by one. So many take about a
// millisecond.
constexpr double kMostPeriodsAPacket = 1e4;

bool IsPositive(double value) { return std::isfinite(value) && value > 0; }

}  // namespace

const char* ArrivalProcessName(ArrivalProcess process) { return kNames[static_cast<int>(process)]; }

absl::StatusOr<ArrivalProcess> ArrivalProcessByName(absl::string_view name) {
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (name == kNames[i]) return static_cast<ArrivalProcess>(i);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("process: \"", name, "\" is unknown; use ", absl::StrJoin(kNames, ", ")));
}

absl::Status CheckArrivals(const ArrivalSpec& spec) {
  const char* const name = ArrivalProcessName(spec.process);
  if (!IsPositive(spec.rate)) {
    return absl::InvalidArgumentError(
        absl::StrCat("rate: ", spec.rate, " is not a rate; it must be above 0"));
  }
  const bool slotted =
      spec.process == ArrivalProcess::kBernoulli || spec.process == ArrivalProcess::kSlottedBatch;
  if (slotted && !IsPositive(spec.slot)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "slot: ", spec.slot, " is not a length of time; ", name, " needs one above 0"));
  }
  // A rate that exceeds 1/slot only by rounding means a packet in every slot.
  if (spec.process == ArrivalProcess::kBernoulli && spec.rate * spec.slot > 1 + 1e-12) {
    return absl::InvalidArgumentError(absl::StrCat(
        "slot: rate * slot is ", spec.rate * spec.slot,
        ", which is not a probability; at this rate a slot lasts at most ", 1 / spec.rate));
  }
  if (spec.process == ArrivalProcess::kOnOff) {
    if (!IsPositive(spec.on)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "on: ", spec.on, " is not a length of time; on-off needs the mean of an on period"));
    }
    if (!(spec.duty > 0 && spec.duty <= 1)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "duty: ", spec.duty, " is not a part of the time; it must be above 0 and at most 1"));
    }
    const double shortest = spec.duty / (spec.rate * kMostPeriodsAPacket);
    // The message has six digits. What it prints is accepted.
    if (spec.on < shortest * (1 - 1e-5)) {
      return absl::InvalidArgumentError(
          absl::StrCat("on: ", spec.on, " gives ", spec.duty / (spec.rate * spec.on),
                       " on periods for each packet (allowed: ", kMostPeriodsAPacket,
                       "); at this rate and duty an on period lasts at least ", shortest));
    }
  }
  return absl::OkStatus();
}

Arrivals::Arrivals(const ArrivalSpec& spec, uint64_t seed, double ticks)
    : spec_(spec),
      seed_(seed),
      gap_(ticks / spec.rate * (spec.process == ArrivalProcess::kOnOff ? spec.duty : 1)),
      slot_(spec.slot * ticks),
      on_(spec.on * ticks),
      off_(spec.duty > 0 ? on_ * (1 - spec.duty) / spec.duty : 0) {}

uint64_t Arrivals::Exponential(const PhiloxBlock& block, int word, double mean) const {
  return static_cast<uint64_t>(std::llround(-std::log(OpenUnit(block, word)) * mean));
}

Arrivals::RowState Arrivals::First(Row row, double phase) const {
  RowState state;
  if (spec_.process == ArrivalProcess::kOnOff) {
    // The process starts in its stationary state: what is left of an exponential period is
    // distributed like a whole one.
    const PhiloxBlock block = BlockOf(seed_, RandomStream::kOnOffPeriods, row, kBeforeAllPeriods);
    if (OpenUnit(block, 0) < spec_.duty) {
      const PhiloxBlock first = BlockOf(seed_, RandomStream::kOnOffPeriods, row, state.period++);
      state.on_end = Exponential(first, 0, on_);
    }
  }
  Place(row, state, phase);
  return state;
}

void Arrivals::Next(Row row, RowState& state) const {
  ++state.index;
  if (spec_.process == ArrivalProcess::kConstant) {
    // The phase is the first packet's time as a part of the gap. Multiplying by the gap, unlike
    // adding gaps up, does not accumulate rounding errors.
    const double phase = static_cast<double>(state.clock) * 0x1p-32;
    state.time = static_cast<uint64_t>((static_cast<double>(state.index) + phase) * gap_);
    return;
  }
  Place(row, state, 0);
}

void Arrivals::NextPeriod(Row row, RowState& state) const {
  const PhiloxBlock block = BlockOf(seed_, RandomStream::kOnOffPeriods, row, state.period++);
  state.off += Exponential(block, 2, off_);
  state.on_end += Exponential(block, 0, on_);
}

// Moves the clock to packet state.index and sets the time at which that packet is born.
void Arrivals::Place(Row row, RowState& state, double phase) const {
  if (spec_.process == ArrivalProcess::kConstant) {
    state.clock = static_cast<uint64_t>(std::ldexp(phase, 32));
    state.time = static_cast<uint64_t>(phase * gap_);
    return;
  }
  const PhiloxBlock block = BlockOf(seed_, RandomStream::kSourceGaps, row, state.index);
  if (spec_.process == ArrivalProcess::kBernoulli) {
    // The number of slots to the next success, drawn by inversion of the geometric distribution.
    const double p = spec_.rate * spec_.slot;
    const double idle = p < 1 ? std::floor(std::log(OpenUnit(block, 0)) / std::log1p(-p)) : 0;
    state.clock += static_cast<uint64_t>(idle) + (state.index == 0 ? 0 : 1);
    state.time = static_cast<uint64_t>(static_cast<double>(state.clock) * slot_);
    return;
  }
  state.clock += Exponential(block, 0, gap_);
  state.time = state.clock;
  if (spec_.process == ArrivalProcess::kSlottedBatch) {
    state.time =
        static_cast<uint64_t>(std::floor(static_cast<double>(state.clock) / slot_) * slot_);
  } else if (spec_.process == ArrivalProcess::kOnOff) {
    while (state.clock >= state.on_end) NextPeriod(row, state);
    state.time = state.clock + state.off;
  }
}

}  // namespace bfly

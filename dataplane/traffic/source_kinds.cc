// SPDX-License-Identifier: Apache-2.0
#include "dataplane/traffic/source_kinds.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace bfly::dataplane {
namespace {

// Random arrivals are computed in ticks of 1/128 ns; 2^64 of them are 4.5 years.
constexpr double kTicksPerSecond = 1.28e11;

ArrivalSpec SpecOf(const SourceConfig& config) {
  return {.process = config.process,
          .rate = config.packets_per_second,
          .slot = config.slot,
          .on = config.on,
          .duty = config.duty};
}

}  // namespace

PacedSource::PacedSource(const SourceConfig& config, const Network& network, uint64_t start_tsc,
                         double tsc_hz, std::vector<uint32_t> places)
    : Source(config, network, start_tsc, tsc_hz),
      cycles_(config.packets_per_second > 0
                  ? tsc_hz / (config.packets_per_second * static_cast<double>(config.rows.size()))
                  : 0),
      end_(config.packets > 0 ? config.packets * config.rows.size()
                              : std::numeric_limits<uint64_t>::max()),
      places_(std::move(places)),
      next_(places_[0]) {}

uint64_t PacedSource::NextDue() const {
  if (next_ >= end_) return UINT64_MAX;
  // A source that sends as fast as the worker allows needs no waking, and nothing can wake it if no
  // row has a circuit.
  if (cycles_ == 0) return UINT64_MAX;
  return start_ + static_cast<uint64_t>(static_cast<double>(next_) * cycles_);
}

void PacedSource::Fill(Batch& batch) {
  uint64_t due = end_;
  if (cycles_ > 0) {
    const double elapsed = static_cast<double>(static_cast<int64_t>(batch.now - start_));
    if (elapsed < 0) return;
    const double packets = elapsed / cycles_;
    // No source gets that far: beyond it all packets count as due.
    if (packets < 0x1p62) due = std::min(due, static_cast<uint64_t>(packets) + 1);
  }
  // Packets without a circuit take their turns too and fill no batch, so the bound limits how many
  // a pass looks at.
  const auto room = static_cast<uint64_t>(batch.room);
  uint64_t looks = cycles_ > 0 ? 4 * room : places_.size() + room;
  for (; next_ < due && looks > 0 && !batch.full(); --looks) {
    const uint64_t born = cycles_ > 0
                              ? start_ + static_cast<uint64_t>(static_cast<double>(next_) * cycles_)
                              : batch.now;
    Send(batch, config_.rows[places_[next_place_]], row_packet_, born);
    if (++next_place_ == places_.size()) {
      next_place_ = 0;
      ++row_packet_;
    }
    next_ = row_packet_ * config_.rows.size() + places_[next_place_];
  }
  const bool idle = cycles_ > 0 && config_.destination == SourceConfig::Destination::kCircuit &&
                    looks == 0 && batch.count == 0;
  in_vain_ = idle ? in_vain_ + 4 * room : 0;
  if (idle && in_vain_ >= places_.size()) {
    SkipTo(due);
    in_vain_ = 0;
  }
  if (next_ >= end_) Finish();
}

void PacedSource::SkipTo(uint64_t packet) {
  if (next_ >= packet) return;
  const uint64_t rows = config_.rows.size();
  row_packet_ = packet / rows;
  const auto place =
      std::lower_bound(places_.begin(), places_.end(), static_cast<uint32_t>(packet % rows));
  next_place_ = static_cast<size_t>(place - places_.begin());
  if (next_place_ == places_.size()) {
    next_place_ = 0;
    ++row_packet_;
  }
  next_ = row_packet_ * rows + places_[next_place_];
}

RandomSource::RandomSource(const SourceConfig& config, const Network& network, uint64_t start_tsc,
                           double tsc_hz, std::vector<uint32_t> places)
    : Source(config, network, start_tsc, tsc_hz),
      arrivals_(SpecOf(config), config.seed, kTicksPerSecond),
      cycles_(tsc_hz / kTicksPerSecond),
      places_(std::move(places)) {
  for (uint32_t i = 0; i < places_.size(); ++i) {
    states_.push_back(arrivals_.First(config.rows[places_[i]], 0));
    heap_.push_back({states_.back().time, i});
  }
  std::sort(heap_.begin(), heap_.end());
}

uint64_t RandomSource::NextDue() const {
  return heap_.empty() ? UINT64_MAX : TscOf(heap_.front().time);
}

void RandomSource::SiftDown(size_t at) {
  const Entry moving = heap_[at];
  for (size_t child = 2 * at + 1; child < heap_.size(); child = 2 * at + 1) {
    if (child + 1 < heap_.size() && heap_[child + 1] < heap_[child]) ++child;
    if (!(heap_[child] < moving)) break;
    heap_[at] = heap_[child];
    at = child;
  }
  heap_[at] = moving;
}

void RandomSource::Fill(Batch& batch) {
  // Rows without a circuit take their turns too, so the bound limits how many packets a pass looks
  // at.
  for (int looked = 0; looked < 4 * batch.room && !heap_.empty() && !batch.full(); ++looked) {
    const uint64_t born = TscOf(heap_.front().time);
    if (static_cast<int64_t>(batch.now - born) < 0) return;
    const uint32_t i = heap_.front().index;
    const Row row = config_.rows[places_[i]];
    Arrivals::RowState& state = states_[i];
    Send(batch, row, state.index, born);
    arrivals_.Next(row, state);
    if (config_.packets > 0 && state.index == config_.packets) {
      heap_.front() = heap_.back();
      heap_.pop_back();
    } else {
      heap_.front().time = state.time;
    }
    if (!heap_.empty()) SiftDown(0);
  }
  if (heap_.empty()) Finish();
}

TraceSource::TraceSource(const SourceConfig& config, const Network& network, uint64_t start_tsc,
                         double tsc_hz)
    : Source(config, network, start_tsc, tsc_hz), cycles_(tsc_hz / 1e9) {}

uint64_t TraceSource::NextDue() const {
  return next_ == config_.trace->size() ? UINT64_MAX : TscOf((*config_.trace)[next_]);
}

void TraceSource::Fill(Batch& batch) {
  const Trace& trace = *config_.trace;
  // Packets without a circuit take their turns too, so the bound limits how many a pass looks at.
  for (int looked = 0; looked < 4 * batch.room && next_ < trace.size() && !batch.full();
       ++looked, ++next_) {
    const TracePacket& packet = trace[next_];
    const uint64_t born = TscOf(packet);
    if (static_cast<int64_t>(batch.now - born) < 0) return;
    SendTo(batch, packet.row, packet.destination, packet.bytes, born);
  }
  if (next_ == trace.size()) Finish();
}

}  // namespace bfly::dataplane

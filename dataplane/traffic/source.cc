// SPDX-License-Identifier: Apache-2.0
#include "dataplane/traffic/source.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "dataplane/stages/stage.h"
#include "dataplane/traffic/source_kinds.h"

namespace bfly::dataplane {
namespace {

using Destination = SourceConfig::Destination;

}  // namespace

std::shared_ptr<Source> Source::Make(const SourceConfig& config, const Network& network,
                                     uint64_t start_tsc, double tsc_hz, RowRange rows) {
  if (config.destination == Destination::kTrace) {
    const auto is_ours = [rows](const TracePacket& packet) { return rows.has(packet.row); };
    const Trace& all = *config.trace;
    SourceConfig ours = config;
    if (!std::all_of(all.begin(), all.end(), is_ours)) {
      auto trace = std::make_shared<Trace>();
      std::copy_if(all.begin(), all.end(), std::back_inserter(*trace), is_ours);
      if (trace->empty()) return nullptr;
      ours.trace = std::move(trace);
    }
    return std::make_shared<TraceSource>(ours, network, start_tsc, tsc_hz);
  }
  std::vector<uint32_t> places;
  for (uint32_t i = 0; i < config.rows.size(); ++i) {
    if (rows.has(config.rows[i])) places.push_back(i);
  }
  if (places.empty()) return nullptr;
  if (config.process == ArrivalProcess::kConstant) {
    return std::make_shared<PacedSource>(config, network, start_tsc, tsc_hz, std::move(places));
  }
  return std::make_shared<RandomSource>(config, network, start_tsc, tsc_hz, std::move(places));
}

Source::Source(const SourceConfig& config, const Network& network, uint64_t start_tsc,
               double tsc_hz)
    : config_(config), start_(start_tsc), hz_(tsc_hz) {
  TrafficPatternSpec spec = config.pattern;
  spec.seed = config.seed;
  if (config.destination == Destination::kUniform) spec.name = "uniform";
  if (config.destination == Destination::kUniform || config.destination == Destination::kPattern) {
    pattern_ = TrafficPattern::Make(spec, network.rows()).value();
  }
}

int Source::Emit(Descriptor* burst, int room, uint64_t until, uint64_t now,
                 const RouteTable& routes, Ledger& ledger) {
  if (finished()) return 0;
  Batch batch{.packets = burst, .room = room, .now = until, .routes = routes, .ledger = ledger};
  Fill(batch);
  if (batch.count > 0) {
    ledger.injected += static_cast<uint64_t>(batch.count);
    Bump(packets_, static_cast<uint64_t>(batch.count));
    Bump(bytes_, batch.bytes);
  }
  // A reader that sees that the source has finished also sees all of its packets.
  if (fill_is_last_) finished_at_.store(now, std::memory_order_release);
  return batch.count;
}

void Source::Put(Batch& batch, Row input, Route route, uint32_t bytes, uint64_t born) {
  batch.packets[batch.count++] = Descriptor{.tag = route.tag,
                                            .mbuf = nullptr,
                                            .time = born,
                                            .priority = config_.priority,
                                            .fixed = route.fixed,
                                            .row = input,
                                            .bytes = static_cast<uint16_t>(bytes),
                                            .input = static_cast<uint16_t>(input)};
  batch.bytes += bytes;
}

void Source::Send(Batch& batch, Row input, uint64_t index, uint64_t born) {
  if (pattern_) {
    SendTo(batch, input, pattern_->Destination(input, index, words_), config_.bytes, born);
  } else if (config_.destination == Destination::kRow) {
    SendTo(batch, input, config_.row, config_.bytes, born);
  } else if (const WireTag tag = batch.routes.circuit(input); tag != 0) {
    Put(batch, input, {tag, true}, config_.bytes, born);
  }
}

void Source::SendTo(Batch& batch, Row input, Row output, uint32_t bytes, uint64_t born) {
  Route route;
  if (batch.routes.Lookup(input, output, route)) {
    Put(batch, input, route, bytes, born);
    return;
  }
  ++batch.ledger.injected;
  batch.ledger.Drop(DropReason::kNoCircuit);
  Bump<uint64_t>(no_circuit_, 1);
}

SourceCounters Source::counters() const {
  // The packets of a source that has finished are all counted.
  const bool has_finished = finished_at_.load(std::memory_order_acquire) != 0;
  return {.id = config_.id,
          .packets = packets_.load(std::memory_order_relaxed),
          .bytes = bytes_.load(std::memory_order_relaxed),
          .no_circuit = no_circuit_.load(std::memory_order_relaxed),
          .finished = has_finished};
}

double Source::SecondsAt(uint64_t now) const {
  const uint64_t finished_at = finished_at_.load(std::memory_order_relaxed);
  const uint64_t end = finished_at != 0 ? finished_at : now;
  return end > start_ ? static_cast<double>(end - start_) / hz_ : 0;
}

}  // namespace bfly::dataplane

// SPDX-License-Identifier: Apache-2.0
#include "dataplane/ports/egress.h"

#include <rte_cycles.h>
#include <rte_mbuf.h>

namespace bfly::dataplane {

void Egress::Attach(const std::vector<Row>& rows, HostTransmitter* transmitter) {
  for (Row row : rows) of_row_[row] = static_cast<uint16_t>(transmitters_.size());
  transmitters_.push_back(transmitter);
}

// The two may change at once, so both are read again after the word was set.
void Egress::SetWatched() {
  do {
    watched_ = latency_ != nullptr || taps_ != nullptr;
  } while (watched_ != (latency_ != nullptr || taps_ != nullptr));
}

void Egress::Watch(const Descriptor* burst, int count) {
  if (DeliveryLatency* const latency = latency_.load(std::memory_order_acquire)) {
    Record(burst, count, *latency);
  }
  const TapTable* const taps = taps_.load(std::memory_order_acquire);
  for (int i = 0; taps != nullptr && i < count; ++i) taps->Note(burst[i].row, burst[i]);
}

// Records every packet, also one whose row has no port, because its path through the network ends
// here.
void Egress::Record(const Descriptor* burst, int count, DeliveryLatency& latency) {
  const uint64_t now = rte_rdtsc();
  for (int i = 0; i < count; ++i) {
    const uint64_t arrival = ArrivalOf(burst[i]);
    latency.end_to_end.AddBetween(burst[i].time, now);
    latency.links.AddBetween(burst[i].time, arrival);
    latency.late.AddBetween(arrival, now);
  }
}

// Devices read both cache lines of a frame's header when they send or free the frame. The lines of
// a burst are requested together, so that later ones arrive while the first are in use.
void Egress::FetchHeaders(const Descriptor* burst, int count) {
  for (int i = 0; i < count; ++i) {
    if (burst[i].mbuf == nullptr) continue;
    rte_mbuf_prefetch_part1(burst[i].mbuf);
    rte_mbuf_prefetch_part2(burst[i].mbuf);
  }
}

int Egress::Send(const Descriptor* burst, int count, Ledger& ledger) {
  if (TurnBackOut* const way = turn_back_.load(std::memory_order_acquire); way != nullptr)
      [[unlikely]] {
    Descriptor leaving[kBurst];
    Deliver(leaving, way->Take(burst, count, leaving, ledger), ledger);
  } else {
    Deliver(burst, count, ledger);
  }
  return count;
}

inline void Egress::Deliver(const Descriptor* burst, int count, Ledger& ledger) {
  if (from_others_) FetchHeaders(burst, count);
  if (watched_.load(std::memory_order_acquire)) [[unlikely]]
    Watch(burst, count);
  const uint16_t* const of_row = of_row_.data();
  for (int i = 0; i < count;) {
    const int first = i;
    while (i < count && burst[i].mbuf == nullptr) ++i;
    ledger.delivered += static_cast<uint64_t>(i - first);  // in sinks
    if (i == count) break;
    const uint16_t index = of_row[burst[i].row];
    if (index == kNone) {
      ledger.Drop(DropReason::kNoPortAtRow);
      rte_pktmbuf_free(burst[i++].mbuf);
      continue;
    }
    const auto same_port = [of_row, index](Row row) { return of_row[row] == index; };
    i += transmitters_[index]->Push(burst + i, count - i, same_port, ledger);
  }
}

uint64_t Egress::held() const {
  uint64_t sum = 0;
  for (const HostTransmitter* transmitter : transmitters_) sum += transmitter->held();
  return sum;
}

void Egress::Flush(Ledger& ledger) {
  for (HostTransmitter* transmitter : transmitters_) transmitter->Flush(ledger);
  if (TurnBackOut* const way = turn_back_.load(std::memory_order_acquire); way != nullptr)
    way->Settle(ledger);
}

void Egress::HandOver() {
  if (TurnBackOut* const way = turn_back_.load(std::memory_order_acquire); way != nullptr)
    way->HandOver();
}

uint64_t Egress::Discard() {
  uint64_t sum = 0;
  for (HostTransmitter* transmitter : transmitters_) sum += transmitter->Discard();
  return sum;
}

}  // namespace bfly::dataplane

// SPDX-License-Identifier: Apache-2.0
#include "dataplane/ports/egress.h"

#include <rte_cycles.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <utility>

namespace bfly::dataplane {

void Egress::Ports::Attach(const std::vector<Row>& rows, HostTransmitter* transmitter) {
  for (Row row : rows) of_row[row] = static_cast<uint16_t>(transmitters.size());
  transmitters.push_back(transmitter);
}

std::shared_ptr<const void> Egress::AttachLive(const std::vector<Row>& rows,
                                               HostTransmitter* transmitter) {
  auto ports = std::make_shared<Ports>(ports_.offered());
  ports->Attach(rows, transmitter);
  return ports_.Offer(std::move(ports));
}

bool Egress::Has(const HostTransmitter* transmitter) const {
  const std::vector<HostTransmitter*>& all = ports_.offered().transmitters;
  return std::find(all.begin(), all.end(), transmitter) != all.end();
}

std::shared_ptr<const void> Egress::DetachLive(const HostTransmitter* transmitter) {
  const Ports& before = ports_.offered();
  auto ports = std::make_shared<Ports>(before.of_row.size());
  std::vector<uint16_t> number(before.transmitters.size(), kNone);
  for (size_t i = 0; i < number.size(); ++i) {
    if (before.transmitters[i] == transmitter) continue;
    number[i] = static_cast<uint16_t>(ports->transmitters.size());
    ports->transmitters.push_back(before.transmitters[i]);
  }
  for (size_t row = 0; row < before.of_row.size(); ++row) {
    if (before.of_row[row] != kNone) ports->of_row[row] = number[before.of_row[row]];
  }
  return ports_.Offer(std::move(ports));
}

void Egress::TakeUp(Ledger& ledger) {
  ports_.TakeUp([&](const Ports& old, const Ports& next) {
    for (HostTransmitter* transmitter : old.transmitters) {
      if (std::find(next.transmitters.begin(), next.transmitters.end(), transmitter) ==
          next.transmitters.end()) {
        transmitter->Leave(ledger);
      }
    }
  });
}

// Both pointers may change at the same time, so both are read again after the flag was set.
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
  const uint16_t* const of_row = ports_.current().of_row.data();
  HostTransmitter* const* const transmitters = ports_.current().transmitters.data();
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
    i += transmitters[index]->Push(burst + i, count - i, same_port, ledger);
  }
}

uint64_t Egress::held() const {
  uint64_t sum = 0;
  for (const HostTransmitter* transmitter : ports_.current().transmitters)
    sum += transmitter->held();
  return sum;
}

void Egress::Flush(Ledger& ledger) {
  for (HostTransmitter* transmitter : ports_.current().transmitters) transmitter->Flush(ledger);
  if (TurnBackOut* const way = turn_back_.load(std::memory_order_acquire); way != nullptr)
    way->Settle(ledger);
}

void Egress::HandOver() {
  if (TurnBackOut* const way = turn_back_.load(std::memory_order_acquire); way != nullptr)
    way->HandOver();
}

uint64_t Egress::Discard() {
  uint64_t sum = 0;
  for (HostTransmitter* transmitter : ports_.current().transmitters) sum += transmitter->Discard();
  return sum;
}

}  // namespace bfly::dataplane

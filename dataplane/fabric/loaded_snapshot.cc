// SPDX-License-Identifier: Apache-2.0
// LoadedFabric::snapshot: from the workers' published accounts and the links' counters to one
// picture.
#include <rte_cycles.h>

#include "dataplane/fabric/loaded_fabric.h"

namespace bfly::dataplane {
namespace {

// Every account balances by itself, so any mixture of accounts read at different times keeps
//   injected + trunk_in = delivered + dropped + in_flight + trunk_out.
// What the time of reading decides is whether in_flight can come out negative: it cannot where
// workers that inject are read after those that deliver or drop, and rings are settled as lane.h
// says.
int64_t InFlight(const std::vector<Account>& accounts) {
  int64_t sum = 0;
  for (const Account& a : accounts) {
    sum += static_cast<int64_t>(a.ledger.held + (a.ledger.handed_on - a.trunk_out) -
                                (a.ledger.taken_over - a.trunk_in));
  }
  return sum;
}

}  // namespace

void LoadedFabric::ReadAccounts(Snapshot& snapshot) const {
  std::vector<Account> accounts(workers_.size());
  int64_t in_flight = 0;
  do {
    // The worker of the first hop is number 0, so it is read last. Workers that poll port queues
    // both inject and deliver: with them a reading may have to be repeated.
    for (size_t i = workers_.size(); i-- > 0;) accounts[i] = workers_[i]->account();
    in_flight = InFlight(accounts);
  } while (in_flight < 0);

  snapshot.conservation.in_flight = static_cast<uint64_t>(in_flight);
  for (size_t i = 0; i < workers_.size(); ++i) {
    const Account& a = accounts[i];
    snapshot.workers.push_back({.lcore = workers_[i]->lcore(),
                                .passes = workers_[i]->passes(),
                                .idle_passes = workers_[i]->idle_passes(),
                                .ledger = a.ledger});
    snapshot.conservation.injected += a.ledger.injected;
    snapshot.conservation.delivered += a.ledger.delivered;
    snapshot.conservation.dropped += a.ledger.dropped_total();
    snapshot.trunk_in += a.trunk_in;
    snapshot.trunk_out += a.trunk_out;
    for (int r = 0; r < kDropReasons; ++r) snapshot.drops[r] += a.ledger.dropped[r];
  }
}

void LoadedFabric::ReadLinks(Snapshot& snapshot) const {
  snapshot.links.reserve(stages_.size() * network_.rows() * network_.ports());
  for (const auto& stage : stages_) {
    for (uint32_t l = 0; l < stage->links(); ++l) {
      const LinkHot& hot = stage->hot(l);
      const LinkCold& cold = stage->cold(l);
      LinkCounters& link = snapshot.links.emplace_back();
      link.packets = hot.packets.load(std::memory_order_relaxed);
      link.bytes = hot.bytes.load(std::memory_order_relaxed);
      link.occupancy = cold.occupancy.load(std::memory_order_relaxed);
      link.occupancy_peak = cold.peak.load(std::memory_order_relaxed);
      link.drops[static_cast<int>(DropReason::kQueueFull)] =
          cold.queue_full.load(std::memory_order_relaxed);
      link.drops[static_cast<int>(DropReason::kLinkDown)] =
          cold.link_down.load(std::memory_order_relaxed);
    }
  }
}

std::vector<PortCounters> LoadedFabric::ReadPorts() const {
  const std::lock_guard<std::mutex> lock(ports_mutex_);
  std::vector<PortCounters> ports = last_ports_;
  for (const auto& port : ports_) ports.push_back(port->counters());
  return ports;
}

Snapshot LoadedFabric::summary() const {
  Snapshot snapshot;
  snapshot.tsc = rte_rdtsc();
  snapshot.first_stage = plan_.first_stage;
  snapshot.last_stage = plan_.last_stage;
  ReadAccounts(snapshot);
  snapshot.ports = ReadPorts();
  return snapshot;
}

Snapshot LoadedFabric::snapshot() const {
  Snapshot snapshot = summary();
  ReadLinks(snapshot);
  return snapshot;
}

}  // namespace bfly::dataplane

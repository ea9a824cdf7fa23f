// SPDX-License-Identifier: Apache-2.0
// LoadedFabric::snapshot: from the workers' published accounts and the links' counters to one
// picture.
#include <rte_cycles.h>

#include "absl/strings/str_cat.h"
#include "dataplane/fabric/loaded_fabric.h"

namespace bfly::dataplane {
namespace {

// A reader that finds no account changed while it read them all has an exact picture. Workers
// publish every few microseconds and reading takes a fraction of one, so an attempt or two will do.
constexpr int kAttempts = 16;

double NsPerTick() { return 1e9 / static_cast<double>(rte_get_tsc_hz()); }

// Every account balances by itself, so also a mixture of accounts read at different times keeps
//   injected + trunk_in = delivered + dropped + in_flight + trunk_out.
// What the time of reading decides is how many packets seem to be in flight. They cannot be fewer
// than none where workers that inject are read after those that deliver or drop, and rings are
// settled as lane.h says.
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
  std::vector<uint64_t> versions(workers_.size());
  int64_t in_flight = 0;
  bool exact = false;
  for (int attempt = 0; !exact && (attempt < kAttempts || in_flight < 0); ++attempt) {
    // The worker of the first hop is number 0, so it is read last. Workers that poll port queues
    // both inject and deliver: with them a mixture may have to be read again.
    for (size_t i = workers_.size(); i-- > 0;) accounts[i] = workers_[i]->account(versions[i]);
    in_flight = InFlight(accounts);
    exact = true;
    for (size_t i = 0; i < workers_.size(); ++i) {
      exact = exact && workers_[i]->account_version() == versions[i];
    }
  }

  snapshot.conservation.in_flight = static_cast<uint64_t>(in_flight);
  for (size_t i = 0; i < workers_.size(); ++i) {
    const Account& a = accounts[i];
    const Lateness late = workers_[i]->lateness();
    const double ns = NsPerTick();
    snapshot.workers.push_back({.lcore = workers_[i]->lcore(),
                                .passes = workers_[i]->passes(),
                                .idle_passes = workers_[i]->idle_passes(),
                                .ledger = a.ledger,
                                .lateness = {.packets = late.packets,
                                             .mean_ns = late.mean * ns,
                                             .p99_ns = static_cast<double>(late.p99) * ns,
                                             .max_ns = static_cast<double>(late.max) * ns}});
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
    const TimedLinks* const timed = stage->timed_counters();
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
      if (timed == nullptr) continue;
      const TimedCounters& counters = timed->counters(l);
      link.drops[static_cast<int>(DropReason::kLoss)] =
          counters.lost.load(std::memory_order_relaxed);
      link.drops[static_cast<int>(DropReason::kQueueMemory)] =
          counters.no_memory.load(std::memory_order_relaxed);
      link.busy_ns = static_cast<uint64_t>(
          static_cast<double>(counters.busy.load(std::memory_order_relaxed)) * NsPerTick());
    }
  }
}

// Host ports in the config's order, then trunks.
std::vector<PortCounters> LoadedFabric::PortCountersNow() const {
  std::vector<PortCounters> ports;
  for (const auto& port : ports_) ports.push_back(port->counters());
  for (const auto* trunk : {&trunk_in_, &trunk_out_}) {
    if (*trunk) ports.push_back((*trunk)->counters());
  }
  return ports;
}

std::vector<PortCounters> LoadedFabric::ReadPorts() const {
  const std::lock_guard<std::mutex> lock(ports_mutex_);
  return closed_ ? last_ports_ : PortCountersNow();
}

std::vector<std::string> LoadedFabric::problems() const {
  const std::lock_guard<std::mutex> lock(ports_mutex_);
  std::vector<std::string> problems;
  const auto add = [&](absl::string_view kind, const std::string& name,
                       const std::string& problem) {
    if (!problem.empty()) problems.push_back(absl::StrCat(kind, " ", name, ": ", problem));
  };
  for (const auto& port : ports_) add("port", port->config().name, port->problem());
  for (const auto* trunk : {&trunk_in_, &trunk_out_}) {
    if (*trunk) add("trunk", (*trunk)->config().name, (*trunk)->problem());
  }
  return problems;
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

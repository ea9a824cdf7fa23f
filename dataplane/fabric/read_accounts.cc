// SPDX-License-Identifier: Apache-2.0
#include "dataplane/fabric/read_accounts.h"

#include <chrono>
#include <vector>

#include "dataplane/core/tsc_hz.h"

namespace bfly::dataplane {
namespace {

// A reader that finds no account changed while it read them all has an exact picture. Workers
// publish every few microseconds and reading takes a fraction of one, so an attempt or two will do.
constexpr int kAttempts = 16;

// Every account balances by itself, so also a mixture of accounts read at different times keeps
//   injected + trunk_in = delivered + dropped + in_flight + trunk_out.
// The times of reading decide how many packets seem to be in flight. The number cannot be negative
// where workers that inject are read after workers that deliver or drop, and rings are settled as
// lane.h says.
int64_t InFlight(const std::vector<Account>& accounts) {
  int64_t sum = 0;
  for (const Account& a : accounts) {
    sum += static_cast<int64_t>(a.ledger.held + (a.ledger.handed_on - a.trunk_out) -
                                (a.ledger.taken_over - a.trunk_in));
  }
  return sum;
}

}  // namespace

void EndPasses(const Workers& workers) {
  GracePeriod period;
  for (const auto& worker : workers) period.Ask(worker->epoch());
  period.Wait(std::chrono::steady_clock::now() + std::chrono::milliseconds(250));
}

double CpuSecondsOf(const Workers& workers) {
  double sum = 0;
  for (const auto& worker : workers) sum += worker->CpuSeconds();
  return sum;
}

WorkerPasses PassesOf(const Workers& workers) {
  WorkerPasses passes;
  for (const auto& worker : workers) passes.emplace_back(worker->lcore(), worker->passes());
  return passes;
}

void ReadAccounts(const Workers& workers, Snapshot& snapshot) {
  const double ns = 1e9 / static_cast<double>(TscHz());
  std::vector<Account> accounts(workers.size());
  std::vector<uint64_t> versions(workers.size());
  int64_t in_flight = 0;
  bool exact = false;
  for (int attempt = 0; !exact && (attempt < kAttempts || in_flight < 0); ++attempt) {
    // The worker of the first hop is number 0, so it is read last. Workers that poll port queues
    // both inject and deliver: with them a mixture may have to be read again.
    for (size_t i = workers.size(); i-- > 0;) accounts[i] = workers[i]->account(versions[i]);
    in_flight = InFlight(accounts);
    exact = true;
    for (size_t i = 0; i < workers.size(); ++i) {
      exact = exact && workers[i]->account_version() == versions[i];
    }
  }

  snapshot.conservation.in_flight = static_cast<uint64_t>(in_flight);
  for (size_t i = 0; i < workers.size(); ++i) {
    const Account& a = accounts[i];
    const Lateness late = workers[i]->lateness();
    snapshot.workers.push_back({.lcore = workers[i]->lcore(),
                                .passes = workers[i]->passes(),
                                .idle_passes = workers[i]->idle_passes(),
                                .ledger = a.ledger,
                                .lateness = {.packets = late.packets,
                                             .mean_ns = late.mean * ns,
                                             .p99_ns = static_cast<double>(late.p99) * ns,
                                             .max_ns = static_cast<double>(late.max) * ns},
                                .busy = workers[i]->busy(),
                                .polls = workers[i]->polls(),
                                .stages = workers[i]->stage_costs(),
                                .rings = {}});
    snapshot.conservation.injected += a.ledger.injected;
    snapshot.conservation.delivered += a.ledger.delivered;
    snapshot.conservation.dropped += a.ledger.dropped_total();
    snapshot.trunk_in += a.trunk_in;
    snapshot.trunk_out += a.trunk_out;
    for (int r = 0; r < kDropReasons; ++r) snapshot.drops[r] += a.ledger.dropped[r];
  }
}

}  // namespace bfly::dataplane

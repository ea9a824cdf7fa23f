// SPDX-License-Identifier: Apache-2.0
#include "dataplane/bench/link_bench.h"

#include <rte_cycles.h>

#include <cmath>

#include "absl/strings/str_cat.h"
#include "dataplane/bench/bench_options.h"
#include "dataplane/bench/one_worker_fabric.h"
#include "dataplane/core/tsc_hz.h"
#include "topologies/tag.h"

namespace bfly::dataplane {
namespace {

constexpr int kBytes = 1000;
constexpr double kOverload = 1.05;
constexpr double kDelayPacketsPerSecond = 20'000;
constexpr uint64_t kDelayNs = 50'000;

// Emits a packet every `ticks`, from row 0 to the rows in turn, each born when it is due.
class PacedInlet final : public Inlet {
 public:
  PacedInlet(const Network& network, double ticks, uint32_t outputs)
      : network_(network), ticks_(ticks), outputs_(outputs) {}

  int Receive(Descriptor* burst, int room, Ledger& ledger) override {
    const uint64_t now = rte_rdtsc();
    if (start_ == 0) start_ = now;
    int count = 0;
    for (; count < room && NextDue() <= now; ++next_) {
      const Row output = static_cast<Row>(next_ % outputs_);
      burst[count++] = {.tag = ToWire(GreedyTag(network_, 0, output), network_.tag_layout().bits()),
                        .mbuf = nullptr,
                        .time = NextDue(),
                        .row = 0,
                        .bytes = kBytes,
                        .input = 0};
    }
    ledger.injected += static_cast<uint64_t>(count);
    return count;
  }
  uint64_t NextDue() const override {
    return start_ + static_cast<uint64_t>(static_cast<double>(next_) * ticks_);
  }

 private:
  const Network& network_;
  const double ticks_;
  const uint32_t outputs_;
  uint64_t start_ = 0;
  uint64_t next_ = 0;
};

// Read it after the worker has stopped.
class ClockedSink final : public Outlet {
 public:
  explicit ClockedSink(uint64_t expected) : expected_(expected) {}
  int Send(const Descriptor* burst, int count, Ledger& ledger) override {
    const uint64_t now = rte_rdtsc();
    for (int i = 0; i < count; ++i) {
      const uint64_t due = burst[i].time + expected_;
      more_.Add(now > due ? now - due : 0);
    }
    if (count > 0 && packets_ == 0) first_ = now;
    if (count > 0 && packets_ == 0) at_first_ = static_cast<uint64_t>(count);
    if (count > 0) last_ = now;
    packets_ += static_cast<uint64_t>(count);
    ledger.delivered += static_cast<uint64_t>(count);
    return count;
  }
  // Whether packets came at two times at least, which a rate takes.
  bool has_rate() const { return last_ > first_; }
  // By the times at which the first and the last packet were seen.
  double PacketsPerTick() const {
    return static_cast<double>(packets_ - at_first_) / static_cast<double>(last_ - first_);
  }
  Lateness more() const { return more_.Read(); }

 private:
  const uint64_t expected_;
  LatenessMeter more_;
  uint64_t packets_ = 0, at_first_ = 0;
  uint64_t first_ = 0, last_ = 0;
};

// What OneWorkerFabric runs here: packets from row 0, paced, and a sink that looks at the clock.
struct PacedFabric {
  PacedFabric(int stages, const LinkShape& shape, double packets_per_second, uint32_t outputs)
      : network(*Network::Make({.kind = NetworkKind::kButterfly, .rows = 1u << stages})),
        hz(static_cast<double>(TscHz())),
        inlet(network, hz / packets_per_second, outputs),
        sink(static_cast<uint64_t>(stages) * ToServed(shape, hz).delay),
        fabric(network, shape, &inlet, &sink) {}

  absl::Status Run(double seconds, LinkBenchResult& result) {
    if (absl::Status status = fabric.Run(seconds, result.conservation); !status.ok()) return status;
    const Lateness late = fabric.worker().lateness();
    const double ns = 1e9 / hz;
    Lateness& sum = result.lateness;
    if (late.packets == 0) return absl::OkStatus();
    sum.mean = (sum.mean * static_cast<double>(sum.packets) +
                late.mean * ns * static_cast<double>(late.packets)) /
               static_cast<double>(sum.packets + late.packets);
    sum.packets += late.packets;
    // The worst of all runs, because percentiles of runs cannot be added up.
    sum.p99 = std::max(sum.p99, static_cast<uint64_t>(static_cast<double>(late.p99) * ns));
    sum.max = std::max(sum.max, static_cast<uint64_t>(static_cast<double>(late.max) * ns));
    return absl::OkStatus();
  }

  const Network network;
  const double hz;
  PacedInlet inlet;
  ClockedSink sink;
  OneWorkerFabric fabric;
};

absl::Status MeasureRate(int stages, uint64_t rate, const LinkBenchOptions& options,
                         LinkBenchResult& result) {
  LinkRateResult& out = result.rates.emplace_back();
  out.stages = stages;
  out.bits_per_second = rate;
  const double packets_per_second = static_cast<double>(rate) / (8 * kBytes);
  std::vector<double> measured, errors;
  for (int run = 0; run < options.runs; ++run) {
    PacedFabric fabric(stages, {.bits_per_second = rate, .queue_limit = 1000},
                       kOverload * packets_per_second, 1);
    if (absl::Status status = fabric.Run(options.seconds, result); !status.ok()) return status;
    if (!fabric.sink.has_rate()) {
      return absl::UnavailableError(absl::StrCat("fewer than two packets crossed ", stages,
                                                 " stages at ", rate, " bit/s in ", options.seconds,
                                                 " s; give --seconds more"));
    }
    measured.push_back(fabric.sink.PacketsPerTick() * fabric.hz * 8 * kBytes);
    errors.push_back(std::abs(measured.back() / static_cast<double>(rate) - 1) * 100);
  }
  out.measured = StatisticsOf(measured);
  out.error_percent = StatisticsOf(errors);
  return absl::OkStatus();
}

absl::Status MeasureDelay(int stages, const LinkBenchOptions& options, LinkBenchResult& result) {
  LinkDelayResult& out = result.delays.emplace_back();
  out.stages = stages;
  out.delay_ns = kDelayNs;
  std::vector<double> means, p99s, maxima;
  for (int run = 0; run < options.runs; ++run) {
    PacedFabric fabric(stages, {.delay_ns = kDelayNs}, kDelayPacketsPerSecond, 1u << stages);
    if (absl::Status status = fabric.Run(options.seconds, result); !status.ok()) return status;
    const Lateness more = fabric.sink.more();
    const double us = 1e6 / fabric.hz;
    means.push_back(more.mean * us);
    p99s.push_back(static_cast<double>(more.p99) * us);
    maxima.push_back(static_cast<double>(more.max) * us);
    out.packets += more.packets;
  }
  out.mean_us = StatisticsOf(means);
  out.p99_us = StatisticsOf(p99s);
  out.max_us = StatisticsOf(maxima);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<LinkBenchResult> RunLinkBench(const LinkBenchOptions& options) {
  const absl::Status checked = FirstError({CheckOption("seconds", options.seconds, 0.05, 10.0),
                                           CheckOption("runs", options.runs, 1, 100)});
  if (!checked.ok()) return checked;
  LinkBenchResult result;
  for (const int stages : {2, 10}) {
    if (absl::Status status = MeasureDelay(stages, options, result); !status.ok()) return status;
  }
  for (const int stages : {2, 10}) {
    for (const uint64_t rate : {1'000'000u, 10'000'000u, 100'000'000u, 1'000'000'000u}) {
      if (absl::Status status = MeasureRate(stages, rate, options, result); !status.ok()) {
        return status;
      }
    }
  }
  return result;
}

}  // namespace bfly::dataplane

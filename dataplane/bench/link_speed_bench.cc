// SPDX-License-Identifier: Apache-2.0
#include "dataplane/bench/link_speed_bench.h"

#include <rte_cycles.h>
#include <rte_launch.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "dataplane/bench/bench_options.h"
#include "dataplane/bench/one_worker_fabric.h"
#include "dataplane/core/tsc_hz.h"
#include "dataplane/runtime/cpus.h"
#include "dataplane/telemetry/lateness.h"
#include "topologies/random.h"
#include "topologies/tag.h"

namespace bfly::dataplane {
namespace {

constexpr size_t kSpeedPackets = 512;
constexpr uint16_t kSpeedBytes = 60;
constexpr double kCalmLoad = 0.8;

// Drawn packets over and over: as many as there is room for, or one every `ticks`.
class SpeedInlet final : public Inlet {
 public:
  SpeedInlet(const Network& network, double ticks) : ticks_(static_cast<uint64_t>(ticks * 256)) {
    const uint32_t half = network.rows() / 2;
    for (size_t i = 0; i < kSpeedPackets; ++i) {
      const uint64_t drawn = Random64(1, RandomStream::kTraffic, i);
      const Row input = static_cast<Row>(drawn % half);
      const Row output = half + static_cast<Row>((drawn >> 32) % half);
      packets_.push_back(
          {.tag = ToWire(GreedyTag(network, input, output), network.tag_layout().bits()),
           .mbuf = nullptr,
           .time = 0,
           .row = input,
           .bytes = kSpeedBytes,
           .input = static_cast<uint16_t>(input)});
    }
  }

  int Receive(Descriptor* burst, int room, Ledger& ledger) override {
    const uint64_t now = rte_rdtsc();
    if (start_ == 0) start_ = now;
    int count = 0;
    for (; count < room && (ticks_ == 0 || NextDue() <= now); ++count) {
      burst[count] = packets_[next_ % kSpeedPackets];
      burst[count].time = ticks_ == 0 ? now : NextDue();
      ++next_;
    }
    ledger.injected += static_cast<uint64_t>(count);
    return count;
  }
  uint64_t NextDue() const override {
    return ticks_ == 0 ? UINT64_MAX : start_ + (next_ * ticks_ >> 8);
  }

 private:
  const uint64_t ticks_;  // in 1/256; 0: as many as there is room for
  std::vector<Descriptor> packets_;
  uint64_t start_ = 0;
  uint64_t next_ = 0;
};

// Read it after the worker has stopped.
class CountingSink final : public Outlet {
 public:
  int Send(const Descriptor*, int count, Ledger& ledger) override {
    if (count == 0) return 0;
    last_ = rte_rdtsc();
    if (first_ == 0) {
      first_ = last_;
    } else {
      packets_ += static_cast<uint64_t>(count);
    }
    ledger.delivered += static_cast<uint64_t>(count);
    return count;
  }
  double PacketsPerTick() const {
    return last_ > first_ ? static_cast<double>(packets_) / static_cast<double>(last_ - first_) : 0;
  }

 private:
  uint64_t packets_ = 0, first_ = 0, last_ = 0;
};

// Takes packets that are due one every `ticks`, in `cost` ticks each, and does nothing else.
struct ClockLoop {
  double ticks, cost;
  uint64_t length;  // TSC
  LatenessMeter lateness;

  static int Main(void* loop) {
    static_cast<ClockLoop*>(loop)->Run();
    return 0;
  }
  void Run() {
    // Between two looks at the clock lies less than this, or the CPU was away.
    const auto away = static_cast<double>(TscHz()) / 1e6;
    const uint64_t start = rte_rdtsc();
    double due = 0, last = 0, worked = 0;
    for (double now = 0; now < static_cast<double>(length);
         now = static_cast<double>(rte_rdtsc() - start)) {
      if (now - last < away) worked += now - last;
      last = now;
      for (; due <= now && worked >= cost; due += ticks, worked -= cost) {
        lateness.Add(static_cast<uint64_t>(now - due));
      }
      if (due > now) worked = std::min(worked, cost);
    }
  }
};

absl::Status Measure(const Network& network, const LinkSpeedOptions& options,
                     LinkSpeedResult& result, Conservation& sum) {
  const auto hz = static_cast<double>(TscHz());
  std::vector<double> packets, means, p99s, calm_means, calm_p99s, clock_means, clock_p99s;
  const auto run = [&](double ticks, std::vector<double>& mean, std::vector<double>& p99,
                       double& packets_per_tick) {
    SpeedInlet inlet(network, ticks);
    CountingSink sink;
    OneWorkerFabric fabric(network, result.shape, &inlet, &sink);
    if (absl::Status status = fabric.Run(options.seconds, sum); !status.ok()) return status;
    const Lateness late = fabric.worker().lateness();
    mean.push_back(late.mean * 1e6 / hz);
    p99.push_back(static_cast<double>(late.p99) * 1e6 / hz);
    packets_per_tick = sink.PacketsPerTick();
    return absl::OkStatus();
  };
  for (int i = 0; i < options.runs; ++i) {
    double endless = 0, calm = 0;
    if (absl::Status status = run(0, means, p99s, endless); !status.ok()) return status;
    if (endless == 0) return absl::UnavailableError("no packet arrived; give --seconds more");
    packets.push_back(endless * hz);
    const double ticks = 1 / (kCalmLoad * endless);
    if (absl::Status status = run(ticks, calm_means, calm_p99s, calm); !status.ok()) return status;
    ClockLoop loop{.ticks = ticks,
                   .cost = kCalmLoad * ticks,
                   .length = static_cast<uint64_t>(options.seconds * hz),
                   .lateness = {}};
    const auto lcore = static_cast<unsigned>(UsableCpus().back());
    if (rte_eal_remote_launch(&ClockLoop::Main, &loop, lcore) != 0) {
      return absl::InternalError("the lcore of the worker is still busy");
    }
    rte_eal_wait_lcore(lcore);
    const Lateness late = loop.lateness.Read();
    clock_means.push_back(late.mean * 1e6 / hz);
    clock_p99s.push_back(static_cast<double>(late.p99) * 1e6 / hz);
  }
  result.packets_per_second = StatisticsOf(packets);
  result.late_mean_us = StatisticsOf(means);
  result.late_p99_us = StatisticsOf(p99s);
  result.calm_mean_us = StatisticsOf(calm_means);
  result.calm_p99_us = StatisticsOf(calm_p99s);
  result.clock_mean_us = StatisticsOf(clock_means);
  result.clock_p99_us = StatisticsOf(clock_p99s);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<LinkSpeedResults> RunLinkSpeedBench(const LinkSpeedOptions& options) {
  const absl::Status checked = FirstError({CheckOption("stages", options.stages, 1, 16),
                                           CheckOption("seconds", options.seconds, 0.05, 10.0),
                                           CheckOption("runs", options.runs, 1, 100)});
  if (!checked.ok()) return checked;
  const absl::StatusOr<Network> network =
      Network::Make({.kind = NetworkKind::kButterfly, .rows = 1u << options.stages});
  if (!network.ok()) return network.status();
  LinkSpeedResults results;
  for (const LinkShape& shape : {LinkShape{}, LinkShape{.bits_per_second = 100'000'000'000},
                                 LinkShape{.bits_per_second = 100'000'000'000, .delay_ns = 10'000},
                                 LinkShape{.bits_per_second = 1'000'000'000, .queue_limit = 100}}) {
    LinkSpeedResult& result = results.shapes.emplace_back();
    result.shape = shape;
    if (absl::Status s = Measure(*network, options, result, results.conservation); !s.ok())
      return s;
  }
  return results;
}

}  // namespace bfly::dataplane

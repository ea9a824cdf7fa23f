// SPDX-License-Identifier: Apache-2.0
#include "dataplane/bench/bench_load.h"

#include <rte_cycles.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "dataplane/core/descriptor.h"
#include "dataplane/runtime/elapsed.h"

namespace bfly::dataplane {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kLooksPerTime = 32;        // reading the time costs more than a short look
constexpr uint64_t kLongLook = 100'000;  // cycles
constexpr int kAloneRuns = 20;
constexpr int64_t kTurns = 20'000;

class Load {
 public:
  Load(LoadPort* in, LoadPort* out) : in_(in), out_(out), looked_(rte_rdtsc()) {}

  // Returns the seconds that it took, which are hardly more than `seconds`.
  double RunFor(double seconds) {
    const Clock::time_point start = Clock::now();
    double ran = 0;
    do {
      for (int i = 0; i < kLooksPerTime && Look() < kLongLook; ++i) {
      }
      ran = SecondsSince(start);
    } while (ran < seconds);
    return ran;
  }

  uint64_t sent = 0;
  uint64_t received = 0;
  // Cycles between two looks count as hungry if the second look found less than a burst waiting for
  // the device: it may have found nothing to take for all of that time. Blocked likewise.
  uint64_t hungry = 0;
  uint64_t blocked = 0;
  uint64_t cycles = 0;

 private:
  // Returns the cycles since the look before.
  uint64_t Look() {
    const LoadLook in = in_->Offer();
    const LoadLook out = out_->Collect();
    const uint64_t now = rte_rdtsc();
    const uint64_t passed = now - looked_;
    looked_ = now;
    cycles += passed;
    if (in.left < kBurst) hungry += passed;
    if (out.left < kBurst) blocked += passed;
    sent += in.moved;
    received += out.moved;
    return passed;
  }

  LoadPort* const in_;
  LoadPort* const out_;
  uint64_t looked_;
};

}  // namespace

void StayOnCpu(int cpu) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(cpu, &cpus);
  sched_setaffinity(0, sizeof(cpus), &cpus);
}

absl::StatusOr<BenchLoadResult> RunBenchLoad(const BenchLoadOptions& options) {
  // A DPDK 22.11 peer whose memif client comes and goes can panic (its interrupt thread adds a
  // descriptor that is closed already), so each end connects once, and the device is up before.
  if (absl::Status s = options.in->Connect(options.in_socket, options.patience_seconds); !s.ok()) {
    return s;
  }
  if (absl::Status s = options.out->Connect(options.out_socket, options.patience_seconds);
      !s.ok()) {
    return s;
  }
  uint64_t before = 0;
  {
    Load first(options.in, options.out);
    const Clock::time_point start = Clock::now();
    while (first.received == 0 && SecondsSince(start) < options.patience_seconds) first.RunFor(0);
    if (first.received == 0) return absl::UnavailableError("no frame came through");
    first.RunFor(options.warm_up_seconds);
    before = first.received;
  }
  const uint64_t strange = options.out->strange();
  const ProcessTime device_before = TimeOf(options.device);
  Load load(options.in, options.out);
  double seconds = load.RunFor(options.seconds);
  // On a busy machine, the device may get no CPU for longer than this.
  while (load.received == 0 && seconds < options.patience_seconds) seconds += load.RunFor(0);
  if (load.received == 0) return absl::UnavailableError("no frame came through any more");
  const ProcessTime device_after = TimeOf(options.device);
  const auto share = [&load](uint64_t cycles) {
    return 1 - static_cast<double>(cycles) / static_cast<double>(load.cycles);
  };
  return BenchLoadResult{.seconds = seconds,
                         .sent = load.sent,
                         .received = load.received,
                         .received_since_connected = before + load.received,
                         .strange = options.out->strange() - strange,
                         .fed = share(load.hungry),
                         .drained = share(load.blocked),
                         .device = {.all = device_after.all - device_before.all,
                                    .kernel = device_after.kernel - device_before.kernel}};
}

BenchLoadAlone MeasureLoadAlone(LoadPort* in, LoadPort* out, int device_cpu, double seconds) {
  // Even numbers are for the load to answer, odd ones for the device.
  std::atomic<int64_t> turn = -1;
  std::atomic<bool> stop = false;
  std::thread device([&] {
    StayOnCpu(device_cpu);
    turn.store(0, std::memory_order_release);
    for (int64_t t = 1; t < kTurns; t += 2) {
      while (turn.load(std::memory_order_acquire) != t) {
      }
      turn.store(t + 1, std::memory_order_release);
    }
    uint32_t held = 0;
    while (!stop.load(std::memory_order_relaxed)) {
      if (held == 0) held = in->TakeAsDevice(kLoadRing);
      held -= out->SendAsDevice(held);
    }
  });
  // This thread must not keep the new one from its first CPU, which is this thread's.
  while (turn.load(std::memory_order_acquire) < 0) usleep(100);
  BenchLoadAlone alone;
  const Clock::time_point start = Clock::now();
  for (int64_t t = 0; t < kTurns; t += 2) {
    while (turn.load(std::memory_order_acquire) != t) {
    }
    turn.store(t + 1, std::memory_order_release);
  }
  alone.hand_over_ns = SecondsSince(start) * 1e9 / kTurns;
  for (int i = 0; i < kAloneRuns; ++i) {
    Load load(in, out);
    const double ran = load.RunFor(seconds / kAloneRuns);
    alone.pps = std::max(alone.pps, static_cast<double>(load.received) / ran);
  }
  stop.store(true, std::memory_order_relaxed);
  device.join();
  return alone;
}

}  // namespace bfly::dataplane

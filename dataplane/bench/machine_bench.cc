// SPDX-License-Identifier: Apache-2.0
#include "dataplane/bench/machine_bench.h"

#include <rte_pause.h>
#include <rte_ring.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>

#include "absl/strings/str_cat.h"
#include "dataplane/bench/bench_load.h"
#include "dataplane/bench/bench_options.h"
#include "dataplane/runtime/cpus.h"
#include "dataplane/runtime/elapsed.h"
#include "topologies/random.h"

namespace bfly::dataplane {
namespace {

using Clock = std::chrono::steady_clock;

// The first three fit a first-level, a second-level and a third-level cache of today's CPUs. The
// last one fits none.
constexpr uint64_t kSizes[] = {16 << 10, 512 << 10, 8 << 20, 256 << 20};
constexpr uint64_t kChunkBytes = 4 << 20;   // copied between two looks at the clock
constexpr uint64_t kChunkLoads = 1 << 15;   // between two looks at the clock
constexpr uint64_t kChunkBursts = 1 << 11;  // between two looks at the clock
constexpr unsigned kRingSize = 1024;
constexpr uint64_t kSeed = 1;
constexpr double kMostWaitSeconds = 10;

// Keeps the calling thread on one CPU until it goes.
class OnCpu {
 public:
  explicit OnCpu(int cpu) {
    sched_getaffinity(0, sizeof(before_), &before_);
    StayOnCpu(cpu);
  }
  ~OnCpu() { sched_setaffinity(0, sizeof(before_), &before_); }
  OnCpu(const OnCpu&) = delete;
  OnCpu& operator=(const OnCpu&) = delete;

 private:
  cpu_set_t before_;
};

// The compiler must neither leave out what made `value` nor know it.
template <typename T>
void Use(T& value) {
  asm volatile("" : "+r"(value) : : "memory");
}

// Repeats `chunk`, which returns how much it has done, and returns how much that was a second.
template <typename Chunk>
double PerSecond(double seconds, Chunk chunk) {
  chunk();  // the first touch of the memory
  uint64_t done = 0;
  const Clock::time_point start = Clock::now();
  do {
    done += chunk();
  } while (SecondsSince(start) < seconds);
  return static_cast<double>(done) / SecondsSince(start);
}

double CopiedPerSecond(uint64_t bytes, double seconds) {
  const uint64_t half = bytes / 2;
  std::vector<char> memory(bytes, 1);
  return PerSecond(seconds, [&] {
    uint64_t copied = 0;
    for (; copied < kChunkBytes; copied += half) {
      char* from = memory.data();
      Use(from);
      std::memcpy(memory.data() + half, from, half);
    }
    return copied;
  });
}

struct WalkLine {
  alignas(64) const WalkLine* next = nullptr;
};

double NsOfLoad(uint64_t bytes, double seconds) {
  const std::vector<uint32_t> cycle =
      RandomCycle(static_cast<uint32_t>(bytes / sizeof(WalkLine)), kSeed);
  std::vector<WalkLine> lines(cycle.size());
  for (size_t i = 0; i < cycle.size(); ++i) lines[i].next = &lines[cycle[i]];
  const WalkLine* at = lines.data();
  return 1e9 / PerSecond(seconds, [&] {
           for (uint64_t i = 0; i < kChunkLoads; ++i) at = at->next;
           Use(at);
           return kChunkLoads;
         });
}

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

// A ring for one producer and one consumer.
class BenchRing {
 public:
  BenchRing() {
    memory_.reset(std::aligned_alloc(
        RTE_CACHE_LINE_SIZE, RTE_ALIGN_CEIL(static_cast<size_t>(rte_ring_get_memsize(kRingSize)),
                                            size_t{RTE_CACHE_LINE_SIZE})));
    rte_ring_init(get(), "bench", kRingSize, RING_F_SP_ENQ | RING_F_SC_DEQ);
  }
  rte_ring* get() const { return static_cast<rte_ring*>(memory_.get()); }

 private:
  std::unique_ptr<void, Free> memory_;
};

double NsOfRing(double seconds) {
  const BenchRing ring;
  void* pointers[kRingBurst] = {};
  return 1e9 / PerSecond(seconds, [&] {
           uint64_t moved = 0;
           for (uint64_t i = 0; i < kChunkBursts; ++i) {
             rte_ring_sp_enqueue_bulk(ring.get(), pointers, kRingBurst, nullptr);
             moved += rte_ring_sc_dequeue_bulk(ring.get(), pointers, kRingBurst, nullptr);
           }
           return moved;
         });
}

// The producer is on `from_cpu`, the consumer on `to_cpu`. 0: no pointer came in kMostWaitSeconds.
double NsOfRingAcross(int from_cpu, int to_cpu, double seconds) {
  const BenchRing ring;
  std::atomic<bool> stop{false};
  // It starts on a CPU of the caller's, which must not be pinned yet.
  std::thread producer([&] {
    StayOnCpu(from_cpu);
    void* pointers[kRingBurst] = {};
    while (!stop.load(std::memory_order_relaxed)) {
      if (rte_ring_sp_enqueue_bulk(ring.get(), pointers, kRingBurst, nullptr) == 0) rte_pause();
    }
  });
  const OnCpu pinned(to_cpu);
  void* pointers[kRingBurst];
  const auto take = [&] {
    uint64_t moved = 0;
    for (uint64_t i = 0; i < kChunkBursts; ++i) {
      moved += rte_ring_sc_dequeue_bulk(ring.get(), pointers, kRingBurst, nullptr);
    }
    return moved;
  };
  const Clock::time_point start = Clock::now();
  uint64_t came = 0;
  while (came == 0 && SecondsSince(start) < kMostWaitSeconds) came = take();
  const double per_second = came > 0 ? PerSecond(seconds, take) : 0;
  stop.store(true, std::memory_order_relaxed);
  producer.join();
  return per_second > 0 ? 1e9 / per_second : 0;
}

template <typename Measure>
RunStatistics Repeat(int runs, Measure measure) {
  std::vector<double> figures;
  for (int run = 0; run < runs; ++run) figures.push_back(measure());
  return StatisticsOf(std::move(figures));
}

}  // namespace

std::vector<uint32_t> RandomCycle(uint32_t count, uint64_t seed) {
  const std::vector<uint32_t> order = RandomPermutation(seed, RandomStream::kMemoryWalk, count);
  std::vector<uint32_t> next(count);
  for (uint32_t i = 0; i < count; ++i) next[order[i]] = order[(i + 1) % count];
  return next;
}

absl::StatusOr<MachineBenchResult> RunMachineBench(const MachineBenchOptions& options) {
  if (absl::Status status = FirstError({CheckOption("seconds", options.seconds, 0.01, 60.0),
                                        CheckOption("runs", options.runs, 1, 100)});
      !status.ok()) {
    return status;
  }
  const double seconds = options.seconds;
  MachineBenchResult result{.cpu = UsableCpus().back()};
  if (UsableCpus().size() > 1) result.other_cpu = UsableCpus().front();
  {
    const OnCpu pinned(result.cpu);
    for (const uint64_t bytes : kSizes) {
      result.copies.push_back(
          {bytes, Repeat(options.runs, [&] { return CopiedPerSecond(bytes, seconds); })});
      result.walks.push_back(
          {bytes, Repeat(options.runs, [&] { return NsOfLoad(bytes, seconds); })});
    }
    result.ring_ns = Repeat(options.runs, [&] { return NsOfRing(seconds); });
  }
  if (!result.other_cpu.has_value()) return result;
  result.ring_across_ns =
      Repeat(options.runs, [&] { return NsOfRingAcross(*result.other_cpu, result.cpu, seconds); });
  if (result.ring_across_ns.lowest == 0) {
    return absl::UnavailableError(absl::StrCat("no pointer came from CPU ", *result.other_cpu,
                                               " in ", kMostWaitSeconds,
                                               " s: other programs take that CPU; stop them"));
  }
  return result;
}

}  // namespace bfly::dataplane

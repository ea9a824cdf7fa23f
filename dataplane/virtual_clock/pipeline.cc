// SPDX-License-Identifier: Apache-2.0
#include "dataplane/virtual_clock/pipeline.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <thread>

#include "dataplane/virtual_clock/packet_vectors.h"

namespace bfly::dataplane {
namespace {

// One window of one stage boundary, on its way from worker to worker.
struct Window {
  Window(size_t lists, size_t chunk) : packets(lists, 1, chunk) {}
  Boundary packets;
  Ticks end = 0;
  uint64_t generated = 0;  // by the sources, up to `end`
  bool last = false;
};

constexpr uint64_t kWindowsAhead = 2;  // a worker may be this far ahead of the next one

}  // namespace

// A ring of windows between two workers; each side waits for the other without spinning.
class Pipeline::Handover {
 public:
  Handover(size_t lists, size_t chunk) {
    for (uint64_t i = 0; i < kWindowsAhead; ++i) {
      ring_.push_back(std::make_unique<Window>(lists, chunk));
    }
  }

  Window& ToFill() {
    const uint64_t filled = filled_.load(std::memory_order_relaxed);
    for (uint64_t taken;
         filled - (taken = taken_.load(std::memory_order_acquire)) == kWindowsAhead;) {
      taken_.wait(taken, std::memory_order_acquire);
    }
    return *ring_[filled % kWindowsAhead];
  }
  void Filled() {
    filled_.fetch_add(1, std::memory_order_release);
    filled_.notify_one();
  }
  Window& ToTake() {
    const uint64_t taken = taken_.load(std::memory_order_relaxed);
    filled_.wait(taken, std::memory_order_acquire);
    return *ring_[taken % kWindowsAhead];
  }
  void Taken() {
    taken_.fetch_add(1, std::memory_order_release);
    taken_.notify_one();
  }

  size_t bytes() const {
    size_t sum = 0;
    for (const auto& window : ring_) sum += window->packets.bytes();
    return sum;
  }

 private:
  std::vector<std::unique_ptr<Window>> ring_;
  std::atomic<uint64_t> filled_{0};  // producer: writes, consumer: acquires
  std::atomic<uint64_t> taken_{0};   // consumer: writes, producer: acquires
};

struct Pipeline::Worker {
  explicit Worker(int workers) : crew(workers), scratch(static_cast<size_t>(workers)) {}

  Crew crew;
  std::vector<BlockScratch> scratch;
  std::vector<StageGroup> groups;
  std::vector<Boundary> between;  // after each group but the last
  std::unique_ptr<Handover> to_next;

  // Returns how many packets the source generated.
  uint64_t RunWindow(const GroupEnds& ends, const StageWindow& window) {
    uint64_t generated = 0;
    for (size_t g = 0; g < groups.size(); ++g) {
      GroupEnds part;
      if (g == 0) {
        part.source = ends.source;
        part.in = ends.in;
      } else {
        part.in = &between[g - 1];
      }
      if (g + 1 == groups.size()) {
        part.out = ends.out;
        part.sinks = ends.sinks;
      } else {
        part.out = &between[g];
      }
      if (part.out != nullptr) part.out->Clear();
      generated += groups[g].RunWindow(crew, part, window, scratch);
    }
    return generated;
  }
};

Pipeline::Pipeline(const Network& network, const std::vector<int>& first_stages, int crew,
                   Ticks unit, double window_packets, bool vectors)
    : network_(network), unit_(unit), vectors_(vectors) {
  const size_t lists = 2 * static_cast<size_t>(network.rows());
  // A sixteenth of what a window is expected to bring a worker, so that little stays unused.
  const auto chunk =
      static_cast<size_t>(std::clamp(window_packets * network.rows() / crew / 16, 512.0, 0x1p24));
  for (size_t w = 0; w < first_stages.size(); ++w) {
    const bool is_last = w + 1 == first_stages.size();
    const int limit = (is_last ? network.stages() : first_stages[w + 1]) - 1;
    auto worker = std::make_unique<Worker>(crew);
    for (const StageRange range : StageGroup::Split(network, first_stages[w], limit)) {
      worker->groups.emplace_back(network, range, unit);
      if (range.last != limit) worker->between.emplace_back(lists, crew, chunk);
    }
    if (!is_last) worker->to_next = std::make_unique<Handover>(lists, chunk);
    workers_.push_back(std::move(worker));
  }
}

Pipeline::~Pipeline() = default;

Pipeline::Account Pipeline::Run(VirtualSource& source, DelaySink& sink, Ticks window, Ticks start,
                                Ticks end, Ticks give_up) {
  Account account;
  uint64_t born_before_start = 0, population_sum = 0, windows_measured = 0;
  // The last worker says after each window whether all measured packets are through. Only then does
  // the first one decide on the next window, but for the windows up to `end`, which are run in any
  // case.
  std::atomic<Ticks> sunk{0};  // last worker: writes, first: acquires; end of its newest window
  std::atomic<bool> complete{false};  // last worker: writes before `sunk`, first: reads after it

  const int bucket_bits = BucketBits(window);
  std::vector<DelaySink> sinks(workers_.back()->scratch.size(), sink);
  const auto sum = [&sinks](uint64_t (DelaySink::*count)() const) {
    uint64_t all = 0;
    for (const DelaySink& one : sinks) all += (one.*count)();
    return all;
  };
  uint64_t delivered = 0;
  const auto sink_window = [&](Ticks window_end, uint64_t generated) {
    const uint64_t before = delivered;
    delivered = sum(&DelaySink::delivered);
    if (window_end == start) born_before_start = generated;
    if (window_end > start && window_end <= end) {
      account.delivered_then += delivered - before;
      population_sum += generated - delivered;
      ++windows_measured;
      if (window_end == end) account.born_measured = generated - born_before_start;
    }
    account.end = window_end;
    account.generated = generated;
    if (window_end >= end) {
      complete.store(sum(&DelaySink::measured) == account.born_measured, std::memory_order_relaxed);
    }
    sunk.store(window_end, std::memory_order_release);
    sunk.notify_one();
  };

  const auto run_worker = [&](size_t w) {
    Worker& worker = *workers_[w];
    const bool is_last = w + 1 == workers_.size();
    uint64_t generated = 0;
    for (Ticks now = 0; now < give_up;) {
      Window* taken = nullptr;
      Ticks window_end = 0;
      GroupEnds ends;
      if (w == 0) {
        if (now >= end) {
          for (Ticks s; (s = sunk.load(std::memory_order_acquire)) != now;) sunk.wait(s);
          if (complete.load(std::memory_order_relaxed)) break;
        }
        window_end = std::min(now + window, give_up);
        if (now < start) window_end = std::min(window_end, start);
        if (now < end) window_end = std::min(window_end, end);
        ends.source = &source;
      } else {
        taken = &workers_[w - 1]->to_next->ToTake();
        if (taken->last) break;
        window_end = taken->end;
        generated = taken->generated;
        ends.in = &taken->packets;
      }
      Window* next = nullptr;
      if (is_last) {
        ends.sinks = sinks.data();
      } else {
        next = &worker.to_next->ToFill();
        ends.out = &next->packets;
      }
      generated += worker.RunWindow(ends, {now, window_end, bucket_bits});
      if (is_last) {
        sink_window(window_end, generated);
      } else {
        next->end = window_end;
        next->generated = generated;
        next->last = false;
        worker.to_next->Filled();
      }
      if (taken != nullptr) workers_[w - 1]->to_next->Taken();
      now = window_end;
    }
    if (!is_last) {
      worker.to_next->ToFill().last = true;
      worker.to_next->Filled();
    }
  };

  std::vector<std::jthread> threads;
  for (size_t w = 1; w < workers_.size(); ++w) threads.emplace_back(run_worker, w);
  run_worker(0);
  threads.clear();  // joins
  sink_bytes_ = sinks.size() * sink.bytes();
  for (const DelaySink& one : sinks) sink.Merge(one);
  if (windows_measured > 0) {
    account.mean_population =
        static_cast<double>(population_sum) / static_cast<double>(windows_measured);
  }
  return account;
}

int Pipeline::BucketBits(Ticks window) const {
#if BFLY_HAS_PACKET_VECTORS
  if (!vectors_ || !HasPacketVectors() || network_.straight_is_free()) return -1;
  const int bits = static_cast<int>(std::bit_width(unit_)) - 1;
  if ((window - 1) >> bits < StageWindow::kMostBuckets) return bits;
#endif
  return -1;
}

uint64_t Pipeline::queued() const {
  uint64_t sum = 0;
  for (const auto& worker : workers_) {
    for (const StageGroup& group : worker->groups) sum += group.queued();
  }
  return sum;
}

uint64_t Pipeline::handled() const {
  uint64_t sum = 0;
  for (const auto& worker : workers_) {
    for (const StageGroup& group : worker->groups) {
      for (int stage = group.first(); stage <= group.last(); ++stage) sum += group.handled(stage);
    }
  }
  return sum;
}

std::vector<double> Pipeline::StageDelays(Ticks unit) const {
  std::vector<double> delays;
  for (const auto& worker : workers_) {
    for (const StageGroup& group : worker->groups) {
      for (int stage = group.first(); stage <= group.last(); ++stage) {
        const double handled = static_cast<double>(std::max<uint64_t>(group.handled(stage), 1));
        delays.push_back(static_cast<double>(group.delay_sum(stage)) / static_cast<double>(unit) /
                         handled);
      }
    }
  }
  return delays;
}

std::vector<uint64_t> Pipeline::LinkPackets() const {
  std::vector<uint64_t> packets(network_.link_count());
  for (const auto& worker : workers_) {
    for (const StageGroup& group : worker->groups) {
      for (int stage = group.first(); stage <= group.last(); ++stage) {
        group.CountLinks(stage, packets.data() + network_.link_index({stage, 0, 0}));
      }
    }
  }
  return packets;
}

size_t Pipeline::bytes() const {
  size_t sum = sink_bytes_;
  for (const auto& worker : workers_) {
    for (const StageGroup& group : worker->groups) sum += group.bytes();
    for (const BlockScratch& scratch : worker->scratch) sum += scratch.bytes();
    for (const Boundary& boundary : worker->between) sum += boundary.bytes();
    if (worker->to_next) sum += worker->to_next->bytes();
  }
  return sum;
}

}  // namespace bfly::dataplane

// SPDX-License-Identifier: Apache-2.0
#include "dataplane/virtual_clock/pipeline.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <thread>

#include "dataplane/virtual_clock/narrow_vectors.h"
#include "dataplane/virtual_clock/packet_vectors.h"

namespace bfly::dataplane {
namespace {

// The packets that a row generates in a window.
constexpr double kMostPackets = 60;
// With vectors and several groups of stages: packets are packed, and blocks of rows stay in cache.
constexpr double kMostPackedPackets = 44;
constexpr double kPackedPacketsOfAStage = 6.2;  // with two groups of stages
// Packets one by one: nodes take more room for their lists.
constexpr double kPlainPacketsOfAStage = 2.7;
constexpr double kLeastPackets = 8;     // with vectors
constexpr double kServedPackets = 100;  // links that are not FIFO cost much to open

constexpr uint64_t kWindowsAhead = 2;  // a worker may be this far ahead of the next one

}  // namespace

// A ring of windows between two workers; each side waits for the other without spinning.
class Pipeline::Handover {
 public:
  // One window of one stage boundary, on its way from worker to worker.
  struct Window {
    Window(size_t lists, size_t chunk) : packets(lists, 1, chunk) {}
    Boundary packets;
    Ticks end = 0;
    uint64_t before = 0;  // packets that the sources generated before the window
    PacketCount generated;
    bool last = false;
  };

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
  std::vector<Boundary> between;  // a boundary behind each group except the last
  std::unique_ptr<Handover> to_next;

  // Returns how many packets the source generated.
  PacketCount RunWindow(const GroupEnds& ends, const StageWindow& window) {
    PacketCount generated;
    for (size_t g = 0; g < groups.size(); ++g) {
      GroupEnds part;
      if (g == 0) {
        part.source = ends.source;
        part.classes = ends.classes;
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
      const PacketCount born = groups[g].RunWindow(crew, part, window, scratch);
      if (part.source != nullptr) generated = born;
    }
    return generated;
  }
};

WindowPlan PlanWindows(const Network& network, double rate, Ticks unit, Vectors vectors,
                       Ticks length) {
  WindowPlan plan{length, -1, false,
                  static_cast<double>(length) / static_cast<double>(unit) * rate};
#if BFLY_HAS_PACKET_VECTORS
  const int bits = static_cast<int>(std::bit_width(unit)) - 1;
  if (vectors == Vectors::kNone || network.straight_is_free() || bits > kMostBucketBits ||
      (length - 1) >> bits >= StageWindow::kMostBuckets) {
    return plan;
  }
  const bool wide = vectors == Vectors::kWidest && HasPacketVectors();
  plan.narrow = !wide && HasNarrowVectors() && plan.packets <= kMostNarrowPackets;
  if (wide || plan.narrow) plan.bucket_bits = bits;
#endif
  return plan;
}

WindowPlan PlanWindows(const Network& network, double rate, Ticks unit, Vectors vectors) {
  const auto length = [&](double units) {
    return std::max<Ticks>(1, ToTicksBeforeFar(units * static_cast<double>(unit)));
  };
  // The packets of a window wait between groups of stages and take 12 or 16 bytes for each group.
  // Windows are so short that a link takes about 64 bytes at most and that a block of rows stays in
  // cache.
  const auto groups = StageGroup::Split(network, 0, network.stages() - 1).size();
  const auto packets = [&](double most, double of_a_stage) {
    if (groups == 1) return kMostPackets;
    return std::min(most, of_a_stage * network.stages() / static_cast<double>(groups - 1));
  };
  // A window consists of whole vectors of buckets. There are no vectors where links are so idle
  // that most buckets would be empty.
  double units = std::min<double>(packets(kMostPackedPackets, kPackedPacketsOfAStage) / rate,
                                  StageWindow::kMostBuckets);
  if (units > 16) units = std::floor(units / 8) * 8;
  if (units * rate >= kLeastPackets) {
    const WindowPlan plan = PlanWindows(network, rate, unit, vectors, length(units));
    if (plan.bucket_bits >= 0) return plan;
  }
  return PlanWindows(network, rate, unit, Vectors::kNone,
                     length(packets(kMostPackets, kPlainPacketsOfAStage) / rate));
}

WindowPlan PlanServedWindows(double rate, Ticks unit) {
  const double units = static_cast<double>(unit);
  const double length =
      std::min(kServedPackets / rate * units, static_cast<double>(kLongestSharedWindow));
  return {std::max<Ticks>(1, static_cast<Ticks>(length)), -1, false, length / units * rate};
}

Pipeline::Pipeline(const Network& network, const std::vector<int>& first_stages, int crew,
                   const LinkService& service, const WindowPlan& plan, bool stage_delays)
    : network_(network), plan_(plan) {
  const size_t lists = 2 * static_cast<size_t>(network.rows());
  // A chunk is a small part of what a window is expected to bring, so that little stays unused. It
  // is a huge page where a window fills one.
  const double expected = plan.packets * network.rows() * (plan.bucket_bits >= 0 ? 0.75 : 1);
  const auto chunk =
      static_cast<size_t>(std::clamp(expected / (expected > 0x1p21 ? 16 : 32), 512.0, 0x1p24));
  for (size_t w = 0; w < first_stages.size(); ++w) {
    const bool is_last = w + 1 == first_stages.size();
    const int limit = (is_last ? network.stages() : first_stages[w + 1]) - 1;
    auto worker = std::make_unique<Worker>(crew);
    for (const StageRange range : StageGroup::Split(network, first_stages[w], limit)) {
      worker->groups.emplace_back(network, range, service);
      if (range.last != limit) worker->between.emplace_back(lists, crew, chunk);
    }
    for (BlockScratch& scratch : worker->scratch) {
      if (stage_delays) scratch.delays.resize(static_cast<size_t>(network.stages()));
    }
    if (!is_last) worker->to_next = std::make_unique<Handover>(lists, chunk);
    workers_.push_back(std::move(worker));
  }
}

Pipeline::~Pipeline() = default;

Pipeline::Account Pipeline::Run(VirtualSource& source, ClassSource* classes, DelaySink& sink,
                                Ticks period, Ticks start, Ticks end, Ticks give_up) {
  Account account;
  uint64_t born_before_start = 0, population_sum = 0, periods_measured = 0;
  // The last worker says after each window whether all measured packets are through. Only then does
  // the first worker decide on the next window. The windows up to `end` are run in any case.
  std::atomic<Ticks> sunk{0};  // last worker: writes, first: acquires; end of its newest window
  std::atomic<bool> complete{false};  // last worker: writes before `sunk`, first: reads after it

  link_packets_.assign(network_.link_count(), 0);
  std::vector<DelaySink> sinks(workers_.back()->scratch.size(), sink);
  const auto sum = [&sinks](uint64_t (DelaySink::*count)() const) {
    uint64_t all = 0;
    for (const DelaySink& one : sinks) all += (one.*count)();
    return all;
  };
  uint64_t delivered = 0, early = 0;
  const auto sink_window = [&](const StageWindow& when, bool ends_period, uint64_t born_before,
                               PacketCount born) {
    const Ticks window_end = when.end;
    const uint64_t delivered_before = delivered, early_before = early;
    delivered = sum(&DelaySink::delivered);
    early = sum(&DelaySink::early);
    const uint64_t generated = born_before + born.packets;
    if (window_end == start) born_before_start = generated;
    if (window_end > start && window_end <= end) {
      account.delivered_then += delivered - delivered_before;
      population_sum += when.inner.size() * (born_before - delivered_before) + born.early -
                        (early - early_before);
      periods_measured += when.inner.size();
      if (ends_period) {
        population_sum += generated - delivered;
        ++periods_measured;
      }
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

  // The end of the period that `now` is in.
  const auto next_period = [&](Ticks now) {
    const Ticks first = now < start ? 0 : now < end ? start : end;
    const Ticks last = now < start ? start : now < end ? end : give_up;
    return std::min(now + period - (now - first) % period, last);
  };

  const auto run_worker = [&](size_t w) {
    Worker& worker = *workers_[w];
    const bool is_last = w + 1 == workers_.size();
    uint64_t before = 0;
    std::vector<Ticks> inner;
    for (Ticks now = 0; now < give_up;) {
      Handover::Window* taken = nullptr;
      Ticks window_end = 0;
      GroupEnds ends;
      if (w == 0) {
        if (now >= end && (now - end) % period == 0) {
          for (Ticks s; (s = sunk.load(std::memory_order_acquire)) != now;) sunk.wait(s);
          if (complete.load(std::memory_order_relaxed)) break;
        }
        window_end = std::min(now + plan_.length, now < start ? start
                                                  : now < end ? end
                                                              : next_period(now));
        ends.source = &source;
        ends.classes = classes;
      } else {
        taken = &workers_[w - 1]->to_next->ToTake();
        if (taken->last) break;
        window_end = taken->end;
        before = taken->before;
        ends.in = &taken->packets;
      }
      Handover::Window* next = nullptr;
      if (is_last) {
        ends.sinks = sinks.data();
      } else {
        next = &worker.to_next->ToFill();
        ends.out = &next->packets;
      }
      inner.clear();
      Ticks period_end = next_period(now);
      for (; period_end < window_end; period_end = next_period(period_end)) {
        inner.push_back(period_end);
      }
      const StageWindow when{now, window_end, plan_.bucket_bits, plan_.narrow, inner};
      PacketCount generated = worker.RunWindow(ends, when);
      if (taken != nullptr) generated = taken->generated;
      if (is_last) {
        sink_window(when, period_end == window_end, before, generated);
      } else {
        next->end = window_end;
        next->before = before;
        next->generated = generated;
        next->last = false;
        worker.to_next->Filled();
      }
      before += generated.packets;
      if (taken != nullptr) workers_[w - 1]->to_next->Taken();
      now = window_end;
      if (now == start || now == end) CountLinks(worker);
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
  if (periods_measured > 0) {
    account.mean_population =
        static_cast<double>(population_sum) / static_cast<double>(periods_measured);
  }
  return account;
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
      for (int stage = group.first(); stage <= group.last(); ++stage) {
        sum += group.count(stage).handled;
      }
    }
  }
  return sum;
}

std::vector<double> Pipeline::StageDelays(Ticks unit) const {
  std::vector<double> delays;
  for (const auto& worker : workers_) {
    for (const StageGroup& group : worker->groups) {
      for (int stage = group.first(); stage <= group.last(); ++stage) {
        const ServedCount count = group.count(stage);
        const double measured = static_cast<double>(std::max<uint64_t>(count.measured, 1));
        delays.push_back(static_cast<double>(count.delay) / static_cast<double>(unit) / measured);
      }
    }
  }
  return delays;
}

std::vector<DelayHistogram> Pipeline::StageHistograms() const {
  std::vector<DelayHistogram> delays(workers_[0]->scratch[0].delays.size());
  for (const auto& worker : workers_) {
    for (const BlockScratch& scratch : worker->scratch) {
      for (size_t stage = 0; stage < delays.size(); ++stage) {
        delays[stage].Merge(scratch.delays[stage]);
      }
    }
  }
  return delays;
}

void Pipeline::CountLinks(const Worker& worker) {
  const size_t links = 2 * static_cast<size_t>(network_.rows());
  for (const StageGroup& group : worker.groups) {
    for (int stage = group.first(); stage <= group.last(); ++stage) {
      uint64_t* const counts = link_packets_.data() + network_.link_index({stage, 0, 0});
      for (size_t link = 0; link < links; ++link) counts[link] = -counts[link];
      group.CountLinks(stage, counts);
    }
  }
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

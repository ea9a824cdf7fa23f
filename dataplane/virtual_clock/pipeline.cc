// SPDX-License-Identifier: Apache-2.0
#include "dataplane/virtual_clock/pipeline.h"

#include <algorithm>
#include <atomic>
#include <thread>

namespace bfly::dataplane {
namespace {

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

// One run: the first worker takes windows from the source, the others take them from each other,
// and the last one sinks them.
class Pipeline::OneRun {
 public:
  // All arguments must outlive the object.
  OneRun(Pipeline& pipeline, VirtualSource& source, ClassSource* classes, const DelaySink& sink,
         const Times& times)
      : pipeline_(pipeline),
        workers_(pipeline.workers_),
        source_(source),
        classes_(classes),
        times_(times),
        sinks_(workers_.back()->scratch.size(), sink) {}

  // Runs all workers. Call it once.
  Account Do();
  // For each thread of the crew: what the last worker delivered. Read it after the run.
  const std::vector<DelaySink>& sinks() const { return sinks_; }

 private:
  void RunWorker(size_t w);
  // The end of the period that `now` is in.
  Ticks NextPeriod(Ticks now) const;
  // The first worker: the end of the window that begins at `now`.
  Ticks WindowEnd(Ticks now) const;
  // The first worker, where a period after times_.end ends: waits until the last worker has the
  // windows up to `now`. Returns true if all measured packets are through.
  bool IsComplete(Ticks now) const;
  // The last worker: counts the deliveries of a window. `born_before` and `born` are the packets
  // that the source generated before the window and in it.
  void SinkWindow(const StageWindow& when, bool ends_period, uint64_t born_before,
                  PacketCount born);
  uint64_t Sum(uint64_t (DelaySink::*count)() const) const {
    uint64_t all = 0;
    for (const DelaySink& one : sinks_) all += (one.*count)();
    return all;
  }

  Pipeline& pipeline_;
  const std::vector<std::unique_ptr<Worker>>& workers_;
  VirtualSource& source_;
  ClassSource* const classes_;
  const Times times_;
  std::vector<DelaySink> sinks_;  // the last worker's crew writes them

  // Only the last worker uses these during the run.
  Account account_;
  uint64_t delivered_ = 0, early_ = 0;  // up to its newest window
  uint64_t born_before_start_ = 0, population_sum_ = 0, periods_measured_ = 0;

  // The last worker says after each window whether all measured packets are through. Only then does
  // the first worker decide on the next window. The windows up to the end are run in any case.
  std::atomic<Ticks> sunk_{0};  // last worker: writes, first: acquires; end of its newest window
  std::atomic<bool> complete_{false};  // last worker: writes before `sunk_`, first: reads after it
};

Pipeline::Account Pipeline::OneRun::Do() {
  std::vector<std::jthread> threads;
  for (size_t w = 1; w < workers_.size(); ++w) threads.emplace_back([this, w] { RunWorker(w); });
  RunWorker(0);
  threads.clear();  // joins
  if (periods_measured_ > 0) {
    account_.mean_population =
        static_cast<double>(population_sum_) / static_cast<double>(periods_measured_);
  }
  return account_;
}

Ticks Pipeline::OneRun::NextPeriod(Ticks now) const {
  const auto& [period, start, end, give_up] = times_;
  const Ticks first = now < start ? 0 : now < end ? start : end;
  const Ticks last = now < start ? start : now < end ? end : give_up;
  return std::min(now + period - (now - first) % period, last);
}

Ticks Pipeline::OneRun::WindowEnd(Ticks now) const {
  const Ticks latest = now < times_.start ? times_.start
                       : now < times_.end ? times_.end
                                          : NextPeriod(now);
  return std::min(now + pipeline_.plan_.length, latest);
}

bool Pipeline::OneRun::IsComplete(Ticks now) const {
  for (Ticks s; (s = sunk_.load(std::memory_order_acquire)) != now;) sunk_.wait(s);
  return complete_.load(std::memory_order_relaxed);
}

void Pipeline::OneRun::SinkWindow(const StageWindow& when, bool ends_period, uint64_t born_before,
                                  PacketCount born) {
  const uint64_t delivered_before = delivered_, early_before = early_;
  delivered_ = Sum(&DelaySink::delivered);
  early_ = Sum(&DelaySink::early);
  const uint64_t generated = born_before + born.packets;
  if (when.end == times_.start) born_before_start_ = generated;
  if (when.end > times_.start && when.end <= times_.end) {
    account_.delivered_then += delivered_ - delivered_before;
    population_sum_ +=
        when.inner.size() * (born_before - delivered_before) + born.early - (early_ - early_before);
    periods_measured_ += when.inner.size();
    if (ends_period) {
      population_sum_ += generated - delivered_;
      ++periods_measured_;
    }
    if (when.end == times_.end) account_.born_measured = generated - born_before_start_;
  }
  account_.end = when.end;
  account_.generated = generated;
  if (when.end >= times_.end) {
    complete_.store(Sum(&DelaySink::measured) == account_.born_measured, std::memory_order_relaxed);
  }
  sunk_.store(when.end, std::memory_order_release);
  sunk_.notify_one();
}

void Pipeline::OneRun::RunWorker(size_t w) {
  Worker& worker = *workers_[w];
  const bool is_last = w + 1 == workers_.size();
  uint64_t before = 0;
  std::vector<Ticks> inner;
  for (Ticks now = 0; now < times_.give_up;) {
    Handover::Window* taken = nullptr;
    Ticks window_end = 0;
    GroupEnds ends;
    if (w == 0) {
      if (now >= times_.end && (now - times_.end) % times_.period == 0 && IsComplete(now)) break;
      window_end = WindowEnd(now);
      ends.source = &source_;
      ends.classes = classes_;
    } else {
      taken = &workers_[w - 1]->to_next->ToTake();
      if (taken->last) break;
      window_end = taken->end;
      before = taken->before;
      ends.in = &taken->packets;
    }
    Handover::Window* next = nullptr;
    if (is_last) {
      ends.sinks = sinks_.data();
    } else {
      next = &worker.to_next->ToFill();
      ends.out = &next->packets;
    }
    inner.clear();
    Ticks period_end = NextPeriod(now);
    for (; period_end < window_end; period_end = NextPeriod(period_end)) {
      inner.push_back(period_end);
    }
    const WindowPlan& plan = pipeline_.plan_;
    const StageWindow when{now, window_end, plan.bucket_bits, plan.narrow, inner};
    PacketCount generated = worker.RunWindow(ends, when);
    if (taken != nullptr) generated = taken->generated;
    if (is_last) {
      SinkWindow(when, period_end == window_end, before, generated);
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
    if (now == times_.start || now == times_.end) pipeline_.CountLinks(worker);
  }
  if (!is_last) {
    worker.to_next->ToFill().last = true;
    worker.to_next->Filled();
  }
}

Pipeline::Account Pipeline::Run(VirtualSource& source, ClassSource* classes, DelaySink& sink,
                                const Times& times) {
  link_packets_.assign(network_.link_count(), 0);
  OneRun run(*this, source, classes, sink, times);
  const Account account = run.Do();
  sink_bytes_ = run.sinks().size() * sink.bytes();
  for (const DelaySink& one : run.sinks()) sink.Merge(one);
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

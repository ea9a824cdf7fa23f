// SPDX-License-Identifier: Apache-2.0
#include "control/measure/trials_at_once.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <thread>
#include <utility>

namespace bfly::control {
namespace {

constexpr std::chrono::milliseconds kLook{100};

struct PlannedTrial {
  size_t point;
  uint64_t seed;
};

class TrialThreads {
 public:
  TrialThreads(const Experiment& experiment, const std::vector<Point>& points,
               std::vector<PlannedTrial> planned, size_t threads)
      : experiment_(experiment),
        points_(points),
        planned_(std::move(planned)),
        most_ended_(threads),
        running_(threads) {
    for (size_t i = 0; i < threads; ++i) {
      threads_.emplace_back([this] { Work(); });
    }
  }
  ~TrialThreads() { stop_.store(true, std::memory_order_relaxed); }

  absl::Status Watch(Journal& journal, Progress& progress,
                     const std::function<bool(const Progress&)>& on_progress) {
    absl::Status status;
    std::unique_lock lock(mutex_);
    while (running_ > 0 || !ended_.empty()) {
      if (ended_.empty()) changed_.wait_for(lock, kLook);
      const std::vector<Ended> ended = std::exchange(ended_, {});
      lock.unlock();
      taken_.notify_all();
      for (const Ended& one : ended) status.Update(Keep(one, journal, progress));
      const size_t begun = std::min(next_.load(std::memory_order_relaxed), planned_.size() - 1);
      progress.point = points_[planned_[begun].point].ToString();
      progress.seed = planned_[begun].seed;
      if (!on_progress(progress)) status.Update(absl::CancelledError("between two trials"));
      if (!status.ok()) stop_.store(true, std::memory_order_relaxed);
      lock.lock();
    }
    return status;
  }

 private:
  struct Ended {
    size_t point;
    absl::StatusOr<Trial> trial;
  };

  static absl::Status Keep(const Ended& one, Journal& journal, Progress& progress) {
    if (!one.trial.ok()) return one.trial.status();
    ++progress.done;
    return journal.Add(one.point, *one.trial);
  }

  bool stopped() const { return stop_.load(std::memory_order_relaxed); }

  void Work() {
    for (size_t number; !stopped() && (number = next_.fetch_add(1)) < planned_.size();) {
      const PlannedTrial& planned = planned_[number];
      Ended ended{planned.point, experiment_.Run(points_[planned.point], planned.seed,
                                                 [this] { return stopped(); })};
      std::unique_lock lock(mutex_);
      ended_.push_back(std::move(ended));
      changed_.notify_one();
      // A kill loses what is not kept yet, so no thread runs far ahead.
      taken_.wait(lock, [this] { return ended_.size() < most_ended_; });
    }
    const std::lock_guard lock(mutex_);
    --running_;
    changed_.notify_one();
  }

  const Experiment& experiment_;
  const std::vector<Point>& points_;
  const std::vector<PlannedTrial> planned_;
  std::atomic<size_t> next_{0};    // the first trial that no thread has begun
  std::atomic<bool> stop_{false};  // the calling thread writes, the others load
  std::mutex mutex_;
  std::condition_variable changed_;  // a trial or a thread has ended
  std::condition_variable taken_;    // ended_ is empty
  const size_t most_ended_;
  std::vector<Ended> ended_;  // that the calling thread has not kept yet; under mutex_
  size_t running_;            // threads; under mutex_
  std::vector<std::jthread> threads_;
};

}  // namespace

int TrialsAtOnce(const Experiment& experiment, int asked) {
  if (asked > 0) return experiment.TrialsAtOnce(std::numeric_limits<int>::max()) > 1 ? asked : 1;
  const auto cpus = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  return std::clamp(experiment.TrialsAtOnce(cpus), 1, kMaxTrialsAtOnce);
}

absl::Status RunTrialsAtOnce(const Experiment& experiment, const std::vector<Point>& points,
                             int at_once, Journal& journal, Progress progress,
                             const std::function<bool(const Progress&)>& on_progress) {
  std::vector<PlannedTrial> planned;
  for (size_t point = 0; point < points.size(); ++point) {
    for (const uint64_t seed : experiment.SeedsAt(points[point])) {
      if (journal.Find(point, seed) != nullptr) {
        ++progress.done;
      } else {
        planned.push_back({point, seed});
      }
    }
  }
  if (planned.empty()) return absl::OkStatus();
  const size_t threads = std::min(planned.size(), static_cast<size_t>(std::max(at_once, 1)));
  TrialThreads trials(experiment, points, std::move(planned), threads);
  return trials.Watch(journal, progress, on_progress);
}

}  // namespace bfly::control

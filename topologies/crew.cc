// SPDX-License-Identifier: Apache-2.0
#include "topologies/crew.h"

#include <utility>

namespace bfly {
namespace {

// A worker that waits for the next round spins this often before it sleeps. Rounds follow each
// other within microseconds, and waking a thread takes longer. But a worker must not occupy a core
// for long while another worker waits for that core.
constexpr int kSpins = 4000;

inline void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

template <typename T>
void WaitWhile(const std::atomic<T>& value, T old) {
  for (int spin = 0; spin < kSpins; ++spin) {
    if (value.load(std::memory_order_acquire) != old) return;
    Pause();
  }
  value.wait(old, std::memory_order_acquire);
}

}  // namespace

Crew::Crew(int workers)
    : workers_(workers), parts_(std::make_unique<Part[]>(static_cast<size_t>(workers))) {
  for (int worker = 1; worker < workers; ++worker) {
    threads_.emplace_back([this, worker] { Loop(worker); });
  }
}

Crew::Crew(int workers, std::vector<NodeBlock> blocks)
    : workers_(workers), blocks_(std::move(blocks)) {}

Crew::~Crew() {
  stop_.store(true, std::memory_order_relaxed);
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
}

void Crew::Do(size_t count, const Call& call) {
  call_ = call;
  Start(count);
  Work(0);
  Finish();
}

void Crew::Start(size_t count) {
  const auto workers = static_cast<size_t>(workers_);
  for (size_t w = 0; w < workers; ++w) {
    parts_[w].next.store(count * w / workers, std::memory_order_relaxed);
    parts_[w].end = count * (w + 1) / workers;
  }
  done_.store(0, std::memory_order_relaxed);
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
}

void Crew::Work(int worker) {
  for (int i = 0; i < workers_; ++i) {
    Part& part = parts_[static_cast<size_t>((worker + i) % workers_)];
    for (size_t index; (index = part.next.fetch_add(1, std::memory_order_relaxed)) < part.end;) {
      call_(worker, index);
    }
  }
}

void Crew::Finish() {
  for (int done; (done = done_.load(std::memory_order_acquire)) != workers_ - 1;) {
    WaitWhile(done_, done);
  }
}

void Crew::Loop(int worker) {
  for (uint64_t seen = 0;; ++seen) {
    WaitWhile(round_, seen);
    if (stop_.load(std::memory_order_relaxed)) return;
    Work(worker);
    done_.fetch_add(1, std::memory_order_release);
    done_.notify_one();
  }
}

}  // namespace bfly

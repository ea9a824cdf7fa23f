// SPDX-License-Identifier: Apache-2.0
// Threads that share out a loop: the blocks of a stage group, the columns of a round, the
// sub-networks of a network.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

namespace bfly {

class Crew {
 public:
  // The calling thread is worker 0; the others start here and end with the crew. `workers` is at
  // least 1, and a crew of one has no threads.
  explicit Crew(int workers);
  ~Crew();

  int workers() const { return workers_; }

  // Calls task(worker, index) once for every index below `count` and returns when all are done.
  // Each worker begins with a part of its own, the same every time, so that what it left in its
  // cache is of use, and then takes over what others have not begun.
  template <typename Task>
  void ForEach(size_t count, Task&& task) {
    if (workers_ == 1 || count == 1) {
      for (size_t index = 0; index < count; ++index) task(0, index);
      return;
    }
    call_ = [](void* context, int worker, size_t index) {
      (*static_cast<std::remove_reference_t<Task>*>(context))(worker, index);
    };
    context_ = &task;
    Start(count);
    Work(0);
    Finish();
  }

  // Calls task(worker, first, last) for the parts first..last-1 of 0..count-1, each of `length` but
  // the last, and returns when all are done. Where a part begins does not depend on the crew.
  template <typename Task>
  void ForEachPart(size_t count, size_t length, Task&& task) {
    ForEach((count + length - 1) / length, [&](int worker, size_t part) {
      task(worker, part * length, std::min(count, (part + 1) * length));
    });
  }

 private:
  // Indices next..end-1 of a worker's part are not begun.
  struct alignas(64) Part {
    std::atomic<size_t> next{0};
    size_t end = 0;
  };

  void Start(size_t count);
  void Work(int worker);
  void Finish();
  void Loop(int worker);

  const int workers_;
  void (*call_)(void*, int, size_t) = nullptr;
  void* context_ = nullptr;
  std::unique_ptr<Part[]> parts_;
  // Worker 0: writes, others: acquire; a new round begins with each change.
  alignas(64) std::atomic<uint64_t> round_{0};
  std::atomic<bool> stop_{false};  // written before the last round
  // Others that have no more work in this round. They: write, worker 0: acquires.
  alignas(64) std::atomic<int> done_{0};
  std::vector<std::jthread> threads_;
};

}  // namespace bfly

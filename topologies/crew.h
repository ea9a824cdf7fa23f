// SPDX-License-Identifier: Apache-2.0
// A crew is a set of threads that share the iterations of a loop: the blocks of a stage group, the
// columns of a round, the sub-networks of a network.
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
  // The calling thread is worker 0. The other threads start here and end with the crew. `workers`
  // is at least 1, and a crew of one has no threads.
  explicit Crew(int workers);
  ~Crew();

  int workers() const { return workers_; }

  // Calls task(worker, index) once for every index below `count` and returns when all calls are
  // done. Each worker begins with its own part, the same one in every call, so that its cache may
  // still hold what the part needs. Then the worker takes over indices that other workers have not
  // begun.
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

  // Cuts 0..count-1 into parts of `length` (the last part may be shorter), calls task(worker,
  // first, last) for each part first..last-1, and returns when all calls are done. The parts do not
  // depend on the number of workers.
  template <typename Task>
  void ForEachPart(size_t count, size_t length, Task&& task) {
    ForEach((count + length - 1) / length, [&](int worker, size_t part) {
      task(worker, part * length, std::min(count, (part + 1) * length));
    });
  }

 private:
  // Indices next..end-1 of a worker's part have not been begun.
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
  // Worker 0 writes, the others acquire. Every change begins a new round.
  alignas(64) std::atomic<uint64_t> round_{0};
  std::atomic<bool> stop_{false};  // written before the last round
  // The number of other workers that have finished this round. They write, worker 0 acquires.
  alignas(64) std::atomic<int> done_{0};
  std::vector<std::jthread> threads_;
};

}  // namespace bfly

// SPDX-License-Identifier: Apache-2.0
// A crew is a set of workers that share the iterations of a loop: the blocks of a stage group, the
// columns of a round, the sub-networks of a network. Its workers are threads of its own, or what a
// class derived from Crew says: the workers of a running fabric.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "topologies/wiring.h"

namespace bfly {

// The nodes of a network at the levels first_level..end_level-1 and the rows first_row..end_row-1.
struct NodeBlock {
  int first_level = 0;
  int end_level = 0;
  Row first_row = 0;
  Row end_row = 0;
};

class Crew {
 public:
  // The calling thread is worker 0. The other threads start here and end with the crew. `workers`
  // is at least 1, and a crew of one has no threads.
  explicit Crew(int workers);
  virtual ~Crew();

  int workers() const { return workers_; }

  // Where workers own the nodes of a network, the blocks that have one owner: every node is in one
  // of them. Empty: nobody owns a node.
  const std::vector<NodeBlock>& blocks() const { return blocks_; }

  // Calls task(worker, index) once for every index below `count` and returns when all calls are
  // done. Each worker begins with its own part, the same one in every call, so that its cache may
  // still hold what the part needs. Then the worker takes over indices that other workers have not
  // begun. Where workers own blocks and `count` is their number, the owner of block `index` makes
  // the call, and nobody else.
  template <typename Task>
  void ForEach(size_t count, Task&& task) {
    if (blocks_.empty() && (workers_ == 1 || count == 1)) {
      for (size_t index = 0; index < count; ++index) task(0, index);
      return;
    }
    Do(count, {[](void* context, int worker, size_t index) {
                 (*static_cast<std::remove_reference_t<Task>*>(context))(worker, index);
               },
               &task});
  }

  // Calls task() and returns when it is done. A program calls it once, with all that calls ForEach:
  // a crew that is not made of threads of its own may have a worker make the call.
  template <typename Task>
  void Lead(Task&& task) {
    if (blocks_.empty()) return task();
    DoLead({[](void* context, int, size_t) {
              (*static_cast<std::remove_reference_t<Task>*>(context))();
            },
            &task});
  }

  // Whether the crew has been told to end. From then on ForEach calls nothing, and a loop that
  // calls it should end too.
  bool given_up() const { return given_up_; }

  // Cuts 0..count-1 into parts of `length` (the last part may be shorter), calls task(worker,
  // first, last) for each part first..last-1, and returns when all calls are done. The parts do not
  // depend on the number of workers.
  template <typename Task>
  void ForEachPart(size_t count, size_t length, Task&& task) {
    ForEach((count + length - 1) / length, [&](int worker, size_t part) {
      task(worker, part * length, std::min(count, (part + 1) * length));
    });
  }

 protected:
  // A task of unknown type.
  struct Call {
    void (*call)(void*, int, size_t) = nullptr;
    void* context = nullptr;
    void operator()(int worker, size_t index) const { call(context, worker, index); }
  };

  // For a crew whose workers own blocks: at least one.
  Crew(int workers, std::vector<NodeBlock> blocks);
  virtual void Do(size_t count, const Call& call);
  virtual void DoLead(const Call& call) { call(0, 0); }
  // Called by the thread that calls ForEach.
  void set_given_up(bool given_up) { given_up_ = given_up; }

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
  const std::vector<NodeBlock> blocks_;
  bool given_up_ = false;
  Call call_;
  std::unique_ptr<Part[]> parts_;
  // Worker 0 writes, the others acquire. Every change begins a new round.
  alignas(64) std::atomic<uint64_t> round_{0};
  std::atomic<bool> stop_{false};  // written before the last round
  // The number of other workers that have finished this round. They write, worker 0 acquires.
  alignas(64) std::atomic<int> done_{0};
  std::vector<std::jthread> threads_;
};

}  // namespace bfly

// SPDX-License-Identifier: Apache-2.0
// One FIFO link, plainly: the reference the block-wise FIFO stages are compared with, and the FIFO
// of runs that look closer than those do (percentiles of each stage, coupled sample paths).
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "dataplane/virtual_clock/job.h"
#include "dataplane/virtual_clock/job_queue.h"

namespace bfly::dataplane {

class FifoServer {
 public:
  explicit FifoServer(Ticks service) : service_(service) {}

  // Takes jobs in order of arrival, none after `window_end`, and appends to `out` those that leave
  // before it, in order of departure. Windows come in order.
  void Serve(std::span<const Job> arrivals, Ticks window_end, std::vector<Job>& out) {
    for (const Job& job : arrivals) {
      free_ = std::max(free_, job.time) + service_;
      queue_.push(job.Left(free_));
    }
    for (; !queue_.empty() && queue_.front().time < window_end; queue_.pop()) {
      out.push_back(queue_.front());
    }
  }
  size_t jobs() const { return queue_.size(); }

  // For nodes that pick among links: lets go who has left by `now`, in the moment `now` too, and
  // says how many have not. `now` is not after the next arrival.
  size_t JobsAt(Ticks now, std::vector<Job>& out) {
    for (; !queue_.empty() && queue_.front().time <= now; queue_.pop()) {
      out.push_back(queue_.front());
    }
    return queue_.size();
  }
  // Of two servers with as many jobs the one with the lower value is done first.
  Ticks done_order() const { return queue_.empty() ? 0 : queue_.front().time; }

 private:
  Ticks service_;
  Ticks free_ = 0;  // when it has sent all it was given
  JobQueue<Job> queue_;
};

}  // namespace bfly::dataplane

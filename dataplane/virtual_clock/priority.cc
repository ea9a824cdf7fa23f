// SPDX-License-Identifier: Apache-2.0
#include "dataplane/virtual_clock/priority.h"

namespace bfly::dataplane {

void PriorityServer::StartUntil(Ticks limit) {
  while (waiting_count_ > 0 && free_ < limit) {
    auto queue = waiting_.begin();
    while (queue->empty()) ++queue;
    // Everything that waits arrived at or before free_: an earlier call started what it could.
    free_ += service_;
    on_link_.push(queue->front().Left(free_));
    queue->pop();
    --waiting_count_;
  }
}

void PriorityServer::Serve(std::span<const Job> arrivals, Ticks window_end, std::vector<Job>& out) {
  for (const Job& job : arrivals) {
    StartUntil(job.time);
    // An idle link waits for its next packet.
    if (waiting_count_ == 0 && free_ < job.time) free_ = job.time;
    waiting_[job.priority].push(job);
    ++waiting_count_;
  }
  StartUntil(window_end);
  for (; !on_link_.empty() && on_link_.front().time < window_end; on_link_.pop()) {
    out.push_back(on_link_.front());
  }
}

}  // namespace bfly::dataplane

// SPDX-License-Identifier: Apache-2.0
// One link with classes of packets: when it is free it takes the packet that came first among those
// of the most urgent class, and sends it to its end (non-preemptive, head of the line).
#pragma once

#include <span>
#include <vector>

#include "dataplane/virtual_clock/job.h"
#include "dataplane/virtual_clock/job_queue.h"

namespace bfly::dataplane {

class PriorityServer {
 public:
  PriorityServer(Ticks service, int classes) : service_(service), waiting_(classes) {}

  // As FifoServer::Serve. A packet that arrives in the moment the link becomes free takes part in
  // the choice.
  void Serve(std::span<const Job> arrivals, Ticks window_end, std::vector<Job>& out);
  size_t jobs() const { return waiting_count_ + on_link_.size(); }
  // As in FifoServer.
  size_t JobsAt(Ticks now, std::vector<Job>& out) {
    StartUntil(now);
    for (; !on_link_.empty() && on_link_.front().time <= now; on_link_.pop()) {
      out.push_back(on_link_.front());
    }
    return jobs();
  }
  Ticks done_order() const { return on_link_.empty() ? 0 : on_link_.front().time; }

 private:
  // Starts what can be started before `limit`, at which moment more may arrive.
  void StartUntil(Ticks limit);

  Ticks service_;
  Ticks free_ = 0;                      // when the packet on the link has left
  size_t waiting_count_ = 0;            // packets in waiting_
  std::vector<JobQueue<Job>> waiting_;  // by class
  JobQueue<Job> on_link_;               // started, in order of departure, not yet let go
};

}  // namespace bfly::dataplane

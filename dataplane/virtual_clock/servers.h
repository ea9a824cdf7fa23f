// SPDX-License-Identifier: Apache-2.0
// One link under the virtual clock, of each discipline (dataplane/links/link_server.h), run in
// windows of time. Every packet takes the same time.
#pragma once

#include <span>
#include <vector>

#include "dataplane/links/link_server.h"
#include "dataplane/virtual_clock/job.h"
#include "dataplane/virtual_clock/job_queue.h"

namespace bfly::dataplane {

// The reference with which the block-wise FIFO stages are compared, and the FIFO link of runs that
// measure more than those stages do (percentiles of each stage, coupled sample paths). No later
// arrival changes a departure, so the departure is worked out on arrival.
class FifoServer {
 public:
  explicit FifoServer(Ticks service) : service_(service) {}

  // Takes jobs in order of arrival. No job arrives after `window_end`. Appends the jobs that leave
  // before `window_end` to `out`, in order of departure. Windows come in order.
  void Serve(std::span<const Job> arrivals, Ticks window_end, std::vector<Job>& out) {
    for (const Job& job : arrivals) queue_.push(job.Left(link_.Send(job.time, service_)));
    for (; !queue_.empty() && queue_.front().time < window_end; queue_.pop()) {
      out.push_back(queue_.front());
    }
  }
  size_t jobs() const { return queue_.size(); }

  // For nodes that pick among links: appends the jobs that have left at or before `now` to `out`,
  // and returns how many have not left. `now` is not after the next arrival.
  size_t JobsAt(Ticks now, std::vector<Job>& out) {
    for (; !queue_.empty() && queue_.front().time <= now; queue_.pop()) {
      out.push_back(queue_.front());
    }
    return queue_.size();
  }
  // Of two servers with equally many jobs, the server with the lower value is done first.
  Ticks done_order() const { return queue_.empty() ? 0 : queue_.front().time; }

 private:
  Ticks service_;
  OneAtATime<Ticks> link_;
  JobQueue<Job> queue_;  // in order of departure
};

// Memory for the jobs of one link, as a link server needs it. A link that was empty begins at the
// front again, so that it touches few lines of cache.
class JobStore {
 public:
  uint32_t Put(const Job& job) {
    ++held_;
    uint32_t entry = free_;
    if (entry != 0) {
      free_ = at(entry).next;
    } else {
      if (used_ == jobs_.size()) jobs_.emplace_back();
      entry = ++used_;
    }
    at(entry).packet = job;
    return entry;
  }
  void Give(uint32_t entry) {
    at(entry).next = free_;
    // There is no branch, because whether the link is empty now is as good as random.
    const bool empty = --held_ == 0;
    free_ = empty ? 0 : entry;
    used_ = empty ? 0 : used_;
  }
  Stored<Job>& at(uint32_t entry) { return jobs_[entry - 1]; }

 private:
  std::vector<Stored<Job>> jobs_;
  uint32_t held_ = 0;  // jobs
  uint32_t used_ = 0;  // entries handed out since the link was empty
  uint32_t free_ = 0;  // list of the entries that were given back
};

// The waiting packet of the most urgent class goes next; within a class, the packet that came
// first. A packet that arrives in the moment in which the link becomes free takes part in the
// choice.
class PriorityServer {
 public:
  explicit PriorityServer(Ticks service) : service_(service) {}

  // As FifoServer::Serve.
  void Serve(std::span<const Job> arrivals, Ticks window_end, std::vector<Job>& out);
  size_t jobs() const { return link_.waiting() + begun_.size(); }
  // As in FifoServer.
  size_t JobsAt(Ticks now, std::vector<Job>& out) {
    BeginUntil(now);
    for (; !begun_.empty() && begun_.front().time <= now; begun_.pop()) {
      out.push_back(begun_.front());
    }
    return jobs();
  }
  Ticks done_order() const { return begun_.empty() ? 0 : begun_.front().time; }

 private:
  // Begins to send all packets that can begin before `limit`. At `limit` further packets may
  // arrive.
  void BeginUntil(Ticks limit);

  LinkServer<JobStore> link_;
  Ticks service_;
  JobStore waiting_;
  JobQueue<Job> begun_;  // jobs that have not left yet, in order of departure
};

// Serves all packets at once, each at an equal part of the rate (Stamoulis & Tsitsiklis, section
// 3.2: the deterministic PS server). Because all packets have equal work, they leave in the order
// in which they came. Times of departure are rounded up to a tick.
class SharingServer {
 public:
  // work: how many ticks a packet takes alone, at least 1. Time is kept in 2^-fraction_bits of a
  // tick.
  explicit SharingServer(Ticks work, int fraction_bits = kTickFractionBits)
      : fraction_bits_(fraction_bits), work_(At(work)) {}

  // As FifoServer::Serve.
  void Serve(std::span<const Job> arrivals, Ticks window_end, std::vector<Job>& out);
  size_t jobs() const { return present_.size(); }
  // As in FifoServer. All jobs share the link, so which link finishes a job first says nothing
  // about the work that is left.
  size_t JobsAt(Ticks now, std::vector<Job>& out) {
    DepartUntil(now, out);
    return jobs();
  }
  Ticks done_order() const { return static_cast<Ticks>(link_.free() >> fraction_bits_); }

 private:
  struct Present {
    Job job;
    LinkTime end;  // the V at which the job leaves
  };
  LinkTime At(Ticks tick) const { return LinkTime{tick} << fraction_bits_; }

  // Appends the jobs that have left at or before `last` to `out`.
  void DepartUntil(Ticks last, std::vector<Job>& out);

  int fraction_bits_;
  LinkTime work_;
  Sharing link_;
  JobQueue<Present> present_;
};

}  // namespace bfly::dataplane

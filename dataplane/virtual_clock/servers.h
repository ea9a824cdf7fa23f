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

// The reference the block-wise FIFO stages are compared with, and the FIFO of runs that look closer
// than those do (percentiles of each stage, coupled sample paths). Nothing that comes later changes
// a departure, so it is worked out on arrival.
class FifoServer {
 public:
  explicit FifoServer(Ticks service) : service_(service) {}

  // Takes jobs in order of arrival, none after `window_end`, and appends to `out` those that leave
  // before it, in order of departure. Windows come in order.
  void Serve(std::span<const Job> arrivals, Ticks window_end, std::vector<Job>& out) {
    for (const Job& job : arrivals) queue_.push(job.Left(link_.Send(job.time, service_)));
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
  OneAtATime<Ticks> link_;
  JobQueue<Job> queue_;  // in order of departure
};

// Memory for the jobs of one link, as a link server wants it. A link that was empty begins at the
// front again: the fewer lines of cache it touches, the better.
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
    // No branch: whether the link is empty now is as good as random.
    const bool empty = --held_ == 0;
    free_ = empty ? 0 : entry;
    used_ = empty ? 0 : used_;
  }
  Stored<Job>& at(uint32_t entry) { return jobs_[entry - 1]; }

 private:
  std::vector<Stored<Job>> jobs_;
  uint32_t held_ = 0;  // jobs
  uint32_t used_ = 0;  // entries handed out since the link was empty
  uint32_t free_ = 0;  // list of those that were given back
};

// The waiting packet of the most urgent class goes next, within a class the one that came first.
// One that arrives in the moment the link becomes free takes part in the choice.
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
  // Begins to send what can be begun before `limit`, at which moment more may arrive.
  void BeginUntil(Ticks limit);

  LinkServer<JobStore> link_;
  Ticks service_;
  JobStore waiting_;
  JobQueue<Job> begun_;  // in order of departure, not yet let go
};

// All packets at once, each at an equal part of the rate (Stamoulis & Tsitsiklis, section 3.2: the
// deterministic PS server). With equal work they leave in the order they came. Times of departure
// are rounded up to a tick.
class SharingServer {
 public:
  // work: ticks a packet takes alone, at least 1. Time is kept in 2^-fraction_bits of a tick.
  explicit SharingServer(Ticks work, int fraction_bits = kTickFractionBits)
      : fraction_bits_(fraction_bits), work_(At(work)) {}

  // As FifoServer::Serve.
  void Serve(std::span<const Job> arrivals, Ticks window_end, std::vector<Job>& out);
  size_t jobs() const { return present_.size(); }
  // As in FifoServer. All jobs share the link, so which link is done with one of them says nothing
  // about what is left to send.
  size_t JobsAt(Ticks now, std::vector<Job>& out) {
    DepartUntil(now, out);
    return jobs();
  }
  Ticks done_order() const { return static_cast<Ticks>(link_.free() >> fraction_bits_); }

 private:
  struct Present {
    Job job;
    LinkTime end;  // the V at which it leaves
  };
  LinkTime At(Ticks tick) const { return LinkTime{tick} << fraction_bits_; }

  // Lets go who has left by `last`, in that moment too.
  void DepartUntil(Ticks last, std::vector<Job>& out);

  int fraction_bits_;
  LinkTime work_;
  Sharing link_;
  JobQueue<Present> present_;
};

}  // namespace bfly::dataplane

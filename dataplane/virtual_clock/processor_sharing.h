// SPDX-License-Identifier: Apache-2.0
// One link that sends all its packets at once, each at an equal part of its rate (Stamoulis &
// Tsitsiklis, section 3.2: the deterministic PS server).
//
// With equal work the packets leave in the order they came. Let V(t) be what a packet that was
// always there would have received by t: dV/dt = 1/n with n packets. One that arrives at t leaves
// when V reaches V(t) + work, so only the oldest one's departure has to be computed, and only
// arrivals and departures change n.
//
// Times of departure are rounded up to a tick. Inside, V is kept to 2^-32 of a tick and rounded
// down, and whenever one packet is left alone it is set anew from the work that is left, which is
// known exactly. A departure is therefore never early, and late by less than a tick: D(FIFO) <=
// D(PS) (Lemma 7) cannot be broken by rounding.
#pragma once

#include <span>
#include <vector>

#include "dataplane/virtual_clock/job.h"
#include "dataplane/virtual_clock/job_queue.h"

namespace bfly::dataplane {

class SharingServer {
 public:
  // work: ticks a packet takes alone, at least 1.
  explicit SharingServer(Ticks work) : work_(work) {}

  // As FifoServer::Serve.
  void Serve(std::span<const Job> arrivals, Ticks window_end, std::vector<Job>& out);
  size_t jobs() const { return queue_.size(); }
  // As in FifoServer. All jobs share the link, so which link is done with one of them says nothing
  // about what is left to send.
  size_t JobsAt(Ticks now, std::vector<Job>& out) {
    DepartUntil(now, out);
    return queue_.size();
  }
  Ticks done_order() const { return all_done_; }

 private:
  using Fine = unsigned __int128;  // 2^-32 ticks
  static constexpr int kFineBits = 32;

  struct Sharer {
    Job job;
    Fine target;  // leaves when attained_ reaches it
  };

  void Join(const Job& job);
  // Lets go who has left by `limit`.
  void DepartUntil(Ticks limit, std::vector<Job>& out);

  Ticks work_;
  Ticks all_done_ = 0;  // when it would have sent all it was given, exactly
  Fine last_ = 0;       // time of the last arrival or departure
  Fine attained_ = 0;   // V at `last_`, counted from the start of the busy period
  JobQueue<Sharer> queue_;
};

}  // namespace bfly::dataplane

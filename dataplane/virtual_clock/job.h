// SPDX-License-Identifier: Apache-2.0
// A packet in a network of servers, and which links are servers of their own.
#pragma once

#include "dataplane/virtual_clock/boundary.h"

namespace bfly::dataplane {

// Which nodes share a link.
enum class LinkModel {
  kEdge,          // every (node, port) has a link of its own, as in the papers
  kSwitchOutput,  // for one port per direction: all nodes with a link into the same node share one
                  // link into it, as in 2x2 switches and k-ary n-flies
};

// A packet in a network of servers.
struct Job {
  Ticks time = 0;         // when the job arrives at the node that handles it next
  Ticks birth = 0;        // when the job was generated
  WireTag tag = 0;        // directions of the hops to come, the next one in the top bit
  Ticks entered = 0;      // when the job reached the server that it left last
  uint32_t priority = 0;  // class; 0 is the most urgent

  // The same packet after one hop.
  Job Left(Ticks departure) const { return {departure, birth, tag << 1, time, priority}; }
};

inline Ticks ArrivalOf(const Job& job) { return job.time; }
inline uint64_t UrgencyOf(const Job& job) { return job.priority; }

}  // namespace bfly::dataplane

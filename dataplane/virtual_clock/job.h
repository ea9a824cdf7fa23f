// SPDX-License-Identifier: Apache-2.0
// A packet in a network of servers, and which links are servers of their own.
#pragma once

#include "dataplane/virtual_clock/boundary.h"

namespace bfly::dataplane {

// Who shares a link.
enum class LinkModel {
  kEdge,          // every (node, port) has a link of its own, as in the papers
  kSwitchOutput,  // one port a direction: the nodes that lead to one node share its one link: 2x2
                  // switches, k-ary n-flies
};

// A packet in a network of servers.
struct Job {
  Ticks time = 0;         // of arrival at the node that handles it next
  Ticks birth = 0;        // of generation
  WireTag tag = 0;        // directions of the hops to come, the next one in the top bit
  Ticks entered = 0;      // when it reached the server it left last
  uint32_t priority = 0;  // class; 0 is the most urgent

  // The same packet after one hop.
  Job Left(Ticks departure) const { return {departure, birth, tag << 1, time, priority}; }
};

inline Ticks ArrivalOf(const Job& job) { return job.time; }
inline uint64_t UrgencyOf(const Job& job) { return job.priority; }

}  // namespace bfly::dataplane

// SPDX-License-Identifier: Apache-2.0
// The memory that a network takes, besides what the file sets aside (memory_mb, queue_memory_mb).
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "dataplane/core/config.h"
#include "dataplane/stages/plan.h"
#include "topologies/network.h"

namespace bfly::dataplane {

// The bytes that loading takes for the stages first..last: the counters of their links, the
// counters of fused stages (at most), and the route of every input row.
uint64_t MemoryNeed(const Network& network, int first_stage, int last_stage);

// The bytes that the segments of a plan take: their batches, the lanes and rings to the segments
// that follow (or one way out), and their tables of rows. It asks for the head of every link that
// leads from one segment to another.
uint64_t SegmentMemoryNeed(const Network& network, const FabricPlan& plan);

// The bytes that the stages first..last take for links that keep packets, because they take time or
// share it. CheckLinkPlan has accepted the plan. Waiting packets lie in queue_memory_mb.
uint64_t TimedMemoryNeed(const Network& network, const LinkPlan& links, int first_stage,
                         int last_stage);

// ResourceExhausted, with both numbers, if `need` is more than `available`. `for_what` and what to
// use `instead` are in the message.
absl::Status CheckMemoryNeed(const Network& network, uint64_t need, uint64_t available,
                             const char* for_what = "the stages and blocks of rows placed here",
                             const char* instead =
                                 "fewer rows or blocks of rows, or place stages "
                                 "on other machines");

// The bytes that this process can have without swapping: what the kernel has, and what is left of
// the limit of each cgroup (version 2) that it is in. UINT64_MAX if nothing tells.
uint64_t AvailableMemory();
// What is left of the limit of one cgroup: memory.max less what is in use, not counting files that
// the kernel can drop. UINT64_MAX: `directory` has no limit.
uint64_t LeftInCgroup(const std::string& directory);

}  // namespace bfly::dataplane

// SPDX-License-Identifier: Apache-2.0
// The memory that a network takes, besides what the file sets aside (memory_mb, queue_memory_mb).
#pragma once

#include <cstdint>

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

// ResourceExhausted, with both numbers, if `need` is more than `available`. `for_what` is in the
// message.
absl::Status CheckMemoryNeed(const Network& network, uint64_t need, uint64_t available,
                             const char* for_what = "the stages and blocks of rows placed here");

// The bytes that the kernel can give without swapping, or UINT64_MAX if the kernel does not tell.
uint64_t AvailableMemory();

}  // namespace bfly::dataplane

// SPDX-License-Identifier: Apache-2.0
// The memory that a network takes, besides what the file sets aside (memory_mb, queue_memory_mb).
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "dataplane/core/config.h"
#include "topologies/network.h"

namespace bfly::dataplane {

// The bytes that loading takes for the stages first..last: the counters of their links, the
// counters of fused stages (at most), and the route of every input row.
uint64_t MemoryNeed(const Network& network, int first_stage, int last_stage);

// ResourceExhausted, with both numbers, if `need` is more than `available`. `for_what` is in the
// message.
absl::Status CheckMemoryNeed(const Network& network, uint64_t need, uint64_t available,
                             const char* for_what = "the counters of the stages placed here");

// The bytes that the kernel can give without swapping, or UINT64_MAX if the kernel does not tell.
uint64_t AvailableMemory();

}  // namespace bfly::dataplane

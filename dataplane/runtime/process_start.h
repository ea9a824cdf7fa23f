// SPDX-License-Identifier: Apache-2.0
// Identifies a process by its number and start time. Numbers are reused; the pair is not.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace bfly::dataplane {

// Returns the clock ticks after boot at which process `pid` started. Returns 0 if there is no such
// process, or if it is a zombie, that is, has ended with all of its threads and waits for its
// parent. If init does not collect orphans, a zombie stays for ever.
uint64_t ProcessStart(pid_t pid);

}  // namespace bfly::dataplane

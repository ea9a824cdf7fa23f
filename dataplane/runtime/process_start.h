// SPDX-License-Identifier: Apache-2.0
// Identifies a process by its number and start time. Numbers are reused; the pair is not.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace bfly::dataplane {

// Clock ticks after boot at which process `pid` started. Returns 0 if there is no such process, or
// if it ended with all of its threads and only waits for its parent (a zombie). A zombie serves
// nobody, and if init does not collect orphans it stays for ever.
uint64_t ProcessStart(pid_t pid);

}  // namespace bfly::dataplane

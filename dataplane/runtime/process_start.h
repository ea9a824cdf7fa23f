// SPDX-License-Identifier: Apache-2.0
// Which process a number stood for when it was written down: numbers are given out again, the time
// of start is not.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace bfly::dataplane {

// Clock ticks after boot at which process `pid` was started. 0 if there is none, or if it has ended
// with all of its threads and only waits for its parent (a zombie): that one serves nobody, and
// under an init that collects no orphans it stays for ever.
uint64_t ProcessStart(pid_t pid);

}  // namespace bfly::dataplane

// SPDX-License-Identifier: Apache-2.0
// How soon a thread that serves calls gets a CPU where others want them too.
#pragma once

namespace bfly::control {

// Asks the kernel to give this thread, and threads that it starts later, the CPU for a tenth of a
// millisecond at a time instead of some milliseconds. Their share of the CPU stays what it was, but
// a thread that wakes up gets its turn before threads with longer slices, such as poll-mode
// workers. Linux does so since 6.12; before that, and where the call is not allowed, nothing
// changes.
void TakeShortSlices();

}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
// The size of the terminal, and the signals that end or resize what is shown on it.
#pragma once

#include "control/top/line.h"

namespace bfly::control {

// Blocks SIGINT, SIGTERM, SIGWINCH and, unless it is ignored, SIGHUP in this thread and in the
// threads that it starts later, and reads the signals from a descriptor. Make it before the first
// thread.
class SignalReader {
 public:
  SignalReader();
  ~SignalReader();
  SignalReader(const SignalReader&) = delete;
  SignalReader& operator=(const SignalReader&) = delete;
  int descriptor() const { return descriptor_; }
  // Returns the next pending signal, or 0.
  int Next();

 private:
  int descriptor_ = -1;
};

// Reads the pending signals and returns whether one of them asks to end.
bool Interrupted(SignalReader& signals);

// The size of the terminal on standard output, and whether colours may be used (not with NO_COLOR
// or TERM=dumb). 80 columns of 24 lines without colours if it is not a terminal.
Canvas TerminalCanvas();

}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
// The terminal of a live drawing, and the signals that end or resize it.
#pragma once

#include <string>
#include <vector>

#include "control/cli/picture.h"

namespace bfly::control {

// Blocks SIGINT, SIGTERM and SIGWINCH in this thread and in the threads that it starts later, and
// reads the signals from a descriptor. Make it before the first thread.
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

// A full-screen drawing. If the output is not a terminal it does nothing, and is_terminal() returns
// false. The destructor restores the screen.
class Screen {
 public:
  Screen();
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  bool is_terminal() const { return terminal_; }
  Canvas canvas() const;
  void Draw(const std::vector<std::string>& lines);

 private:
  bool terminal_ = false;
};

}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
// The terminal under a live drawing, and the signals that end or resize it.
#pragma once

#include <string>
#include <vector>

#include "control/cli/picture.h"

namespace bfly::control {

// Blocks SIGINT, SIGTERM and SIGWINCH in this thread and those started after, and reads them from a
// descriptor instead. Make it before the first thread.
class SignalReader {
 public:
  SignalReader();
  ~SignalReader();
  SignalReader(const SignalReader&) = delete;
  SignalReader& operator=(const SignalReader&) = delete;
  int descriptor() const { return descriptor_; }
  // The next signal that waits, or 0.
  int Next();

 private:
  int descriptor_ = -1;
};

// Whether a signal came that asks to end.
bool Interrupted(SignalReader& signals);

// A full-screen drawing. On anything that is no terminal it is inert and is_terminal() says so. The
// destructor gives the screen back as it was.
class Screen {
 public:
  Screen();
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  bool is_terminal() const { return terminal_; }
  // The room there is now, and whether colours may be used (NO_COLOR, TERM=dumb: no).
  Canvas canvas() const;
  void Draw(const std::vector<std::string>& lines);

 private:
  bool terminal_ = false;
};

}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
#include "control/cli/terminal.h"

#include <signal.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace bfly::control {

SignalReader::SignalReader() {
  sigset_t set;
  sigemptyset(&set);
  for (int signal : {SIGINT, SIGTERM, SIGWINCH}) sigaddset(&set, signal);
  // Under nohup the end of the terminal ends nothing. A blocked signal would be read nevertheless.
  struct sigaction of_hang_up = {};
  if (sigaction(SIGHUP, nullptr, &of_hang_up) == 0 && of_hang_up.sa_handler != SIG_IGN) {
    sigaddset(&set, SIGHUP);
  }
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  descriptor_ = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

SignalReader::~SignalReader() {
  if (descriptor_ >= 0) close(descriptor_);
}

int SignalReader::Next() {
  signalfd_siginfo info;
  return read(descriptor_, &info, sizeof(info)) == sizeof(info) ? static_cast<int>(info.ssi_signo)
                                                                : 0;
}

bool Interrupted(SignalReader& signals) {
  for (int signal = signals.Next(); signal != 0; signal = signals.Next()) {
    if (signal != SIGWINCH) return true;
  }
  return false;
}

Canvas TerminalCanvas() {
  Canvas canvas;
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0)
    canvas = {.columns = size.ws_col, .lines = size.ws_row};
  const char* term = getenv("TERM");
  const char* no_colour = getenv("NO_COLOR");
  canvas.colour = isatty(STDOUT_FILENO) == 1 && (no_colour == nullptr || *no_colour == '\0') &&
                  term != nullptr && strcmp(term, "dumb") != 0;
  return canvas;
}

}  // namespace bfly::control

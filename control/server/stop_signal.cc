// SPDX-License-Identifier: Apache-2.0
#include "control/server/stop_signal.h"

#include <unistd.h>

namespace bfly::control {

StopSignal::StopSignal() {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGTERM);
  sigaddset(&signals_, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

void StopSignal::Wait() const {
  int signal_number = 0;
  while (sigwait(&signals_, &signal_number) != 0) {
  }
}

bool StopSignal::WaitFor(std::chrono::milliseconds timeout) const {
  const timespec time{.tv_sec = timeout.count() / 1000,
                      .tv_nsec = timeout.count() % 1000 * 1'000'000};
  return sigtimedwait(&signals_, nullptr, &time) > 0;
}

void StopSignal::Request() { kill(getpid(), SIGTERM); }

}  // namespace bfly::control

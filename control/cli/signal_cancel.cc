// SPDX-License-Identifier: Apache-2.0
#include "control/cli/signal_cancel.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>

namespace bfly::control {

SignalCancel::SignalCancel(grpc::ClientContext& context) : context_(context) {
  if (pipe(over_) != 0) {
    status_ = absl::ErrnoToStatus(errno, "pipe");
    return;
  }
  thread_ = std::thread([this] { Wait(); });
}

SignalCancel::~SignalCancel() {
  if (!thread_.joinable()) return;
  close(over_[1]);
  thread_.join();
  close(over_[0]);
}

void SignalCancel::Wait() {
  pollfd ends[] = {{.fd = signals_.descriptor(), .events = POLLIN, .revents = 0},
                   {.fd = over_[0], .events = POLLIN, .revents = 0}};
  for (;;) {
    if (poll(ends, 2, -1) < 0) continue;
    if (ends[1].revents != 0) return;
    if (!Interrupted(signals_)) continue;
    interrupted_ = true;  // set before the call ends because of it
    context_.TryCancel();
    return;
  }
}

}  // namespace bfly::control

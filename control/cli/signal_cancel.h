// SPDX-License-Identifier: Apache-2.0
// A stream that goes on until Ctrl-C.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <thread>

#include "absl/status/status.h"
#include "control/cli/terminal.h"

namespace bfly::control {

// Cancels the call of `context` when SIGINT, SIGTERM or SIGHUP comes. Make it before gRPC starts
// threads.
class SignalCancel {
 public:
  explicit SignalCancel(grpc::ClientContext& context);
  // Returns at once. The call may go on.
  ~SignalCancel();
  SignalCancel(const SignalCancel&) = delete;
  SignalCancel& operator=(const SignalCancel&) = delete;

  // An error says that no signal can be waited for.
  const absl::Status& status() const { return status_; }
  // Whether a signal came; then the call ended because of it.
  bool interrupted() const { return interrupted_; }

 private:
  void Wait();

  SignalReader signals_;
  grpc::ClientContext& context_;
  int over_[2] = {-1, -1};
  absl::Status status_;
  std::atomic<bool> interrupted_ = false;
  std::thread thread_;
};

}  // namespace bfly::control

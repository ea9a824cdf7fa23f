// SPDX-License-Identifier: Apache-2.0
// Two network interfaces that a bench makes for itself, and the frames through them.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace bfly::control {

// The kernel's TAP interfaces bf0 and bf1 in a network namespace that nobody else uses. The calling
// thread, and every thread and process that it starts later, are in this namespace; so make it
// before the first thread. The namespace goes with its last process, and the interfaces with the
// pair.
class TapPair {
 public:
  static constexpr const char* kNames[2] = {"bf0", "bf1"};

  // PERMISSION_DENIED: this takes CAP_SYS_ADMIN and CAP_NET_ADMIN. UNAVAILABLE: the kernel has no
  // TAP interfaces.
  static absl::StatusOr<std::unique_ptr<TapPair>> Make();
  ~TapPair();
  TapPair(const TapPair&) = delete;
  TapPair& operator=(const TapPair&) = delete;

  // Hands a frame to interface `which`, as if it had come over its wire. It is lost if nobody
  // receives there.
  void Send(int which, const std::string& frame);
  // Waits for a frame that leaves by interface `which`. Returns false if none has left in time.
  bool Receive(int which, std::chrono::milliseconds patience, std::string* frame);

 private:
  TapPair() = default;
  int descriptors_[2] = {-1, -1};
};

}  // namespace bfly::control

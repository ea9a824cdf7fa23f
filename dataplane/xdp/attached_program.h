// SPDX-License-Identifier: Apache-2.0
// The XDP program on a kernel interface: bfly's own, or one that the user names by xdp_prog=.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace bfly::dataplane {

class AttachedProgram {
 public:
  // No program.
  AttachedProgram() = default;
  // The program that the interface has now, or none. Unavailable: the kernel does not tell.
  static absl::StatusOr<AttachedProgram> On(const std::string& interface, int index);
  // The program on the interface of `device`, which the user named by xdp_prog= and DPDK has
  // attached. None for other devices, and if the kernel does not tell.
  static AttachedProgram OfUser(absl::string_view device);

  uint32_t id() const { return id_; }  // the kernel's number for the program; 0: no program

  // Takes the program off the interface: every frame passes to the kernel. Unavailable: the
  // interface has another program or none.
  absl::Status Detach() const;

 private:
  std::string interface_;
  int index_ = 0;
  uint32_t id_ = 0;
};

}  // namespace bfly::dataplane

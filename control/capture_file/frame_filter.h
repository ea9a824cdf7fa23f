// SPDX-License-Identifier: Apache-2.0
// A filter of frames, written as for tcpdump (pcap-filter(7)).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace bfly::control {

class FrameFilter {
 public:
  // InvalidArgument says what libpcap finds wrong. An empty expression passes every frame.
  static absl::StatusOr<FrameFilter> Compile(const std::string& expression, uint32_t snaplen);

  // `data` has the first bytes of an Ethernet frame of `length` bytes.
  bool Passes(absl::string_view data, uint32_t length) const;

  // The expression reads no byte behind so many first bytes of a frame. UINT32_MAX: what it reads
  // depends on the frame, as in 'tcp[(tcp[12] & 0xf0) >> 2] = 22'.
  uint32_t bytes_read() const;

 private:
  struct Program;
  std::shared_ptr<const Program> program_;  // null: everything passes
};

}  // namespace bfly::control

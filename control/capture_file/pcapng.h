// SPDX-License-Identifier: Apache-2.0
// Writes pcapng (IETF draft-ietf-opsawg-pcapng): Ethernet frames with nanoseconds, names of
// interfaces and comments. libpcap writes neither names nor comments.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace bfly::control {

struct PcapngFrame {
  enum class Direction { kUnknown, kIn, kOut };
  uint32_t interface = 0;  // interfaces are numbered from 0 in the order of their blocks
  uint64_t time_ns = 0;    // Unix time
  uint32_t length = 0;     // of the whole frame
  absl::string_view data;  // its first bytes
  Direction direction = Direction::kUnknown;
  std::string comment;  // empty: none
};

// Each function returns one block of the file. Numbers are in the machine's byte order, which the
// first block tells. The section comes first, and each interface before its first frame.
std::string PcapngSection(absl::string_view application);
std::string PcapngInterface(absl::string_view name, absl::string_view description,
                            uint32_t snaplen);
std::string PcapngPacket(const PcapngFrame& frame);

}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
#include "control/capture_file/pcapng.h"

#include <algorithm>
#include <cstring>

namespace bfly::control {
namespace {

constexpr uint32_t kSectionBlock = 0x0a0d0d0a;
constexpr uint32_t kInterfaceBlock = 1;
constexpr uint32_t kPacketBlock = 6;
constexpr uint32_t kByteOrderMagic = 0x1a2b3c4d;
constexpr uint16_t kEthernet = 1;
// Numbers of options; 1 is a comment in every block.
constexpr uint16_t kComment = 1;
constexpr uint16_t kUserApplication = 4;
constexpr uint16_t kInterfaceName = 2;
constexpr uint16_t kInterfaceDescription = 3;
constexpr uint16_t kTimeResolution = 9;
constexpr uint16_t kPacketFlags = 2;
constexpr size_t kMostOption = 65'535;

template <typename Number>
void Append(std::string& out, Number number) {
  char bytes[sizeof(number)];
  std::memcpy(bytes, &number, sizeof(number));
  out.append(bytes, sizeof(bytes));
}

// Blocks and options are padded to 32 bits.
void AppendPadded(std::string& out, absl::string_view bytes) {
  out.append(bytes.data(), bytes.size());
  out.append((4 - bytes.size() % 4) % 4, '\0');
}

void AppendOption(std::string& out, uint16_t number, absl::string_view value) {
  if (value.empty()) return;
  value = value.substr(0, kMostOption);
  Append(out, number);
  Append(out, static_cast<uint16_t>(value.size()));
  AppendPadded(out, value);
}

void EndOptions(std::string& out) { Append(out, uint32_t{0}); }

std::string Block(uint32_t type, const std::string& body) {
  const auto length = static_cast<uint32_t>(body.size() + 12);
  std::string block;
  Append(block, type);
  Append(block, length);
  block += body;
  Append(block, length);
  return block;
}

}  // namespace

std::string PcapngSection(absl::string_view application) {
  std::string body;
  Append(body, kByteOrderMagic);
  Append(body, uint16_t{1});  // version 1.0
  Append(body, uint16_t{0});
  Append(body, int64_t{-1});  // nobody knows the length of the section yet
  AppendOption(body, kUserApplication, application);
  EndOptions(body);
  return Block(kSectionBlock, body);
}

std::string PcapngInterface(absl::string_view name, absl::string_view description,
                            uint32_t snaplen) {
  std::string body;
  Append(body, kEthernet);
  Append(body, uint16_t{0});
  Append(body, snaplen);
  AppendOption(body, kInterfaceName, name);
  AppendOption(body, kInterfaceDescription, description);
  AppendOption(body, kTimeResolution, "\x09");  // 10^-9 s
  EndOptions(body);
  return Block(kInterfaceBlock, body);
}

std::string PcapngPacket(const PcapngFrame& frame) {
  std::string body;
  Append(body, frame.interface);
  Append(body, static_cast<uint32_t>(frame.time_ns >> 32));
  Append(body, static_cast<uint32_t>(frame.time_ns));
  Append(body, static_cast<uint32_t>(frame.data.size()));
  Append(body, std::max(frame.length, static_cast<uint32_t>(frame.data.size())));
  AppendPadded(body, frame.data);
  if (frame.direction != PcapngFrame::Direction::kUnknown) {
    std::string flags;
    Append(flags, uint32_t{frame.direction == PcapngFrame::Direction::kIn ? 1u : 2u});
    AppendOption(body, kPacketFlags, flags);
  }
  AppendOption(body, kComment, frame.comment);
  EndOptions(body);
  return Block(kPacketBlock, body);
}

}  // namespace bfly::control

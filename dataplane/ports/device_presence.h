// SPDX-License-Identifier: Apache-2.0
// Tells whether the kernel interface under a device still exists. A user may delete it, and create
// it again with the same name.
#pragma once

#include <cstdint>
#include <string>

namespace bfly::dataplane {

class DevicePresence {
 public:
  // Watches nothing.
  DevicePresence() = default;
  // Watches the interface under `device`, which was just opened as `ethdev`: the interface of
  // net_af_xdp or net_af_packet, or the TAP that net_tap created. Other devices always count as
  // present.
  DevicePresence(const std::string& device, uint16_t ethdev);

  bool gone() const;
  // True if an interface of this name exists again after it was gone. A TAP comes back by being
  // opened.
  bool back() const;
  // False if the kernel says that the interface has no link, as a veth whose other end is down.
  // True of devices that are not watched: their drivers say by themselves whether they have a link.
  bool has_carrier() const;
  // "interface bf0"
  std::string what() const { return "interface " + name_; }

 private:
  enum class Kind { kNone, kInterface, kTap };
  Kind kind_ = Kind::kNone;
  std::string name_;
  unsigned index_ = 0;       // index of an interface; a new one of the same name has another index
  std::string description_;  // of a TAP: the kernel's of a file descriptor it is attached to, which
                             // stays where it is when the TAP moves to another namespace
};

}  // namespace bfly::dataplane

// SPDX-License-Identifier: Apache-2.0
// Tells whether the kernel interface under a device can be used. A user may delete it, and create
// it again with the same name, or take it down.
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

  // Whether the interface of a net_af_packet device is down. A socket that is bound to it then
  // keeps the first frame back until there is a second one, also after the interface has come up.
  static bool IsDown(const std::string& device);

  // Why the device cannot be used, and when it will be attached again. Empty: the device can be
  // used.
  std::string problem() const;
  // What prevents a device that was taken away from being attached again. Empty: it can be
  // attached. A TAP exists again when it is opened.
  std::string missing() const;
  // False if the kernel says that the interface has no link, like a veth whose other end is down.
  // True for devices that are not watched: their drivers report themselves whether they have a
  // link.
  bool has_carrier() const;
  // "interface bf0"
  std::string what() const { return "interface " + name_; }

 private:
  enum class Kind { kNone, kXdp, kPacket, kTap };
  bool is_interface() const { return kind_ == Kind::kXdp || kind_ == Kind::kPacket; }
  bool gone() const;
  std::string Gone() const;
  std::string Down() const;
  Kind kind_ = Kind::kNone;
  std::string name_;
  unsigned index_ = 0;       // index of an interface; a new one of the same name has another index
  std::string description_;  // of a TAP: the kernel's description of a file descriptor that is
                             // attached to it; the description stays where it is when the TAP moves
                             // to another namespace
};

}  // namespace bfly::dataplane

// SPDX-License-Identifier: Apache-2.0
// Whether the kernel interface that a device stands on is still there: somebody may delete it, and
// make it again by the same name.
#pragma once

#include <cstdint>
#include <string>

namespace bfly::dataplane {

class DevicePresence {
 public:
  // Nothing to watch.
  DevicePresence() = default;
  // What `device` stands on, which was just opened as `ethdev`: the interface of net_af_xdp and
  // net_af_packet, or the TAP that net_tap made. Other devices are always there.
  DevicePresence(const std::string& device, uint16_t ethdev);

  bool gone() const;
  // After it was gone: an interface of this name is there again. A TAP is made by opening it.
  bool back() const;
  // "interface bf0"
  std::string what() const { return "interface " + name_; }

 private:
  enum class Kind { kNone, kInterface, kTap };
  Kind kind_ = Kind::kNone;
  std::string name_;
  unsigned index_ = 0;       // of an interface; a new one of the same name has another
  std::string description_;  // of a TAP: the kernel's of a file descriptor it is attached to, which
                             // stays where it is when the TAP moves to another namespace
};

}  // namespace bfly::dataplane

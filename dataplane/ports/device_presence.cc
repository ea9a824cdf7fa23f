// SPDX-License-Identifier: Apache-2.0
#include "dataplane/ports/device_presence.h"

#include <net/if.h>
#include <rte_ethdev.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "dataplane/runtime/device_string.h"
#include "dataplane/runtime/owned_fd.h"

namespace bfly::dataplane {
namespace {

constexpr char kPacketDriver[] = "net_af_packet";
constexpr char kDescriptions[] = "/proc/self/fdinfo";

// The name of the TAP to which a file descriptor is attached, or empty.
std::string TapOf(const std::string& description) {
  std::ifstream file(description);
  for (std::string line; std::getline(file, line);) {
    if (absl::StartsWith(line, "iff:\t")) return line.substr(5);
  }
  return "";
}

std::string DescriptionOfTap(const std::string& name) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(kDescriptions, error)) {
    if (TapOf(entry.path().string()) == name) return entry.path().string();
  }
  return "";
}

// The kernel's flags (IFF_UP) of the interface; nullopt if the kernel does not tell them.
std::optional<int> FlagsOf(const std::string& name) {
  if (name.size() >= IFNAMSIZ) return std::nullopt;
  const OwnedFd fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  name.copy(request.ifr_name, IFNAMSIZ - 1);
  if (fd.get() < 0 || ioctl(fd.get(), SIOCGIFFLAGS, &request) != 0) return std::nullopt;
  return request.ifr_flags;
}

bool IsDownByName(const std::string& name) {
  return (FlagsOf(name).value_or(IFF_UP) & IFF_UP) == 0;
}

}  // namespace

DevicePresence::DevicePresence(const std::string& device, uint16_t ethdev) {
  rte_eth_dev_info info{};
  char name[IF_NAMESIZE];
  if (rte_eth_dev_info_get(ethdev, &info) != 0 || info.if_index == 0 ||
      if_indextoname(info.if_index, name) == nullptr) {
    return;
  }
  name_ = name;
  index_ = info.if_index;
  if (absl::StartsWith(device, "net_af_xdp")) {
    kind_ = Kind::kXdp;
  } else if (absl::StartsWith(device, kPacketDriver)) {
    kind_ = Kind::kPacket;
  } else if (absl::StartsWith(device, "net_tap")) {
    description_ = DescriptionOfTap(name_);
    if (!description_.empty()) kind_ = Kind::kTap;
  }
}

bool DevicePresence::gone() const {
  if (kind_ == Kind::kNone) return false;
  if (kind_ == Kind::kTap) return TapOf(description_).empty();
  char name[IF_NAMESIZE];
  return if_indextoname(index_, name) == nullptr;
}

bool DevicePresence::IsDown(const std::string& device) {
  return absl::StartsWith(device, kPacketDriver) &&
         IsDownByName(DeviceArgument(device, "iface").value_or(""));
}

std::string DevicePresence::problem() const {
  if (gone()) return Gone();
  return kind_ == Kind::kPacket && IsDownByName(name_) ? Down() : "";
}

std::string DevicePresence::missing() const {
  if (!is_interface()) return "";
  if (!FlagsOf(name_).has_value()) return Gone();
  return kind_ == Kind::kPacket && IsDownByName(name_) ? Down() : "";
}

std::string DevicePresence::Gone() const {
  return absl::StrCat(what(),
                      " is gone; the port is attached again when there is one of that name");
}

std::string DevicePresence::Down() const {
  return absl::StrCat(what(), " is down; the port is attached again when it is up");
}

bool DevicePresence::has_carrier() const {
  return !is_interface() || (FlagsOf(name_).value_or(IFF_RUNNING) & IFF_RUNNING) != 0;
}

}  // namespace bfly::dataplane

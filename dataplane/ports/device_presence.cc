// SPDX-License-Identifier: Apache-2.0
#include "dataplane/ports/device_presence.h"

#include <net/if.h>
#include <rte_ethdev.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "absl/strings/match.h"

namespace bfly::dataplane {
namespace {

constexpr char kDescriptions[] = "/proc/self/fdinfo";

// The name of the TAP that a file descriptor is attached to, or empty.
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
  if (absl::StartsWith(device, "net_af_xdp") || absl::StartsWith(device, "net_af_packet")) {
    kind_ = Kind::kInterface;
  } else if (absl::StartsWith(device, "net_tap")) {
    description_ = DescriptionOfTap(name_);
    if (!description_.empty()) kind_ = Kind::kTap;
  }
}

bool DevicePresence::gone() const {
  char name[IF_NAMESIZE];
  switch (kind_) {
    case Kind::kNone:
      return false;
    case Kind::kInterface:
      return if_indextoname(index_, name) == nullptr;
    case Kind::kTap:
      return TapOf(description_).empty();
  }
  return false;
}

bool DevicePresence::has_carrier() const {
  if (kind_ != Kind::kInterface || name_.size() >= IFNAMSIZ) return true;
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return true;
  ifreq request{};
  name_.copy(request.ifr_name, IFNAMSIZ - 1);
  const bool known = ioctl(fd, SIOCGIFFLAGS, &request) == 0;
  close(fd);
  return !known || (request.ifr_flags & IFF_RUNNING) != 0;
}

bool DevicePresence::back() const {
  return kind_ != Kind::kInterface || if_nametoindex(name_.c_str()) != 0;
}

}  // namespace bfly::dataplane

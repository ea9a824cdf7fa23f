// SPDX-License-Identifier: Apache-2.0
#include "control/access/viewer_connections.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace bfly::control {

bool ViewerConnections::Connection::is_open() const {
  struct stat now {};
  return fstat(fd, &now) == 0 && now.st_dev == device && now.st_ino == inode;
}

absl::Status ViewerConnections::CheckRoom(const std::string& who) {
  const std::lock_guard lock(mutex_);
  std::erase_if(held_, [](const Connection& one) { return !one.is_open(); });
  const auto own = std::count_if(held_.begin(), held_.end(),
                                 [&](const Connection& one) { return one.who == who; });
  if (static_cast<size_t>(own) >= kMostPerViewer) {
    return absl::ResourceExhaustedError(absl::StrCat(
        who, " holds ", own, " connections, the most that one viewer may hold; close one first"));
  }
  if (held_.size() >= kMostOfAllViewers) {
    return absl::ResourceExhaustedError(
        absl::StrCat("viewers hold ", held_.size(),
                     " connections, the most that all viewers together may hold"));
  }
  return absl::OkStatus();
}

void ViewerConnections::Add(int fd, std::string who) {
  struct stat file {};
  if (fstat(fd, &file) != 0) return;
  const std::lock_guard lock(mutex_);
  held_.push_back({.fd = fd, .device = file.st_dev, .inode = file.st_ino, .who = std::move(who)});
}

}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
#include "dataplane/ports/known_hosts.h"

#include <unistd.h>

#include <cstdio>
#include <fstream>

namespace bfly::dataplane {

// The file has a line for each host: port, row, address as a hexadecimal number.
KnownHosts::KnownHosts(std::string path) : path_(std::move(path)) {
  if (path_.empty()) return;
  std::ifstream file(path_);
  std::string port;
  Row row;
  MacAddress mac;
  while (file >> port >> std::dec >> row >> std::hex >> mac) {
    if (mac >> 48 == 0 && !IsGroupMac(mac)) saved_[{port, row}] = mac;
  }
}

void KnownHosts::Watch(const std::string& port, Row row, LearnedMac* learned) {
  if (path_.empty()) return;
  watched_.push_back({.place = {port, row}, .learned = learned});
  if (const auto known = saved_.find({port, row}); known != saved_.end()) {
    learned->Learn(known->second);
  }
}

void KnownHosts::Unwatch(const LearnedMac* learned) {
  std::erase_if(watched_, [&](const Watched& watched) { return watched.learned == learned; });
}

void KnownHosts::Save() {
  std::map<Place, MacAddress> now;
  for (const Watched& watched : watched_) {
    if (const MacAddress mac = watched.learned->host.load(std::memory_order_relaxed); mac != 0) {
      now[watched.place] = mac;
    }
  }
  if (now == saved_) return;
  // After a crash the file is the old one or the new one, never a part of one.
  const std::string next = path_ + ".next";
  {
    std::ofstream file(next, std::ios::trunc);
    for (const auto& [place, mac] : now) {
      file << place.first << ' ' << std::dec << place.second << ' ' << std::hex << mac << '\n';
    }
    if (!file.flush()) return;
  }
  if (std::rename(next.c_str(), path_.c_str()) == 0) saved_ = std::move(now);
}

void KnownHosts::Forget() {
  if (!path_.empty()) unlink(path_.c_str());
}

}  // namespace bfly::dataplane

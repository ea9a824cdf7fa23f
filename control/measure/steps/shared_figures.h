// SPDX-License-Identifier: Apache-2.0
// Figures that trials of several points need, such as the mean latency of the same packets without
// extra stages.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace bfly::control {

// The trials of one experiment share it, on any threads, so that a figure is hardly ever computed
// twice. A name says of which point and seed a figure is, and which one. What is kept does not
// change a result.
class SharedFigures {
 public:
  // Then nothing more is kept.
  static constexpr size_t kMost = 200'000;

  std::optional<double> Find(const std::string& name) const {
    const std::lock_guard lock(mutex_);
    const auto found = figures_.find(name);
    if (found == figures_.end()) return std::nullopt;
    return found->second;
  }
  void Keep(const std::string& name, double figure) {
    const std::lock_guard lock(mutex_);
    if (figures_.size() < kMost) figures_.emplace(name, figure);
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, double> figures_;  // under mutex_
};

}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
// The names that host ports of a loaded fabric have had. A port that comes again under its old name
// gets its old number. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace bfly::dataplane {

class PortNames {
 public:
  // `most`: how many different names there may be over the life of a fabric.
  static constexpr size_t kMost = 65536;
  explicit PortNames(size_t most = kMost) : most_(most) {}

  bool empty() const { return names_.empty(); }
  // Whether a port may get this name: a port had it before, or there may be one name more.
  bool MayBeUsed(const std::string& name) const {
    return names_.size() < most_ || NumberOf(name) < names_.size();
  }
  // Gives the name the next number, unless it has one.
  void Add(const std::string& name) {
    if (NumberOf(name) == names_.size()) names_.push_back(name);
  }
  // The number of an unknown name is that of no name.
  uint32_t NumberOf(const std::string& name) const {
    return static_cast<uint32_t>(std::find(names_.begin(), names_.end(), name) - names_.begin());
  }
  // Empty if no name has this number.
  std::string NameOf(uint32_t number) const { return number < names_.size() ? names_[number] : ""; }

 private:
  const size_t most_;
  std::vector<std::string> names_;  // by number
};

}  // namespace bfly::dataplane

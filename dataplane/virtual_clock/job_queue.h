// SPDX-License-Identifier: Apache-2.0
// A queue of jobs.
#pragma once

#include <cstddef>
#include <vector>

namespace bfly::dataplane {

// First in, first out, in one array. A queue that was never used has no memory of its own: most
// links of a large network are idle most of the time.
template <typename T>
class JobQueue {
 public:
  bool empty() const { return first_ == items_.size(); }
  size_t size() const { return items_.size() - first_; }
  T& front() { return items_[first_]; }
  const T& front() const { return items_[first_]; }
  void push(const T& item) { items_.push_back(item); }
  void pop() {
    ++first_;
    // Half of the array was popped: moving the rest costs less than one step for each earlier pop.
    if (2 * first_ >= items_.size()) {
      items_.erase(items_.begin(), items_.begin() + static_cast<ptrdiff_t>(first_));
      first_ = 0;
    }
  }

 private:
  std::vector<T> items_;
  size_t first_ = 0;
};

}  // namespace bfly::dataplane

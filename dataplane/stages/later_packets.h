// SPDX-License-Identifier: Apache-2.0
// Packets on the FIFO links of a stage that arrive at the far side after the pass in which they
// came, in order of arrival; packets of one tick in the order in which they came. Links that are
// alike let packets arrive nearly in the order in which they came, so that most of them are put at
// the end of a ring, and neither a store nor a calendar is needed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "dataplane/core/descriptor.h"

namespace bfly::dataplane {

struct LaterPacket {
  Descriptor packet;
  uint64_t arrival;  // TSC, at the far side
  uint32_t link;
};

class LaterPackets {
 public:
  static constexpr size_t kMost = size_t{1} << 16;
  // Packets that come may go before at most so many of those that are there.
  static constexpr size_t kMostOvertaken = 512;

  bool empty() const { return begin_ == end_; }
  size_t count() const { return end_ - begin_; }
  // Where the next packet arrives; UINT64_MAX: there is none.
  uint64_t NotBefore() const { return empty() ? UINT64_MAX : At(begin_).arrival; }
  // How many packets arrive by `now`.
  size_t CountUntil(uint64_t now) const;

  // Whether Add takes `count` packets of which the first one arrives at `first`.
  bool CanAdd(size_t count, uint64_t first) const {
    if (this->count() + count > kMost) return false;
    return this->count() < kMostOvertaken || At(end_ - kMostOvertaken).arrival <= first;
  }
  // Adds `count` packets. write(i, place) writes number i of them, and arrival(i) says when it
  // arrives; these times do not fall.
  template <typename Arrival, typename Write>
  void Add(size_t count, const Arrival& arrival, const Write& write) {
    if (this->count() + count > capacity_) [[unlikely]]
      Grow(this->count() + count);
    size_t behind = end_;  // of those that are there and have not moved
    end_ += count;
    size_t place = end_;
    for (size_t left = count; left > 0;) {
      if (behind > begin_ && At(behind - 1).arrival > arrival(left - 1)) {
        At(--place) = At(--behind);
      } else if (behind == begin_ || At(behind - 1).arrival <= arrival(0)) {
        for (; left > 0; --left) write(left - 1, At(--place));
      } else {
        write(--left, At(--place));
      }
    }
  }

  // Calls take(packet) for the next packets that arrive by `until`, at most `most` of them. Returns
  // how many there were.
  template <typename Take>
  size_t TakeUntil(uint64_t until, size_t most, const Take& take) {
    const size_t first = begin_;
    const size_t end = std::min(end_, first + most);
    size_t next = first;
    for (; next != end && At(next).arrival <= until; ++next) take(At(next));
    begin_ = next;
    return next - first;
  }

 private:
  LaterPacket& At(size_t number) const { return ring_[number & (capacity_ - 1)]; }
  void Grow(size_t count);

  size_t begin_ = 0, end_ = 0;  // numbers of packets since the start
  size_t capacity_ = 0;         // a power of two, or nothing yet
  std::unique_ptr<LaterPacket[]> ring_;
};

}  // namespace bfly::dataplane

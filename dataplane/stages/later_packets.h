// SPDX-License-Identifier: Apache-2.0
// A ring of packets that were sent over FIFO links and have not arrived yet, ordered by arrival.
// Packets that arrive in one tick are in the order in which they were added. Links that are alike
// let packets arrive nearly in the order in which they came, so most packets are added at the end.
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
static_assert(sizeof(LaterPacket) == 56);

class LaterPackets {
 public:
  // The most packets in the ring. Taking all of them out costs a worker a millisecond.
  static constexpr size_t kMost = size_t{1} << 14;
  // New packets may go before fewer packets than this, however many new ones there are.
  static constexpr size_t kMostOvertaken = 512;
  // Packets that arrive later than new ones are moved. A few new packets must not move many others:
  // `count` new packets go before fewer than this many.
  static constexpr size_t MostOvertaken(size_t count) {
    return std::min(kMostOvertaken, 2 * count + 8);
  }

  bool empty() const { return begin_ == end_; }
  size_t count() const { return end_ - begin_; }
  // The TSC at which the next packet arrives; UINT64_MAX: the ring is empty.
  uint64_t NotBefore() const { return empty() ? UINT64_MAX : At(begin_).arrival; }
  // How many packets arrive by `now`.
  size_t CountUntil(uint64_t now) const;

  // Whether Add takes `more` packets of which the first one arrives at `first`.
  bool CanAdd(size_t more, uint64_t first) const {
    if (count() + more > kMost) return false;
    const size_t overtaken = MostOvertaken(more);
    return count() < overtaken || At(end_ - overtaken).arrival <= first;
  }
  // Adds `more` packets. CanAdd must have returned true. write(i, place) writes the i-th new
  // packet, and arrival(i) says when it arrives; these times do not fall.
  template <typename Arrival, typename Write>
  void Add(size_t more, const Arrival& arrival, const Write& write) {
    if (count() + more > capacity_) [[unlikely]]
      Grow(count() + more);
    size_t behind = end_;  // the end of the old packets that have not moved
    end_ += more;
    size_t place = end_;
    // Old and new packets are merged from their ends, so that a packet moves at most once.
    for (size_t left = more; left > 0;) {
      if (behind > begin_ && At(behind - 1).arrival > arrival(left - 1)) {
        At(--place) = At(--behind);
      } else if (behind == begin_ || At(behind - 1).arrival <= arrival(0)) {
        for (; left > 0; --left) write(left - 1, At(--place));
      } else {
        write(--left, At(--place));
      }
    }
  }

  // Calls take(packet) for the next packets that arrive by `until`, at most `most`. Returns how
  // many packets it took.
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
  size_t capacity_ = 0;         // a power of two, or 0 before the first packet
  std::unique_ptr<LaterPacket[]> ring_;
};

}  // namespace bfly::dataplane

// SPDX-License-Identifier: Apache-2.0
// The inner loop of links that share their rate: one link, one window.
//
// It computes exactly what class Sharing (dataplane/links/link_time.h) computes, but without
// branches: whether a packet comes or leaves next is as good as random. Every packet takes the same
// time, so packets leave in the order in which they came, and no heap is needed.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <type_traits>

#include "dataplane/links/link_time.h"
#include "dataplane/virtual_clock/packet.h"

namespace bfly::dataplane {

// A run keeps time on shared links in 2^-22 of a tick, so that 64 bits hold 1,024 units of 2^32
// ticks.
inline constexpr int kSharedFractionBits = 22;

// No window is longer: times of departure stand in 64 bits for a while.
inline constexpr Ticks kLongestSharedWindow = Ticks{1} << (62 - kSharedFractionBits);

// A packet on a link that is shared.
struct Sharer {
  Ticks time;  // when the packet arrived
  PacketWord word;
  uint64_t end;  // the V at which the packet leaves, modulo 2^64
};
static_assert(sizeof(Sharer) == 24);

// A link between windows, as class Sharing. Times are in 2^-kSharedFractionBits of a tick.
struct SharingLink {
  LinkTime last = 0;      // when the last arrival or departure was
  LinkTime free = 0;      // when all packets have left
  uint64_t attained = 0;  // V at `last`, modulo 2^64; only differences of V count
  uint64_t packets = 0;   // packets that left
};
static_assert(sizeof(SharingLink) == 48);

// Divides by the number of packets that are present: floor(time / n) is the upper word of
// 2 * time * factor, shifted right by `shift`, for every time below 2^62. With k = floor(log2 n)
// the factor is 2^(63 + k) / n, rounded up by e / n with e < n <= 2^(k + 1), which adds time * e /
// (n * 2^(63 + k)) < 1 / n to the quotient.
inline constexpr uint64_t kMostDivisor = 255;
struct Divisors {
  std::array<uint64_t, kMostDivisor + 1> factor;
  std::array<uint8_t, kMostDivisor + 1> shift;
};
inline constexpr Divisors kDivisors = [] {
  Divisors divisors{};
  for (uint64_t n = 1; n <= kMostDivisor; ++n) {
    const int k = static_cast<int>(std::bit_width(n)) - 1;
    divisors.factor[n] = static_cast<uint64_t>(((LinkTime{1} << (63 + k)) + n - 1) / n);
    divisors.shift[n] = static_cast<uint8_t>(k);
  }
  return divisors;
}();

// Time: LinkTime, or uint64_t for times modulo 2^64. The latter is much faster and needs
// FitsInWords.
template <typename Time>
class SharingLane {
 public:
  // Whether times modulo 2^64 are enough in a window in which `packets` packets are on the link or
  // come to it. No two times that are compared are further apart than the window and the time that
  // it takes to send all these packets.
  static constexpr bool FitsInWords(Ticks window, Ticks unit, uint64_t packets) {
    return packets <= kMostDivisor && unit <= kLongestSharedWindow / (kMostDivisor + 1) &&
           window <= kLongestSharedWindow;
  }

  // first..next - 1 are on the link, next..end - 1 arrive in the window; there is a place behind
  // them. When a packet has left, its `end` is the time of its departure modulo 2^64 (TickOf).
  SharingLane(const SharingLink& link, Ticks work, Sharer* first, Sharer* next, Sharer* end,
              Ticks window_end)
      : last_(static_cast<Time>(link.last)),
        busy_(static_cast<Time>(link.free - link.last)),
        work_(At(work)),
        attained_(link.attained),
        front_end_(first->end),
        present_(static_cast<uint64_t>(next - first)),
        first_(first),
        next_(next),
        end_(end),
        window_end_(window_end) {
    // A packet that leaves in the last tick of the window leaves before this arrival.
    end->time = window_end - 1;
  }

  // Takes the next event: a packet comes or leaves. Returns false, and does nothing, if the window
  // is over.
  bool Step() {
    if (present_ == 0) return Begin();
    const Event event = Next();
    if (next_ == end_ && event.comes) return false;
    StepTo(event);
    return true;
  }

  void Close(SharingLink& link) {
    const LinkTime end = LinkTime{window_end_} << kSharedFractionBits;
    link.last = end - static_cast<Time>(static_cast<Time>(end) - last_);
    link.free = link.last + busy_;
    link.attained = attained_;
    first_->end = front_end_;
  }
  const Sharer* first() const { return first_; }  // the first packet that has not left

  // The tick of a departure, rounded up so that no packet leaves early. `start`: the start of the
  // window.
  static Ticks TickOf(uint64_t time, Ticks start) {
    const uint64_t since = time - (start << kSharedFractionBits);
    return start + ((since + ((1u << kSharedFractionBits) - 1)) >> kSharedFractionBits);
  }

 private:
  struct Event {
    bool comes;  // true: a packet comes; false: a packet leaves
    Time since;  // from the previous event to the arrival
    Time gap;    // from the previous event to this event
  };

  static Time At(Ticks tick) { return static_cast<Time>(tick) << kSharedFractionBits; }
  static uint64_t Part(Time time, uint64_t present) {
    if constexpr (std::is_same_v<Time, uint64_t>) {
      return static_cast<uint64_t>(LinkTime{2 * time} * kDivisors.factor[present] >> 64) >>
             kDivisors.shift[present];
    } else {
      return static_cast<uint64_t>(time / present);
    }
  }

  // Brings the next packet to the idle link. Returns false if no packet comes.
  bool Begin() {
    if (next_ == end_) return false;
    last_ = At(next_->time);
    busy_ = work_;
    present_ = 1;
    front_end_ = attained_ + static_cast<uint64_t>(work_);
    next_->end = front_end_;
    ++next_;
    return true;
  }

  Event Next() const {
    const Time arrival = At(next_->time) - last_;
    const Time shared = static_cast<Time>(front_end_ - attained_) * present_;
    const Time departure = std::min(shared, busy_);
    return {arrival < departure, arrival, std::min(departure, arrival)};
  }

  void StepTo(const Event& event) {
    const uint64_t comes = uint64_t{0} - event.comes;  // all bits are ones, or none is
    // This is not used if a packet leaves, but so the division need not wait until that is known.
    const uint64_t part = attained_ + Part(event.since, present_);
    attained_ = front_end_ ^ ((part ^ front_end_) & comes);
    last_ += event.gap;
    busy_ += (event.comes ? work_ : Time{0}) - event.gap;
    // These writes spoil nothing: a packet that leaves no longer needs its `end`, and a packet that
    // has not come has none yet.
    first_->end = static_cast<uint64_t>(last_);
    next_->end = attained_ + static_cast<uint64_t>(work_);
    // The end of a packet that is alone follows from the work that is left, which is exact.
    const uint64_t alone = attained_ + static_cast<uint64_t>(busy_);
    const uint64_t behind = present_ == 2 ? alone : first_[1].end;
    front_end_ = behind ^ ((front_end_ ^ behind) & comes);
    present_ -= 2 * comes + 1;
    next_ = NextIf(comes, next_);
    first_ = NextIf(~comes, first_);
  }

  Time last_;  // the time of the previous event
  Time busy_;  // how long the link is busy after last_ if no other packet comes
  Time work_;
  uint64_t attained_;   // V at last_
  uint64_t front_end_;  // the V at which the first packet leaves
  uint64_t present_;
  Sharer* first_;
  Sharer* next_;
  Sharer* end_;
  Ticks window_end_;
};

}  // namespace bfly::dataplane

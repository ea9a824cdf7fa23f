// SPDX-License-Identifier: Apache-2.0
// Time at a link and how links spend it, under either clock. Time is an integer, so that sums are
// exact and the same on every machine. On the wall clock a tick is a TSC tick; under the virtual
// clock it is a part of a unit. Sending a packet need not take a whole number of TSC ticks, and
// sharing a link divides ticks among packets. Therefore a time has 32 bits below the tick.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace bfly::dataplane {

// 2^-32 of a tick. Times need 96 bits. The other 32 bits are room for times multiplied by a number
// of packets.
__extension__ using LinkTime = unsigned __int128;
inline constexpr int kTickFractionBits = 32;

constexpr LinkTime AtTick(uint64_t tick) { return LinkTime{tick} << kTickFractionBits; }

// The tick that `time` is in.
constexpr uint64_t WholeTick(LinkTime time) {
  return static_cast<uint64_t>(time >> kTickFractionBits);
}

// Ticks beyond this are centuries away. The bound leaves room for adding a link's delay.
inline constexpr uint64_t kLatestTick = UINT64_MAX - (uint64_t{1} << 56);

// The first tick that is not before `time`, so that no packet leaves early.
constexpr uint64_t TickNotBefore(LinkTime time) {
  const LinkTime tick = (time + (AtTick(1) - 1)) >> kTickFractionBits;
  return static_cast<uint64_t>(std::min(tick, LinkTime{kLatestTick}));
}

// A link that sends one packet after the other. A packet is sent as soon as it has come and the
// packets before it are sent: D = max(D of the packet before, arrival) + work (Lindley's
// recursion). Time is LinkTime, or ticks where sending takes a whole number of them.
template <typename Time>
class OneAtATime {
 public:
  Time free() const { return free_; }
  // Returns when the packet has left. `work` is the time that sending it takes.
  Time Send(Time arrival, Time work) { return free_ = std::max(free_, arrival) + work; }

 private:
  Time free_ = 0;  // when the link has sent what it was given
};

// A link that sends all its packets at once, each at an equal part of its rate. Its virtual time V
// says how much of a packet that was always at the link would have been sent by now, as the time
// that sending this part takes without other packets: dV/dt = 1/n with n packets, and a packet that
// comes at V leaves at V + work (Parekh and Gallager 1993). So only the departure of the packet
// with the least V + work has to be known, and only arrivals and departures change n.
//
// V is rounded down, and whenever one packet is alone its V + work is set anew from the work that
// is left, which is known exactly: all packets have left when a link that sends one at a time would
// be free. A departure is never early: D(FIFO) <= D(PS) (Stamoulis & Tsitsiklis, Lemma 7) cannot be
// broken by rounding. It may be late: a packet that comes to n others adds less than n times the
// smallest part of time to the work that is left, until the link has fewer than two packets, and
// a departure is late by some of these sums.
class Sharing : public OneAtATime<LinkTime> {
 public:
  LinkTime last() const { return last_; }  // when the last arrival or departure was
  // The V at which the only packet at the link leaves. Call it before another packet joins.
  LinkTime EndOfOnly() const { return attained_ + (free() - last_); }

  // A packet joins `present` others. Returns the V at which it leaves.
  LinkTime Join(LinkTime now, LinkTime work, size_t present) {
    if (present == 0) {
      attained_ = 0;
      last_ = std::max(now, free());
    } else {
      ShareUntil(now, present);
    }
    Send(last_, work);
    return attained_ + work;
  }

  // When the first of `present` packets leaves, at V = `end`, if no other packet comes.
  LinkTime NextDeparture(LinkTime end, size_t present) const {
    return present == 1 ? free() : std::min(last_ + (end - attained_) * present, free());
  }
  void Depart(LinkTime end, LinkTime departure) {
    attained_ = end;
    last_ = departure;
  }

  // Brings V up to `now` and returns it.
  LinkTime ShareUntil(LinkTime now, size_t present) {
    if (now <= last_) return attained_;
    attained_ += (now - last_) / present;
    last_ = now;
    return attained_;
  }

 private:
  LinkTime last_ = 0;
  LinkTime attained_ = 0;  // V at last_, counted from when the link was last empty
};

}  // namespace bfly::dataplane

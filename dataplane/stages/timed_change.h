// SPDX-License-Identifier: Apache-2.0
// New settings for the links of a TimedLinks on which packets are: a part of it, apart from what
// runs for every packet. What is being sent goes on as it was, and what waits is served anew.
#pragma once

#include <cstdint>
#include <vector>

#include "dataplane/stages/timed_links.h"

namespace bfly::dataplane {

class TimedChange {
 public:
  // `links` has its new table, and had `before` until `now`. All that it holds is in its store.
  TimedChange(TimedLinks& links, const ShapeTable& before, uint64_t now)
      : links_(links), before_(before), now_(now) {}

  // Once: the packets that wait at links whose times change are served as the new table says.
  void ServeAgain();

 private:
  using Waiting = FifoLink<StoredPackets>::Waiting;
  // `waiting`: what waited at a FIFO link. At other links it is in their servers.
  struct Changed {
    uint32_t number;
    Waiting waiting;
  };
  // A mark in StoredPacket::rank.
  static constexpr uint32_t kServedAgain = 2;

  const ServedLink& Old(uint32_t number) const { return before_.of(links_.first_link_ + number); }
  std::vector<Changed> TakeWaiting();
  void Mark(uint32_t number, Waiting waiting);
  void Serve(const Changed& changed);

  TimedLinks& links_;
  const ShapeTable& before_;
  const uint64_t now_;
};

}  // namespace bfly::dataplane

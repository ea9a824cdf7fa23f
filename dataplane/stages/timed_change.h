// SPDX-License-Identifier: Apache-2.0
// Gives new settings to the links of a TimedLinks while packets are on them. It is a part of
// TimedLinks, kept apart from the code that runs for every packet. A packet that is being sent goes
// on as before, and waiting packets are served anew.
#pragma once

#include <cstdint>
#include <vector>

#include "dataplane/stages/timed_links.h"

namespace bfly::dataplane {

class TimedChange {
 public:
  // `links` has its new table, and had the table `before` until `now`. All packets that it holds
  // are in its store.
  TimedChange(TimedLinks& links, const ShapeTable& before, uint64_t now)
      : links_(links), before_(before), now_(now) {}

  // Serves the packets that wait at links whose times change as the new table says. Call it once.
  void ServeAgain();

 private:
  using Waiting = FifoLink<StoredPackets>::Waiting;
  // `waiting`: the packets that waited at a FIFO link. The packets of other links are in the links'
  // servers.
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
  void NoteShared(uint32_t number, LinkTime free);

  TimedLinks& links_;
  const ShapeTable& before_;
  const uint64_t now_;
};

}  // namespace bfly::dataplane

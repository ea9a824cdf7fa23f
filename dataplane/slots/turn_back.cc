// SPDX-License-Identifier: Apache-2.0
#include "dataplane/slots/turn_back.h"

#include <rte_mbuf.h>

namespace bfly::dataplane {

void DropOnWay(const Descriptor& packet, int bits, DropReason reason, Ledger& ledger) {
  ledger.Drop(reason);
  ledger.turning_dropped += TagsByIntermediateRow::TurnsBack(packet.tag, bits);
  rte_pktmbuf_free(packet.mbuf);  // a synthetic packet has no mbuf; freeing null does nothing
}

int TurnBackOut::Take(const Descriptor* burst, int count, Descriptor* leaving, Ledger& ledger) {
  int left = 0;
  for (int i = 0; i < count; ++i) {
    const Descriptor& packet = burst[i];
    if (!TagsByIntermediateRow::TurnsBack(packet.tag)) {
      leaving[left++] = packet;
      continue;
    }
    Way& way = ways_[ring_of_row_[packet.row]];
    if (way.packets.empty()) way.room = way.ring->room();
    if (way.packets.size() >= way.room) {
      ledger.Drop(DropReason::kQueueMemory);
      rte_pktmbuf_free(packet.mbuf);
      Bump(dropped_, 1);
      CountEnded(1);
      continue;
    }
    way.packets.push_back(packet);
    ++taken_;
  }
  return left;
}

void TurnBackOut::HandOver() {
  for (Way& way : ways_) {
    if (way.packets.empty()) continue;
    way.ring->Push(way.packets.data(), static_cast<uint32_t>(way.packets.size()));
    CountEnded(way.packets.size());
    way.packets.clear();
  }
}

}  // namespace bfly::dataplane

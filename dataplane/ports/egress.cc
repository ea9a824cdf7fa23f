// SPDX-License-Identifier: Apache-2.0
#include "dataplane/ports/egress.h"

#include <rte_mbuf.h>

namespace bfly::dataplane {

void Egress::Attach(const std::vector<Row>& rows, HostTransmitter* transmitter) {
  for (Row row : rows) of_row_[row] = static_cast<uint16_t>(transmitters_.size());
  transmitters_.push_back(transmitter);
}

int Egress::Send(const Descriptor* burst, int count, Ledger& ledger) {
  for (int i = 0; i < count; ++i) {
    const Descriptor& packet = burst[i];
    if (packet.mbuf == nullptr) {
      ++ledger.delivered;
      continue;
    }
    const uint16_t index = of_row_[packet.row];
    if (index == kNone) {
      ledger.Drop(DropReason::kNoPortAtRow);
      rte_pktmbuf_free(packet.mbuf);
      continue;
    }
    transmitters_[index]->Push(packet, ledger);
  }
  return count;
}

uint64_t Egress::held() const {
  uint64_t sum = 0;
  for (const HostTransmitter* transmitter : transmitters_) sum += transmitter->held();
  return sum;
}

void Egress::Flush(Ledger& ledger) {
  for (HostTransmitter* transmitter : transmitters_) transmitter->Flush(ledger);
}

uint64_t Egress::Discard() {
  uint64_t sum = 0;
  for (HostTransmitter* transmitter : transmitters_) sum += transmitter->Discard();
  return sum;
}

}  // namespace bfly::dataplane

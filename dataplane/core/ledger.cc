// SPDX-License-Identifier: Apache-2.0
#include "dataplane/core/ledger.h"

namespace bfly::dataplane {

const char* DropReasonName(DropReason reason) {
  switch (reason) {
    case DropReason::kTruncated:
      return "truncated";
    case DropReason::kOversized:
      return "oversized";
    case DropReason::kNotForFabric:
      return "not_for_fabric";
    case DropReason::kUnknownRow:
      return "unknown_row";
    case DropReason::kUnknownInput:
      return "unknown_input";
    case DropReason::kBadHeader:
      return "bad_header";
    case DropReason::kNoCircuit:
      return "no_circuit";
    case DropReason::kQueueFull:
      return "queue_full";
    case DropReason::kLinkDown:
      return "link_down";
    case DropReason::kNoPortAtRow:
      return "no_port_at_row";
    case DropReason::kPortFull:
      return "port_full";
    case DropReason::kQueueMemory:
      return "queue_memory";
    case DropReason::kLoss:
      return "loss";
    case DropReason::kTrunkLost:
      return "trunk_lost";
    case DropReason::kUnloaded:
      return "unloaded";
    case DropReason::kTrunkDuplicate:
      return "trunk_duplicate";
    case DropReason::kTrunkForeign:
      return "trunk_foreign";
    case DropReason::kNoSlot:
      return "no_slot";
    case DropReason::kSlotMissed:
      return "slot_missed";
    case DropReason::kSlotFull:
      return "slot_full";
    case DropReason::kPortRemoved:
      return "port_removed";
  }
  return "unknown";
}

}  // namespace bfly::dataplane

// SPDX-License-Identifier: Apache-2.0
// What the messages of programs take of a machine's memory.
#pragma once

#include <cstdint>

#include "topologies/link_capacity.h"
#include "topologies/network.h"

namespace bfly::dataplane {

// Two messages a row, as two candidate paths have.
inline uint32_t MostMessages(uint32_t rows) { return 2 * rows; }

// A ring that is filled from the wire holds a whole pass. If a run was abandoned, the first pass of
// the next run drains the ring. The ring to the wire fills up while the device takes nothing.
inline constexpr uint32_t kSlotsToWire = 1024;
uint32_t SlotsFromWire(uint32_t rows);

// Bytes that the messages' side of a data plane takes that runs the stages first..last: what
// stages, outputs and the book of circuits know, and the rings at trunks, which lead to the other
// stages. Rings between its workers are left out, because they are small and as small in every
// network. 0 for networks on which no circuits are set up in band.
uint64_t InBandMemoryNeed(const Network& network, int first_stage, int last_stage,
                          const LinkCapacity& capacity);

}  // namespace bfly::dataplane

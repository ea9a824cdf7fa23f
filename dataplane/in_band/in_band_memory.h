// SPDX-License-Identifier: Apache-2.0
// The memory that the messages of programs take.
#pragma once

#include <cstdint>

#include "topologies/link_capacity.h"
#include "topologies/network.h"

namespace bfly::dataplane {

// Two messages for each row, because a request has two candidate paths.
inline uint32_t MostMessages(uint32_t rows) { return 2 * rows; }

// A ring that is filled from the wire holds a whole pass. If a run was abandoned, the first pass of
// the next run drains the ring. The ring to the wire fills up while the device takes nothing.
inline constexpr uint32_t kSlotsToWire = 1024;
uint32_t SlotsFromWire(uint32_t rows);

// The bytes that a data plane with the stages first..last takes for messages: the state of stages,
// outputs and the book of circuits, and the rings at trunks, which lead to the other stages. Rings
// between its workers are left out, because they are small, and of the same size in every network.
// 0 for networks on which no circuits are set up in band.
uint64_t InBandMemoryNeed(const Network& network, int first_stage, int last_stage,
                          const LinkCapacity& capacity);

}  // namespace bfly::dataplane

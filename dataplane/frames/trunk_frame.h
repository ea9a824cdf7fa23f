// SPDX-License-Identifier: Apache-2.0
// The bytes of an Ethernet frame that carries a packet between two data planes: the outer Ethernet
// header, TrunkHeader, and the host's frame unless the packet is synthetic. The code is pure.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "dataplane/core/ledger.h"
#include "topologies/network.h"
#include "topologies/tag.h"

namespace bfly::dataplane {

inline constexpr uint16_t kShortestSynthetic = 64;  // what the shortest source sends

struct TrunkPacket {
  WireTag tag = 0;
  Row row = 0;
  uint32_t session = 0;   // a number that the sender drew when it started
  uint64_t sequence = 0;  // the number of the packet in its session and queue
  // Length of the host's frame, or the length that a synthetic packet pretends to have, at least
  // kShortestSynthetic.
  uint16_t inner_bytes = 0;
  uint16_t input = 0;
  uint64_t age_ns = 0;  // nanoseconds since injection, at the sender; at most 2^48 - 1 (78 hours)
  uint8_t queue = 0;
  uint8_t priority = 0;  // 0..7
  bool synthetic = false;
  bool fixed = false;  // the tag also says the ports
};

// The rules on which both ends of a trunk agree.
struct TrunkRules {
  uint32_t rows = 0;  // a power of two
  int stage = 0;      // the stage that every packet crossed last
  int hops_left = 0;  // the hops left in every tag
  TagLayout tags;
  int queues = 1;
  uint32_t max_frame_bytes = 1518;  // the longest frame of a host or synthetic packet
};

TrunkRules MakeTrunkRules(const Network& network, int after_stage, int queues,
                          uint32_t max_frame_bytes);

// Writes the kTrunkOverhead bytes that come in front of the host's frame.
void WriteTrunkHeader(const TrunkPacket& packet, const TrunkRules& rules, uint8_t* out);

// Reads these bytes back from a frame of `length` bytes. If the function returns false, `reason`
// says what is wrong with the frame.
bool ReadTrunkFrame(const uint8_t* bytes, uint32_t length, const TrunkRules& rules,
                    TrunkPacket& packet, DropReason& reason);

// The queue pair of a packet that begins at `row` behind the trunk. Each queue pair has an equal
// part of consecutive rows, so a worker of a block of rows needs only its own queue pairs, and
// packets that come to one node stay in order.
inline uint32_t TrunkQueueOf(Row row, const TrunkRules& rules) {
  return static_cast<uint32_t>(uint64_t{row} * static_cast<uint32_t>(rules.queues) >>
                               std::countr_zero(rules.rows));
}

// The rows of a queue pair, in order. With more queue pairs than rows, some queue pairs have no
// rows.
std::vector<Row> TrunkRowsOf(int queue, const TrunkRules& rules);

}  // namespace bfly::dataplane

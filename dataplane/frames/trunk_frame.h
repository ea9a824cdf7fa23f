// SPDX-License-Identifier: Apache-2.0
// A packet between two data planes, as the bytes of an Ethernet frame: outer Ethernet header,
// TrunkHeader, and the host's frame unless the packet is synthetic. Pure.
#pragma once

#include <cstdint>

#include "dataplane/core/ledger.h"
#include "topologies/network.h"
#include "topologies/tag.h"

namespace bfly::dataplane {

struct TrunkPacket {
  WireTag tag = 0;
  Row row = 0;
  uint32_t session = 0;      // of the sender since it started
  uint64_t sequence = 0;     // of the packet in its session and queue
  uint16_t inner_bytes = 0;  // of the host's frame; of a synthetic packet what it pretends
  uint16_t input = 0;
  uint64_t age_ns = 0;  // since injection, at the sender; at most 2^48 - 1 (78 hours)
  uint8_t queue = 0;
  uint8_t priority = 0;  // 0..7
  bool synthetic = false;
  bool fixed = false;  // the tag says the ports too
};

// What both ends of a trunk agree on.
struct TrunkRules {
  uint32_t rows = 0;
  int stage = 0;      // that every packet crossed last
  int hops_left = 0;  // of every tag
  TagLayout tags;
  int queues = 1;
  uint32_t max_frame_bytes = 1518;  // of the host's frame
};

TrunkRules MakeTrunkRules(const Network& network, int after_stage, int queues,
                          uint32_t max_frame_bytes);

// Writes the kTrunkOverhead bytes that come in front of the host's frame.
void WriteTrunkHeader(const TrunkPacket& packet, const TrunkRules& rules, uint8_t* out);

// Reads them back from a frame of `length` bytes. False: `reason` says what is wrong with it.
bool ReadTrunkFrame(const uint8_t* bytes, uint32_t length, const TrunkRules& rules,
                    TrunkPacket& packet, DropReason& reason);

// The transmit queue of a tag: the bits of the hops to come choose it, so packets of one pair of
// rows stay in order.
inline uint32_t TrunkQueueOf(WireTag tag, uint32_t queues) {
  return static_cast<uint32_t>(((tag >> 32) * queues) >> 32);
}

}  // namespace bfly::dataplane

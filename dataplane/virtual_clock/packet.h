// SPDX-License-Identifier: Apache-2.0
// Time and packets under the virtual clock.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

#include "topologies/tag.h"

namespace bfly::dataplane {

// Virtual time in ticks. A unit of service is a whole number of ticks (VirtualConfig), so that sums
// are exact and slots fall on ticks.
using Ticks = uint64_t;
inline constexpr Ticks kNever = std::numeric_limits<Ticks>::max();

// A bucket of a window is at most 2^32 ticks (packet_vectors.h), so that a place in it has 32 bits.
inline constexpr int kMostBucketBits = 32;

// A time after the end of every run. The sum of two such times is below kNever.
inline constexpr Ticks kFar = Ticks{1} << 62;
// Rounds to a number of ticks, at most kFar. Rates may be so low that gaps and windows are longer
// than kFar.
inline Ticks ToTicksBeforeFar(double ticks) {
  return static_cast<Ticks>(std::min(ticks, static_cast<double>(kFar)));
}

// A sum of ticks over packets may pass 2^64.
__extension__ using TickSum = unsigned __int128;

// The next place if all bits of the mask are ones, the same place if no bit is. Multiplying by the
// size of a packet would take longer.
template <typename Packet>
inline Packet* NextIf(uint64_t mask, Packet* place) {
  return reinterpret_cast<Packet*>(reinterpret_cast<uintptr_t>(place) + (mask & sizeof(Packet)));
}

// Routing bits and birth of a packet in one word: the bits of the hops to come from the top, and
// below them the birth. A hop reads the top bit and turns the word left by one, so behind the last
// hop the birth stands at the top. Births are kept modulo 2^(64 - hops) ticks, which is longer than
// any run.
using PacketWord = uint64_t;

struct VirtualPacket {
  Ticks time;  // when the packet arrives at the node that handles it next
  PacketWord word;
};
static_assert(sizeof(VirtualPacket) == 16);

constexpr PacketWord MakeWord(Tag tag, int hops, Ticks birth) {
  return tag << (64 - hops) | (birth & (~uint64_t{0} >> hops));
}
constexpr unsigned PortOf(PacketWord word) { return static_cast<unsigned>(word >> 63); }
constexpr PacketWord AfterHop(PacketWord word) { return std::rotl(word, 1); }
// The birth of a packet behind its last hop.
constexpr Ticks BirthOf(PacketWord word, int hops) { return word >> hops; }

}  // namespace bfly::dataplane

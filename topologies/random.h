// SPDX-License-Identifier: Apache-2.0
// Random numbers as pure functions of (seed, stream, counter). They are the same on every machine,
// compiler and version, in any order and from any thread. The generator is Philox4x32-10 (Salmon,
// Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace bfly {

using PhiloxBlock = std::array<uint32_t, 4>;
using PhiloxKey = std::array<uint32_t, 2>;

// Ten rounds of the S-P network of the paper's section 4.3, with the constants of that section.
constexpr PhiloxBlock Philox4x32(PhiloxBlock counter, PhiloxKey key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = uint64_t{0xD2511F53} * counter[0];
    const uint64_t product1 = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
               static_cast<uint32_t>(product1),
               static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
               static_cast<uint32_t>(product0)};
    key[0] += 0x9E3779B9;  // the golden ratio
    key[1] += 0xBB67AE85;  // sqrt(3) - 1
  }
  return counter;
}

// What random numbers are drawn for. Each use has a stream of its own, so one seed serves a whole
// fabric and no two uses share numbers. The values are part of what a seed means, so they must
// never change.
enum class RandomStream : uint32_t {
  kSwitchSettings = 1,   // F of BB_n
  kPermutation = 2,      // PermutationByName("random")
  kTraffic = 3,          // destinations of built-in sources
  kArrivals = 4,         // packets of the virtual clock: gap and destination
  kFirstArrival = 5,     // the first gap of each row
  kRandomWiring = 6,     // sigma_0 and sigma_1 of RB_n
  kValiant = 7,          // the row between the copies, by input
  kOneChoice = 8,        // the coin between p and p', by input
  kPlacement = 9,        // the disks of a data server's objects
  kLinkWinners = 10,     // the paths that a q-limited link keeps
  kDestinations = 11,    // independent uniform outputs, by input
  kLinkLoss = 12,        // packets lost on the wire, by link and packet
  kPriority = 20,        // classes of packets under the virtual clock
  kArcDecisions = 21,    // the way on after the k-th completion of a link (coupled sample paths)
  kRounds = 22,          // destinations of full rounds (Valiant-Brebner)
  kFlip = 30,            // switches of the first copy of BB_n: Ranade's flip
  kChurn = 31,           // circuits that come and go
  kSourceGaps = 40,      // gaps of built-in sources, by row and packet
  kOnOffPeriods = 41,    // on and off periods of built-in sources, by row and period
  kPortRule = 42,        // where generators for the rule `random` start, by stage
  kSplitters = 50,       // permutations of a multibutterfly, by stage, side, edge and row
  kEdgeRepair = 51,      // where the search for an edge that is not parallel starts
  kSplitterSample = 52,  // sets of inputs whose neighbours are counted
  kLinkFaults = 60,      // links that are down, by index
  kNodeFaults = 61,      // nodes that are down, by level and row
  kCountedFaults = 62,   // switches that are down where their number is given
  kPortCandidates = 70,  // where the ports of candidate paths start, by input and hop
  kRenaming = 80,        // new names of processors
  kExtraTurns = 81,      // directions in extra stages, by packet
  kQueuePriority = 82,   // priorities of packets in queues, by packet
  kStepPorts = 83,       // where the search for a port starts, by step, node and direction
  kMemoryWalk = 90,      // the cycle of lines that `bfly bench machine` walks
  kTest = 1000,          // the first of the streams that tests use
};

// Returns block `counter` of a stream. The counter words are {counter low, counter high, stream,
// attempt}, the key is {seed low, seed high}. `attempt` numbers the blocks of one draw that needs
// more than one.
constexpr PhiloxBlock RandomBlock(uint64_t seed, RandomStream stream, uint64_t counter,
                                  uint32_t attempt = 0) {
  return Philox4x32({static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32),
                     static_cast<uint32_t>(stream), attempt},
                    {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
}

// Where in a stream the random numbers of packet or period `index` of a row are. The counter has
// room for 2^40 of them. The bits of `index` above that go into `attempt`, which has 8 bits left
// for the blocks of one draw, so no two rows share numbers. Rows are below 2^24.
struct RowDraw {
  uint64_t counter;
  uint32_t attempt;  // of the first block
  friend constexpr bool operator==(const RowDraw&, const RowDraw&) = default;
};
constexpr RowDraw DrawOfRow(uint64_t row, uint64_t index) {
  constexpr int kIndexBits = 40, kAttemptBits = 8;
  return {row << kIndexBits | (index & ((uint64_t{1} << kIndexBits) - 1)),
          static_cast<uint32_t>(index >> kIndexBits) << kAttemptBits};
}

// Returns 64 bits: words 0 (low) and 1 of the block.
constexpr uint64_t Random64(uint64_t seed, RandomStream stream, uint64_t counter) {
  const PhiloxBlock block = RandomBlock(seed, stream, counter);
  return block[0] | uint64_t{block[1]} << 32;
}

// Returns a number that is uniform on 0..n-1, n >= 1, without modulo bias: the result is the high
// half of word * n, and a word whose low half is under 2^32 mod n is rejected for the next word
// (Lemire 2019, "Fast random integer generation in an interval", algorithm 5). The first block is
// that of `attempt`.
constexpr uint32_t RandomBelow(uint64_t seed, RandomStream stream, uint64_t counter, uint32_t n,
                               uint32_t attempt = 0) {
  for (;; ++attempt) {
    for (const uint32_t word : RandomBlock(seed, stream, counter, attempt)) {
      const uint64_t product = uint64_t{word} * n;
      const uint32_t low = static_cast<uint32_t>(product);
      if (low >= n || low >= (0u - n) % n) return static_cast<uint32_t>(product >> 32);
    }
  }
}

// Returns a uniform permutation of 0..n-1 (Fisher-Yates, from the top; step i uses counter
// first_counter + i).
std::vector<uint32_t> RandomPermutation(uint64_t seed, RandomStream stream, uint32_t n,
                                        uint64_t first_counter = 0);

}  // namespace bfly

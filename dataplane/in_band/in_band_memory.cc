// SPDX-License-Identifier: Apache-2.0
#include "dataplane/in_band/in_band_memory.h"

#include <bit>

#include "dataplane/programs/message.h"
#include "topologies/tag.h"

namespace bfly::dataplane {
namespace {

uint64_t BitsAsWords(uint64_t bits) { return (bits + 63) / 64 * 8; }

struct StageTables {
  bool collides = false;  // candidate paths may meet at the stage
  bool limited = false;   // links have a limit
};

// Circuits on each link, whether it is down, the mark of a pass where candidate paths may meet, a
// limit where there is one, and both ways over random cross links.
uint64_t StageBytes(const Network& network, int stage, StageTables tables) {
  const uint64_t links = uint64_t{network.rows()} * static_cast<uint64_t>(network.ports());
  uint64_t bytes = links * sizeof(uint32_t) + BitsAsWords(links);
  if (tables.collides) bytes += links;
  if (tables.limited) bytes += links * sizeof(uint32_t);
  if (!network.wiring(stage).table.empty()) bytes += 2 * network.rows() * sizeof(Row);
  return bytes;
}

// At each input the circuit that links count, the one that stands, and whether they differ; at each
// output how many circuits end there.
uint64_t BookBytes(uint64_t rows) {
  return rows * (2 * sizeof(WireTag) + sizeof(uint32_t) + sizeof(Row)) + BitsAsWords(rows);
}

}  // namespace

uint32_t SlotsFromWire(uint32_t rows) { return std::bit_ceil(MostMessages(rows) + 5); }

uint64_t InBandMemoryNeed(const Network& network, int first_stage, int last_stage,
                          const LinkCapacity& capacity) {
  const bool two_fold = network.kind() == NetworkKind::kTwoFoldButterfly;
  if (!two_fold && network.kind() != NetworkKind::kRandomlyWiredButterfly) return 0;
  const uint64_t rows = network.rows();
  const bool has_outputs = last_stage == network.stages() - 1;
  const int first_collision = two_fold ? network.dimension() / 2 : 0;
  uint64_t bytes = BookBytes(rows);
  for (int s = first_stage; s <= last_stage; ++s) {
    const bool collides = s >= first_collision && s < first_collision + network.dimension();
    bytes += StageBytes(network, s, {.collides = collides, .limited = capacity.limited()});
  }
  // The halves of both candidate paths at each input and output.
  if (two_fold) bytes += rows * 4 * sizeof(Row);
  // Circuits that end at each disk, and the mark of a pass.
  if (!two_fold && has_outputs) bytes += rows * (sizeof(uint32_t) + 1);
  // Outputs keep a whole pass and its marker.
  if (has_outputs) bytes += (uint64_t{MostMessages(network.rows())} + 1) * sizeof(Message);
  const int trunks = (first_stage > 0) + (has_outputs ? 0 : 1);
  bytes += static_cast<uint64_t>(trunks) * sizeof(Message) *
           (uint64_t{kSlotsToWire} + SlotsFromWire(network.rows()));
  return bytes;
}

}  // namespace bfly::dataplane

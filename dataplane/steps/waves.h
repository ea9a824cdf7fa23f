// SPDX-License-Identifier: Apache-2.0
// Upfal's algorithm for permutations on multibutterflies: packets cross the network in waves, and a
// node holds at most one packet (Diebold 2008, section 3; THEORY.md 5.2).
//
// The input of destination j belongs to wave j mod L. A wave starts when all packets of the
// previous wave have arrived. Even and odd phases take turns, beginning with an even one. A phase
// consists of 2c steps, one for each colour of links (topologies/edge_colouring.h), c =
// multiplicity. In a step every node on an even level (in an even phase; on an odd level in an odd
// phase) that holds a packet looks at its link of that colour. If the packet needs the direction of
// this link and the head holds no packet, the packet crosses the link.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "dataplane/steps/step_clock.h"
#include "topologies/crew.h"
#include "topologies/fault_set.h"
#include "topologies/network.h"

namespace bfly::dataplane {

class WaveWiring;

struct WavesConfig {
  // The destination of each input's packet; a permutation of the rows.
  std::vector<Row> destinations;
  // L, 1..rows. 1 is the variant without waves: all packets start at once.
  uint32_t waves = 1;
  // Whether WaveResult::level_packets is filled in: 4 * d bytes for each phase.
  bool record_levels = true;
  // The most phases of each wave; 0: no limit. Every wave ends, because it ends when no packet
  // moves.
  uint64_t phase_limit = 0;
  // Links that no packet may cross; may be null.
  const FaultSet* faults = nullptr;
  // Several workers call this now and then, perhaps at the same time. If it returns true, the run
  // ends with Cancelled. May be empty.
  std::function<bool()> interrupted = {};
};

struct WaveResult {
  uint64_t packets = 0;
  uint64_t delivered = 0;
  uint64_t moves = 0;   // links crossed
  uint64_t phases = 0;  // at least d and of the same parity as d, if the wave is done
  uint64_t steps = 0;   // 2c for each phase
  // kStuck: no packet moved in two phases one after the other, an even and an odd one, so no packet
  // will ever move. kLimit: the phase limit was reached.
  StepEnd end = StepEnd::kDone;
  // K_i, the packets at level i, 0 <= i < d: d numbers for the beginning of the first phase, d for
  // the end of each phase.
  std::vector<uint32_t> level_packets;
};

struct WavesResult {
  // The waves in the order in which they ran. Only the last wave can be one that is not done.
  std::vector<WaveResult> waves;
  // Sums over the waves.
  uint64_t packets = 0;
  uint64_t delivered = 0;
  uint64_t moves = 0;
  uint64_t phases = 0;
  uint64_t steps = 0;
  StepEnd end = StepEnd::kDone;  // how the last wave ended
};

// The potential sum over i of K_i * omega^i for each phase, from WaveResult::level_packets of a
// network with d levels before the outputs (Diebold 2008, Lemma 3).
std::vector<double> PotentialByPhase(const std::vector<uint32_t>& level_packets, int d,
                                     double omega);

// Waves are defined on networks whose d stages set the address from the left to the right, one
// position each: butterfly without extra stages, randomly wired, dilated, multibutterfly; also a
// wrapped butterfly of one pass. Results do not depend on the number of workers. The workers divide
// the waves among themselves, and at most two workers share one wave.
//
// InvalidArgument names the wrong field. Cancelled: `interrupted`. Memory for each worker: 2 to 4 *
// (d + 1) * rows bytes; for all of them 2c * d * rows * 5/4 bytes.
absl::StatusOr<WavesResult> RunWaves(const Network& network, const WavesConfig& config, Crew& crew);

// Runs waves as above, with tables of waves_rule.h that the caller has made once for many runs:
// `wiring` is WaveWiring::Make(network, config.faults).
absl::StatusOr<WavesResult> RunWaves(const Network& network, const WaveWiring& wiring,
                                     const WavesConfig& config, Crew& crew);

}  // namespace bfly::dataplane

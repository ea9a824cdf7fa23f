// SPDX-License-Identifier: Apache-2.0
#include "dataplane/steps/waves.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "dataplane/steps/waves_rule.h"
#include "topologies/permutation.h"

namespace bfly::dataplane {

absl::StatusOr<WaveWiring> WaveWiring::Make(const Network& network, const FaultSet* faults) {
  if (network.hops() != network.dimension() || !network.ends_left_to_right()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "network.kind: waves need stages that set every position of the address once, from the "
        "left to the right, such as those of a multibutterfly; this is a ",
        KindName(network.kind()), " with ", network.hops(), " hops for ", network.dimension(),
        " positions"));
  }
  absl::StatusOr<EdgeColouring> colouring = EdgeColouring::Make(network);
  if (!colouring.ok()) return colouring.status();
  WaveWiring wiring(*std::move(colouring));
  const int colours = network.ports();
  wiring.dimension_ = network.dimension();
  wiring.words_ = (network.rows() + 63) / 64;
  wiring.leads_.resize(static_cast<size_t>(network.stages() * colours) * wiring.words_ * 2);
  for (int stage = 0; stage < network.stages(); ++stage) {
    for (int colour = 0; colour < colours; ++colour) {
      for (Row row = 0; row < network.rows(); ++row) {
        const LinkId link{stage, row, wiring.colouring_.port(stage, colour, row)};
        if (faults != nullptr && faults->blocks(network.link_index(link))) continue;
        const size_t level = static_cast<size_t>(stage * colours + colour);
        const auto direction = static_cast<size_t>(network.direction_of(link.port));
        wiring.leads_[(level * wiring.words_ + row / 64) * 2 + direction] |= uint64_t{1}
                                                                             << row % 64;
      }
    }
  }
  return wiring;
}

std::vector<double> PotentialByPhase(const std::vector<uint32_t>& level_packets, int d,
                                     double omega) {
  std::vector<double> potential;
  for (size_t first = 0; first < level_packets.size(); first += static_cast<size_t>(d)) {
    double sum = 0, weight = 1;
    for (size_t level = 0; level < static_cast<size_t>(d); ++level, weight *= omega) {
      sum += weight * level_packets[first + level];
    }
    potential.push_back(sum);
  }
  return potential;
}

namespace {

// A wave's packets for one half of the rows. These packets meet packets for the other half only at
// inputs, where every node holds one packet. So the two halves of a wave, and all waves, can be run
// separately.
struct WavePart {
  uint64_t packets = 0;
  uint64_t delivered = 0;
  uint64_t moves = 0;
  uint64_t moved_at = 0;  // how many steps were over when the last packet moved
  StepEnd end = StepEnd::kDone;
  std::vector<uint32_t> level_packets;
};

struct WaveRun {
  const Network& network;
  const WavesConfig& config;
  const WaveWiring& wiring;
  uint32_t parts;                // parts of a wave: 1 or 2
  std::vector<Row> inputs = {};  // the input of each destination's packet

  uint64_t PhaseSteps() const { return static_cast<uint64_t>(network.ports()); }
  uint64_t StepLimit() const {
    const uint64_t most = UINT64_MAX / PhaseSteps();
    return config.phase_limit == 0 || config.phase_limit > most ? UINT64_MAX
                                                                : config.phase_limit * PhaseSteps();
  }
};

// Wave `wave` of the packets whose destinations are first..end-1.
template <typename Cell>
WavePart RunPart(const WaveRun& run, StepClock<WavesRule<Cell>>& clock, uint32_t wave, Row first,
                 Row end) {
  const int d = run.network.dimension();
  WavePart part;
  clock.Restart();
  const Row waves = run.config.waves;
  for (Row to = first + (wave + waves - first % waves) % waves; to < end; to += waves) {
    clock.node(0, run.inputs[to]).packet = static_cast<Cell>(to);
    clock.Wake(0, run.inputs[to]);
    ++part.packets;
  }
  const auto record = [&] {
    for (int level = 0; level < d; ++level) {
      part.level_packets.push_back(static_cast<uint32_t>(clock.ActiveNodes(level)));
    }
  };
  const uint64_t phase = run.PhaseSteps();
  if (run.config.record_levels) record();
  const StepLimits limits{
      .steps = run.StepLimit(),
      .idle_steps = 2 * phase,
      .interrupted = run.config.interrupted ? &run.config.interrupted : nullptr};
  part.end = clock.Run(limits, [&](const auto& at_end) {
    if (run.config.record_levels && at_end.step() % phase == 0) record();
  });
  if (run.config.record_levels && clock.step() % phase != 0) record();
  part.moves = clock.tally().moves;
  part.moved_at = clock.moved_at();
  part.delivered = part.packets;
  if (part.end != StepEnd::kDone) {
    for (int level = 0; level < d; ++level) part.delivered -= clock.ActiveNodes(level);
  }
  return part;
}

// Adds up the parts of a wave as if they had run side by side.
WaveResult Merge(const WaveRun& run, const WavePart* parts) {
  const uint64_t phase = run.PhaseSteps();
  WaveResult wave;
  uint64_t moved_at = 0;
  bool stuck = false, limit = false;
  for (uint32_t i = 0; i < run.parts; ++i) {
    const WavePart& part = parts[i];
    wave.packets += part.packets;
    wave.delivered += part.delivered;
    wave.moves += part.moves;
    moved_at = std::max(moved_at, part.moved_at);
    stuck |= part.end == StepEnd::kStuck;
    limit |= part.end == StepEnd::kLimit;
  }
  // A wave is stuck when no part has moved for two phases.
  const uint64_t steps = stuck ? moved_at + 2 * phase : moved_at;
  if (limit || steps > run.StepLimit()) {
    wave.end = StepEnd::kLimit;
    wave.phases = run.config.phase_limit;
  } else {
    wave.end = stuck ? StepEnd::kStuck : StepEnd::kDone;
    wave.phases = (steps + phase - 1) / phase;
  }
  wave.steps = wave.phases * phase;
  if (!run.config.record_levels) return wave;
  const auto d = static_cast<size_t>(run.network.dimension());
  wave.level_packets.resize((wave.phases + 1) * d);
  for (uint32_t i = 0; i < run.parts; ++i) {
    // After a part's last phase no packet of the part moves.
    const std::vector<uint32_t>& part = parts[i].level_packets;
    for (size_t at = 0; at < wave.level_packets.size(); ++at) {
      wave.level_packets[at] += part[at < part.size() ? at : part.size() - d + at % d];
    }
  }
  return wave;
}

template <typename Cell>
absl::StatusOr<WavesResult> RunAll(const WaveRun& run, Crew& crew) {
  using Clock = StepClock<WavesRule<Cell>>;
  const WavesRule<Cell> rule(run.wiring);
  std::vector<std::unique_ptr<Crew>> alone(static_cast<size_t>(crew.workers()));
  std::vector<std::unique_ptr<Clock>> clocks(alone.size());
  std::vector<WavePart> parts(static_cast<size_t>(run.config.waves) * run.parts);
  crew.ForEach(parts.size(), [&](int worker, size_t index) {
    const auto w = static_cast<size_t>(worker);
    if (clocks[w] == nullptr) {
      alone[w] = std::make_unique<Crew>(1);
      clocks[w] = std::make_unique<Clock>(run.network, rule, *alone[w]);
    }
    const Row rows = run.network.rows() / run.parts;
    const Row first = static_cast<Row>(index % run.parts) * rows;
    parts[index] = RunPart<Cell>(run, *clocks[w], static_cast<uint32_t>(index / run.parts), first,
                                 first + rows);
  });
  for (const WavePart& part : parts) {
    if (part.end == StepEnd::kInterrupted) return absl::CancelledError("interrupted in a wave");
  }
  WavesResult result;
  for (uint32_t wave = 0; wave < run.config.waves && result.end == StepEnd::kDone; ++wave) {
    const WaveResult& merged =
        result.waves.emplace_back(Merge(run, &parts[static_cast<size_t>(wave) * run.parts]));
    result.packets += merged.packets;
    result.delivered += merged.delivered;
    result.moves += merged.moves;
    result.phases += merged.phases;
    result.steps += merged.steps;
    result.end = merged.end;
  }
  return result;
}

}  // namespace

absl::StatusOr<WavesResult> RunWaves(const Network& network, const WavesConfig& config,
                                     Crew& crew) {
  const absl::StatusOr<WaveWiring> wiring = WaveWiring::Make(network, config.faults);
  if (!wiring.ok()) return wiring.status();
  return RunWaves(network, *wiring, config, crew);
}

absl::StatusOr<WavesResult> RunWaves(const Network& network, const WaveWiring& wiring,
                                     const WavesConfig& config, Crew& crew) {
  if (absl::Status status = CheckPermutation(config.destinations, network.rows()); !status.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("destinations: ", status.message()));
  }
  if (config.waves < 1 || config.waves > network.rows()) {
    return absl::InvalidArgumentError(absl::StrCat("waves: ", config.waves, " is outside 1..",
                                                   network.rows(), ", the rows of the network"));
  }
  const auto workers = static_cast<uint32_t>(crew.workers());
  WaveRun run{network, config, wiring, workers > 1 && config.waves < 4 * workers ? 2u : 1u};
  run.inputs.resize(network.rows());
  for (Row input = 0; input < network.rows(); ++input) {
    run.inputs[config.destinations[input]] = input;
  }
  // The smaller cells take half the memory, and runs are twice as fast where the cells otherwise
  // would not fit the caches.
  if (network.rows() <= 1u << 15) return RunAll<uint16_t>(run, crew);
  return RunAll<uint32_t>(run, crew);
}

}  // namespace bfly::dataplane

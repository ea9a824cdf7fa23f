// SPDX-License-Identifier: Apache-2.0
#include "dataplane/bench/step_bench.h"

#include <algorithm>
#include <chrono>
#include <queue>

#include "absl/strings/str_cat.h"
#include "dataplane/steps/greedy.h"
#include "dataplane/steps/waves.h"
#include "dataplane/steps/waves_rule.h"
#include "dataplane/virtual_clock/cpu_seconds.h"
#include "topologies/edge_colouring.h"
#include "topologies/permutation.h"
#include "topologies/random.h"

namespace bfly::dataplane {
namespace {

// The plain loops do this share of the moves.
constexpr double kPlainShare = 0.2;

struct Done {
  uint64_t moves = 0;
  uint64_t steps = 0;
  friend bool operator==(const Done&, const Done&) = default;
};

// Waves as one writes them first: every step looks at all nodes of the levels that send.
Done PlainWaves(const Network& network, const EdgeColouring& colouring,
                const Permutation& destinations, uint32_t waves) {
  constexpr Row kNobody = UINT32_MAX;
  const int d = network.dimension(), colours = colouring.colours();
  std::vector<std::vector<Row>> held(static_cast<size_t>(d) + 1,
                                     std::vector<Row>(network.rows(), kNobody));
  Done done;
  for (uint32_t wave = 0; wave < waves; ++wave) {
    uint64_t left = 0;
    for (Row input = 0; input < network.rows(); ++input) {
      if (destinations[input] % waves != wave) continue;
      held[0][input] = destinations[input];
      ++left;
    }
    for (int parity = 0; left > 0; parity ^= 1) {
      for (int colour = 0; colour < colours; ++colour, ++done.steps) {
        for (int level = parity; level < d; level += 2) {
          const auto l = static_cast<size_t>(level);
          for (Row row = 0; row < network.rows(); ++row) {
            const Row packet = held[l][row];
            if (packet == kNobody) continue;
            const int port = colouring.port(level, colour, row);
            if (network.direction_of(port) != static_cast<int>(packet >> (d - 1 - level) & 1)) {
              continue;
            }
            const Row head = network.next_row(level, row, port);
            if (level + 1 == d) {
              --left;
            } else {
              if (held[l + 1][head] != kNobody) continue;
              held[l + 1][head] = packet;
            }
            held[l][row] = kNobody;
            ++done.moves;
          }
        }
      }
    }
  }
  return done;
}

// Greedy routing as one writes it first: a queue for each node and direction. Heads come before
// tails, so that a packet moves once a step.
Done PlainGreedy(const Network& network, const std::vector<Row>& destinations) {
  const int d = network.dimension();
  const auto degree = static_cast<uint64_t>(network.multiplicity());
  const size_t each = destinations.size() / network.rows();
  std::vector<std::queue<Row>> queues(static_cast<size_t>(d) * network.rows() * 2);
  const auto queue_of = [&](int level, Row row, Row to) -> std::queue<Row>& {
    const size_t node = static_cast<size_t>(level) * network.rows() + row;
    return queues[node * 2 + (to >> (d - 1 - level) & 1)];
  };
  for (size_t i = 0; i < destinations.size(); ++i) {
    queue_of(0, static_cast<Row>(i / each), destinations[i]).push(destinations[i]);
  }
  Done done;
  for (uint64_t left = destinations.size(); left > 0; ++done.steps) {
    for (int level = d - 1; level >= 0; --level) {
      for (Row row = 0; row < network.rows(); ++row) {
        for (int direction = 0; direction < kDirections; ++direction) {
          std::queue<Row>& queue = queues[(static_cast<size_t>(level) * network.rows() + row) * 2 +
                                          static_cast<size_t>(direction)];
          for (uint64_t k = 0; k < degree && !queue.empty(); ++k) {
            const Row packet = queue.front();
            queue.pop();
            ++done.moves;
            if (level + 1 == d) {
              --left;
              continue;
            }
            const int port =
                direction * network.multiplicity() + static_cast<int>((done.steps + k) % degree);
            queue_of(level + 1, network.next_row(level, row, port), packet).push(packet);
          }
        }
      }
    }
  }
  return done;
}

// Calls run(i), i = 0, 1, ..., until about `moves` moves are done, and adds the speeds.
template <typename Run>
Done Measure(double moves, StepBenchSpeeds& speeds, Run&& run) {
  Done done;
  const double cpu = CpuSeconds();
  const auto start = std::chrono::steady_clock::now();
  for (uint64_t i = 0; static_cast<double>(done.moves) < moves; ++i) {
    const Done one = run(i);
    done.moves += one.moves;
    done.steps += one.steps;
  }
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
  speeds.per_second.push_back(static_cast<double>(done.moves) / wall.count());
  speeds.per_cpu_second.push_back(static_cast<double>(done.moves) / (CpuSeconds() - cpu));
  return done;
}

absl::Status Check(const StepBenchOptions& options) {
  if (options.workers < 1 || options.workers > 256) {
    return absl::InvalidArgumentError(
        absl::StrCat("workers: ", options.workers, " is outside 1..256"));
  }
  if (options.waves < 1 || options.waves > options.network.rows) {
    return absl::InvalidArgumentError(absl::StrCat("waves: ", options.waves, " is outside 1..",
                                                   options.network.rows, ", the rows"));
  }
  if (options.packets < 1 || options.packets > 1024) {
    return absl::InvalidArgumentError(
        absl::StrCat("packets: ", options.packets, " is outside 1..1024"));
  }
  if (options.runs < 1 || options.runs > 100) {
    return absl::InvalidArgumentError(absl::StrCat("runs: ", options.runs, " is outside 1..100"));
  }
  if (!(options.moves >= 1 && options.moves <= 1e9)) {
    return absl::InvalidArgumentError(absl::StrCat("moves: ", options.moves, " is outside 1..1e9"));
  }
  return absl::OkStatus();
}

absl::Status Differ(const char* program, const Done& clock, const Done& plain) {
  return absl::InternalError(absl::StrCat(
      program, ": the step clock made ", clock.moves, " moves in ", clock.steps,
      " steps and the plain loop ", plain.moves, " in ", plain.steps, ": the figures are void"));
}

class StepBenchRuns {
 public:
  StepBenchRuns(const StepBenchOptions& options, const Network& network, const WaveWiring& wiring)
      : options_(options), network_(network), wiring_(wiring), crew_(options.workers) {
    for (uint64_t i = 0; i < kInputs; ++i) {
      permutations_.push_back(*PermutationByName("random", network.rows(), options.seed + i));
      std::vector<Row>& destinations =
          destinations_.emplace_back(static_cast<size_t>(network.rows()) * options.packets);
      for (size_t packet = 0; packet < destinations.size(); ++packet) {
        destinations[packet] =
            RandomBelow(options.seed + i, RandomStream::kDestinations, packet, network.rows());
      }
    }
  }

  absl::Status Run(StepBenchResult& result) {
    const double plain_moves = options_.moves * kPlainShare;
    if (Waves(0) != PlainWavesOf(0)) return Differ("waves", Waves(0), PlainWavesOf(0));
    if (Greedy(0) != PlainGreedyOf(0)) return Differ("greedy", Greedy(0), PlainGreedyOf(0));
    for (int run = 0; run < options_.runs; ++run) {
      Add(Measure(options_.moves, result.waves.clock, [&](uint64_t i) { return Waves(i); }),
          result.waves);
      Measure(plain_moves, result.waves.plain, [&](uint64_t i) { return PlainWavesOf(i); });
      Add(Measure(options_.moves, result.greedy.clock, [&](uint64_t i) { return Greedy(i); }),
          result.greedy);
      Measure(plain_moves, result.greedy.plain, [&](uint64_t i) { return PlainGreedyOf(i); });
    }
    return absl::OkStatus();
  }

 private:
  static constexpr uint64_t kInputs = 16;  // permutations, and sets of destinations

  static void Add(const Done& done, StepBenchProgram& program) {
    program.moves += done.moves;
    program.steps += done.steps;
  }
  Done Waves(uint64_t i) {
    const absl::StatusOr<WavesResult> result = RunWaves(network_, wiring_,
                                                        {.destinations = permutations_[i % kInputs],
                                                         .waves = options_.waves,
                                                         .record_levels = false},
                                                        crew_);
    return {result->moves, result->steps};
  }
  Done PlainWavesOf(uint64_t i) const {
    return PlainWaves(network_, wiring_.colouring(), permutations_[i % kInputs], options_.waves);
  }
  Done Greedy(uint64_t i) {
    const absl::StatusOr<GreedyResult> result =
        RunGreedy(network_, {.destinations = destinations_[i % kInputs]}, crew_);
    return {result->moves, result->steps};
  }
  Done PlainGreedyOf(uint64_t i) const { return PlainGreedy(network_, destinations_[i % kInputs]); }

  const StepBenchOptions& options_;
  const Network& network_;
  const WaveWiring& wiring_;
  Crew crew_;
  std::vector<Permutation> permutations_;
  std::vector<std::vector<Row>> destinations_;
};

}  // namespace

absl::StatusOr<StepBenchResult> RunStepBench(const StepBenchOptions& options) {
  if (absl::Status status = Check(options); !status.ok()) return status;
  const absl::StatusOr<Network> network = Network::Make(options.network);
  if (!network.ok()) return network.status();
  const absl::StatusOr<WaveWiring> wiring = WaveWiring::Make(*network, nullptr);
  if (!wiring.ok()) return wiring.status();
  StepBenchResult result;
  StepBenchRuns bench(options, *network, *wiring);
  if (absl::Status status = bench.Run(result); !status.ok()) return status;
  return result;
}

}  // namespace bfly::dataplane

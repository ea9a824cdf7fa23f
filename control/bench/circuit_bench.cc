// SPDX-License-Identifier: Apache-2.0
#include "control/bench/circuit_bench.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/bench/textbook.h"
#include "control/protocols/circuit_set.h"

namespace bfly::control {
namespace {

// A run is repeated until it has this many operations, so that the clock can resolve it and the
// cache contents that the other implementation left do not matter.
constexpr uint32_t kLeastOperations = 1 << 20;

// Passes of a run whose passes have so many operations each.
uint32_t PassesOf(uint32_t operations) { return (kLeastOperations + operations - 1) / operations; }

double CpuSeconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

uint64_t PeakBytes() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

// bfly's implementation and the textbook's. Each call is one run. `agree` compares what both chose.
struct TextbookComparison {
  uint64_t operations = 0;
  std::function<void()> ours;
  std::function<void()> textbook;
  std::function<bool()> agree;
};

// Two permutations set up and released in different orders.
struct MinimumState {
  MinimumState(const Network& of, uint64_t seed)
      : network(of),
        order(PermutationByName("random", of.rows(), seed + 1).value()),
        outputs(PermutationByName("random", of.rows(), seed + 2).value()),
        chooser(MakeChooser("minimum", network).value()),
        circuits(network),
        plain(network),
        chosen(of.rows()),
        expected(of.rows()) {}

  const Network network;
  Permutation order, outputs;
  std::unique_ptr<PathChooser> chooser;
  CircuitSet circuits;
  textbook::Minimum plain;
  std::vector<uint8_t> chosen, expected;  // by input: whether p' was taken
};

TextbookComparison CompareMinimum(const Network& network, uint64_t seed) {
  const Row rows = network.rows();
  auto state = std::make_shared<MinimumState>(network, seed);
  const uint32_t passes = PassesOf(2 * rows);
  return {.operations = uint64_t{2} * rows * passes,
          .ours =
              [state, rows, passes] {
                for (uint32_t pass = 0; pass < passes; ++pass) {
                  for (const Row input : state->order) {
                    const auto path =
                        state->circuits.SetUp(*state->chooser, input, state->outputs[input]);
                    state->chosen[input] = path->choice == PathChoice::kPPrime;
                  }
                  for (Row input = 0; input < rows; ++input) {
                    state->circuits.Release(input).IgnoreError();
                  }
                }
              },
          .textbook =
              [state, rows, passes] {
                for (uint32_t pass = 0; pass < passes; ++pass) {
                  for (const Row input : state->order) {
                    state->expected[input] = state->plain.SetUp(input, state->outputs[input]);
                  }
                  for (Row input = 0; input < rows; ++input) state->plain.Release(input);
                }
              },
          .agree = [state] { return state->chosen == state->expected; }};
}

struct RouteState {
  Network network;
  Permutation outputs;
  RouteResult result;
  std::vector<int> choice;
  std::vector<Row> middle;
  uint32_t congestion = 0;
};

// Makes a run of `passes` calls.
std::function<void()> Repeated(uint32_t passes, std::function<void()> call) {
  return [passes, call = std::move(call)] {
    for (uint32_t pass = 0; pass < passes; ++pass) call();
  };
}

// Routes a whole permutation at once.
TextbookComparison CompareRoute(const CircuitBenchOptions& options, const Network& network) {
  const std::string& protocol = options.protocol;
  const uint64_t seed = options.seed;
  const Row rows = network.rows();
  auto state = std::make_shared<RouteState>(
      RouteState{.network = network,
                 .outputs = PermutationByName("random", rows, seed + 2).value(),
                 .result = {},
                 .choice = {},
                 .middle = {}});
  const uint32_t passes = PassesOf(rows);
  TextbookComparison comparison{
      .operations = uint64_t{rows} * passes,
      .ours =
          [state, options] {
            state->result = RoutePermutation(options.protocol, state->network, state->outputs,
                                             {.seed = options.seed, .workers = options.workers})
                                .value();
          },
      .textbook = nullptr,
      .agree = nullptr};
  if (protocol == "collision") {
    comparison.textbook = [state] {
      state->choice = textbook::Collision(state->network, state->outputs,
                                          CollisionThreshold(state->network.dimension()));
    };
    comparison.agree = [state] {
      return std::equal(state->choice.begin(), state->choice.end(), state->result.paths.begin(),
                        [](int choice, const CircuitPath& path) {
                          return path.choice == (choice == 0   ? PathChoice::kP
                                                 : choice == 1 ? PathChoice::kPPrime
                                                               : PathChoice::kArbitrary);
                        });
    };
  } else if (protocol == "benes") {
    comparison.textbook = [state] { state->middle = textbook::Looping(state->outputs); };
    comparison.agree = [state] {
      return std::all_of(
          state->result.paths.begin(), state->result.paths.end(), [&](const CircuitPath& path) {
            return path.tag == TagThrough(state->network, state->middle[path.input], path.output);
          });
    };
  } else {
    comparison.textbook = [state, protocol, seed] {
      state->congestion = textbook::OneRandomPath(state->network, state->outputs, protocol, seed);
    };
    comparison.agree = [state] { return state->congestion == state->result.congestion; };
  }
  comparison.ours = Repeated(passes, std::move(comparison.ours));
  comparison.textbook = Repeated(passes, std::move(comparison.textbook));
  return comparison;
}

}  // namespace

std::vector<std::string> BenchedProtocols() {
  return {"minimum", "collision", "benes", "greedy", "one_choice", "valiant"};
}

absl::StatusOr<CircuitBenchResult> RunCircuitBench(const CircuitBenchOptions& options) {
  const std::vector<std::string> names = BenchedProtocols();
  if (std::find(names.begin(), names.end(), options.protocol) == names.end()) {
    return absl::InvalidArgumentError(absl::StrCat("protocol: \"", options.protocol,
                                                   "\" has no bench; use one of ",
                                                   absl::StrJoin(names, ", ")));
  }
  if (options.runs < 1 || options.runs > 1000) {
    return absl::InvalidArgumentError(absl::StrCat("runs: ", options.runs, " is outside 1..1000"));
  }
  const NetworkKind kind =
      options.protocol == "benes" ? NetworkKind::kBenes : NetworkKind::kTwoFoldButterfly;
  // An empty batch on the smallest network shows whether the protocol takes the option.
  const Network smallest = Network::Make({.kind = kind, .rows = kMinRows}).value();
  if (const auto taken =
          RoutePermutation(options.protocol, LinkLoad(smallest), {}, {.workers = options.workers});
      !taken.ok()) {
    return taken.status();
  }
  const absl::StatusOr<Network> network =
      Network::Make({.kind = kind, .rows = options.rows, .seed = options.seed});
  if (!network.ok()) return network.status();
  const TextbookComparison comparison = options.protocol == "minimum"
                                            ? CompareMinimum(*network, options.seed)
                                            : CompareRoute(options, *network);
  std::vector<double> wall, cpu, textbook;
  uint64_t peak_bytes = 0;
  using Clock = std::chrono::steady_clock;
  const auto since = [](Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  for (int run = 0; run < options.runs; ++run) {
    const double cpu_start = CpuSeconds();
    auto start = Clock::now();
    comparison.ours();
    wall.push_back(since(start));
    cpu.push_back(CpuSeconds() - cpu_start);
    if (run == 0) peak_bytes = PeakBytes();
    // The textbook is slow, so it gets half as many runs.
    if (run % 2 != 0) continue;
    start = Clock::now();
    comparison.textbook();
    textbook.push_back(since(start));
  }
  if (!comparison.agree()) {
    return absl::InternalError(absl::StrCat(
        options.protocol, ": the textbook implementation chose other paths; the figures are void"));
  }
  return CircuitBenchResult{.network = std::string(KindName(kind)),
                            .operations = comparison.operations,
                            .seconds = dataplane::StatisticsOf(wall),
                            .cpu_seconds = dataplane::StatisticsOf(cpu),
                            .textbook_seconds = dataplane::StatisticsOf(textbook),
                            .textbook_runs = static_cast<int>(textbook.size()),
                            .peak_bytes = peak_bytes};
}

}  // namespace bfly::control

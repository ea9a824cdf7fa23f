// SPDX-License-Identifier: Apache-2.0
#include "control/measure/steps/waves.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "control/measure/circuits/circuit_claim_parts.h"
#include "control/measure/steps/waves_theory.h"
#include "dataplane/steps/waves.h"

namespace bfly::control {
namespace {

using WaveFigures = std::map<std::string, double>;

constexpr char kDiebold[] = "Diebold 2008";

int LinksOfDirection(const StepPoint& point) {
  return point.Find("multiplicity") == nullptr ? 1 : static_cast<int>(point.count("multiplicity"));
}

// The number of paths from an input to an output; parallel links count apart. Exact while it is
// below 2^53 or a power of two.
double PathsBetween(const Network& network, Row input, Row output) {
  std::vector<double> paths(network.rows());
  paths[input] = 1;
  for (int stage = 0; stage < network.stages(); ++stage) {
    std::vector<double> next(network.rows());
    const int direction = static_cast<int>(output >> (network.dimension() - 1 - stage) & 1);
    for (Row row = 0; row < network.rows(); ++row) {
      if (paths[row] == 0) continue;
      for (int k = 0; k < network.multiplicity(); ++k) {
        const int port = direction * network.multiplicity() + k;
        next[network.next_row(stage, row, port)] += paths[row];
      }
    }
    paths = std::move(next);
  }
  return paths[output];
}

// The most that is left of the potential after so many phases, in any wave.
double MostLeft(const dataplane::WavesResult& result, int d, double beta, size_t phases) {
  double most = 0;
  for (const dataplane::WaveResult& wave : result.waves) {
    const std::vector<double> potential =
        dataplane::PotentialByPhase(wave.level_packets, d, 1 / std::sqrt(beta));
    for (size_t t = 0; t + phases < potential.size(); ++t) {
      if (potential[t] > 0) most = std::max(most, potential[t + phases] / potential[t]);
    }
  }
  return most;
}

WaveFigures FiguresOf(const dataplane::WavesResult& result, const StepPoint& point) {
  WaveFigures figures;
  double most = 0, fewest = HUGE_VAL, wrong = 0, waves = 0;
  for (const dataplane::WaveResult& wave : result.waves) {
    if (wave.packets == 0) continue;
    ++waves;
    const auto phases = static_cast<double>(wave.phases);
    most = std::max(most, phases);
    fewest = std::min(fewest, phases);
    wrong += (wave.phases + static_cast<uint64_t>(point.d)) % 2 != 0;
  }
  figures["phases"] = most;
  figures["mean_phases"] = static_cast<double>(result.phases) / waves;
  figures["fewest_phases"] = fewest;
  figures["phases_in_all"] = static_cast<double>(result.phases);
  figures["steps"] = static_cast<double>(result.steps);
  figures["packets"] = static_cast<double>(result.packets);
  figures["left"] = static_cast<double>(point.rows() - result.delivered);
  figures["moves_per_packet"] =
      static_cast<double>(result.moves) / static_cast<double>(result.packets);
  figures["wrong_parity"] = wrong;
  figures["potential"] = MostLeft(result, point.d, 2, 2);
  figures["potential_one_phase"] = MostLeft(result, point.d, 2, 1);
  return figures;
}

// What Theorem 1 and Lemma 3 say if the wiring expands by beta.
void AddTheory(const dataplane::WavesResult& result, const StepPoint& point, double beta,
               WaveFigures& figures) {
  const uint32_t waves = point.count("waves");
  const double phases = WavePhases(point.d, waves, beta);
  figures["expansion"] = beta;
  figures["most_of_T"] = figures["phases"] / phases;
  figures["most_of_2T"] = figures["phases"] / (2 * phases);
  figures["all_of_LT"] = figures["phases_in_all"] / (waves * phases);
  figures["potential_over_delta"] = MostLeft(result, point.d, beta, 2) / WaveDelta(beta);
}

absl::StatusOr<WaveFigures> RunWavesTrial(const StepPoint& point, const StepRun& run) {
  const absl::StatusOr<Network> network = StepNetwork(point, run.seed);
  if (!network.ok()) return network.status();
  absl::StatusOr<Permutation> outputs = StepPermutation(point, run.seed);
  if (!outputs.ok()) return outputs.status();
  const double paths = PathsBetween(*network, 0, outputs->front());
  Crew crew(run.workers);
  const absl::StatusOr<dataplane::WavesResult> result =
      dataplane::RunWaves(*network,
                          {.destinations = *std::move(outputs),
                           .waves = point.count("waves"),
                           .interrupted = run.interrupted},
                          crew);
  if (!result.ok()) return result.status();
  WaveFigures figures = FiguresOf(*result, point);
  figures["paths"] = paths;
  if (network->kind() != NetworkKind::kMultibutterfly) return figures;
  const double beta = CertainExpansion(*network, point.count("waves"));
  if (beta > 1) AddTheory(*result, point, std::min(beta, kMostExpansion), figures);
  return figures;
}

absl::Status CheckWaves(const StepPoint& point) {
  const NetworkKind kind = StepNetworkSpec(point, 0).kind;
  const bool defined =
      kind == NetworkKind::kButterfly || kind == NetworkKind::kRandomlyWiredButterfly ||
      kind == NetworkKind::kDilatedButterfly || kind == NetworkKind::kMultibutterfly;
  if (!defined) {
    return absl::InvalidArgumentError(
        absl::StrCat("network: waves do not run on ", KindName(kind),
                     " (allowed: butterfly, randomly_wired_butterfly, dilated_butterfly, "
                     "multibutterfly)"));
  }
  if (point.count("waves") > point.rows()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "waves: ", point.count("waves"), " waves are more than the rows, ", point.rows()));
  }
  return absl::OkStatus();
}

std::string AboutMultibutterflies(const StepPoint& point) {
  return StepNetworkSpec(point, 0).kind == NetworkKind::kMultibutterfly
             ? ""
             : "is about multibutterflies";
}

double Granted(const StepPoint& point) {
  return GrantedExpansion(LinksOfDirection(point), point.count("waves"));
}

// Lemma 1 says that there are wirings that expand enough. The claim is about these only.
Claim OfGrantedExpansion(Claim claim) {
  claim.about = AboutMultibutterflies;
  claim.vacuous = [](const StepPoint& point) -> std::string {
    if (Granted(point) > 1) return "";
    return absl::StrCat("Lemma 1 grants no expansion above 1 with ", LinksOfDirection(point),
                        " links a direction and ", point.count("waves"), " waves");
  };
  claim.undecided = [](const Measurement& m) -> std::string {
    const StepPoint& point = m.point;
    const double granted = Granted(point);
    for (const Trial& trial : m.trials) {
      if (granted <= 1 || trial.figure("expansion") >= granted) continue;
      return absl::StrCat("Lemma 1 says that some wirings expand by ", granted,
                          ", and it is not known of these");
    }
    return "";
  };
  return claim;
}

// The theory's value depends on the expansion of the wiring, so the trial takes the quotient.
Claim OfThisWiring(Claim claim, const std::string& quotient) {
  claim.about = AboutMultibutterflies;
  claim.relation = Relation::kAtMost;
  claim.theory = [](const StepPoint&) { return 1; };
  claim.undecided = [quotient](const Measurement& m) -> std::string {
    for (const Trial& trial : m.trials) {
      if (!std::isnan(trial.figure(quotient))) return "";
    }
    return "no wiring is known to expand by more than 1";
  };
  return InEveryTrial(std::move(claim), quotient);
}

Claim OfEveryWave(Claim claim, const std::string& figure) {
  claim.invariant = true;
  return InEveryTrial(std::move(claim), figure);
}

std::vector<Claim> WavesClaims() {
  const auto theorem_1 = [](double times) {
    return [times](const StepPoint& point) {
      return times * WavePhases(point.d, point.count("waves"), Granted(point));
    };
  };
  const auto dimension = [](const StepPoint& point) { return static_cast<double>(point.d); };
  const auto nothing = [](const StepPoint&) { return 0.0; };
  Claim one_phase{.id = "waves_lemma_3_one_phase",
                  .statement = "the potential falls to delta in one phase, beta = 2",
                  .source = absl::StrCat(kDiebold, ", Lemma 3"),
                  .relation = Relation::kAtMost,
                  .theory = [](const StepPoint&) { return WaveDelta(2); },
                  .about = AboutMultibutterflies,
                  .vacuous = [](const StepPoint&) -> std::string {
                    return "the lemma counts a phase in which every level sends; here it is every "
                           "second level";
                  }};
  return {
      InEveryTrial(
          OfGrantedExpansion({.id = "waves_theorem_1",
                              .statement = "a wave takes at most T phases, beta by Lemma 1",
                              .source = absl::StrCat(kDiebold, ", Theorem 1"),
                              .relation = Relation::kAtMost,
                              .theory = theorem_1(1)}),
          "phases"),
      InEveryTrial(
          OfGrantedExpansion({.id = "waves_theorem_1_twice",
                              .statement = "a wave takes at most 2 T phases, beta by Lemma 1",
                              .source = absl::StrCat(kDiebold,
                                                     ", Theorem 1; a blocked packet waits "
                                                     "two phases"),
                              .relation = Relation::kAtMost,
                              .theory = theorem_1(2)}),
          "phases"),
      OfThisWiring(
          {.id = "waves_T",
           .statement = "a wave takes at most T phases, beta as the wiring is known to have",
           .source = absl::StrCat(kDiebold, ", Theorem 1")},
          "most_of_T"),
      OfThisWiring(
          {.id = "waves_2T",
           .statement = "a wave takes at most 2 T phases, beta as the wiring is known to have",
           .source = absl::StrCat(kDiebold, ", Theorem 1; a blocked packet waits two phases")},
          "most_of_2T"),
      OfThisWiring(
          {.id = "waves_LT",
           .statement = "all waves take at most L T phases, beta as the wiring is known to "
                        "have",
           .source = absl::StrCat(kDiebold, ", Theorem 1")},
          "all_of_LT"),
      OfThisWiring(
          {.id = "waves_lemma_3",
           .statement = "the potential falls to delta in two phases, beta as the wiring is "
                        "known to have",
           .source = absl::StrCat(kDiebold,
                                  ", Lemma 3; derived: over an even and an odd "
                                  "phase delta is the same")},
          "potential_over_delta"),
      InEveryTrial(one_phase, "potential_one_phase"),
      OfEveryWave({.id = "waves_fewest_phases",
                   .statement = "a wave takes at least d phases",
                   .source = "derived: a packet crosses one link in a phase",
                   .relation = Relation::kAtLeast,
                   .theory = dimension},
                  "fewest_phases"),
      OfEveryWave({.id = "waves_parity",
                   .statement = "the phases of a wave are d modulo 2",
                   .source = "derived: a phase brings packets to levels of the other parity",
                   .theory = nothing},
                  "wrong_parity"),
      OfEveryWave({.id = "waves_deliver",
                   .statement = "no packet is left",
                   .source = absl::StrCat(kDiebold, ", Lemma 2"),
                   .theory = nothing},
                  "left"),
      OfEveryWave({.id = "waves_links",
                   .statement = "every packet crosses d links",
                   .source = "derived: every path has d links",
                   .theory = dimension},
                  "moves_per_packet"),
      OfEveryWave(
          {.id = "waves_paths",
           .statement = "an input and an output have c^d paths",
           .source = absl::StrCat(kDiebold, ", section 2"),
           .theory =
               [](const StepPoint& point) { return std::pow(LinksOfDirection(point), point.d); }},
          "paths"),
  };
}

}  // namespace

StepProgram WavesProgram() {
  const std::string theorem = absl::StrCat(kDiebold, ", Theorem 1");
  return {.name = "waves",
          .keys = {{"network", "multibutterfly"},
                   {"multiplicity", "2"},
                   {"parallel_edges", "keep"},
                   {"permutation", "random"},
                   {"waves", "4", true}},
          .check = CheckWaves,
          .run = RunWavesTrial,
          .claims = WavesClaims,
          .figures = {{.name = "phases",
                       .label = "phases of the slowest wave",
                       .panel = "permutation",
                       .shape = "log n",
                       .source = theorem},
                      {.name = "mean_phases",
                       .label = "phases of a wave",
                       .panel = "permutation",
                       .shape = "log n",
                       .source = theorem},
                      {.name = "steps",
                       .label = "steps of all waves",
                       .panel = "permutation",
                       .shape = "log n",
                       .source = theorem},
                      {.name = "potential",
                       .label = "most of the potential left after two phases",
                       .panel = "permutation"}}};
}

}  // namespace bfly::control

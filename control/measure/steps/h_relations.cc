// SPDX-License-Identifier: Apache-2.0
#include "control/measure/steps/h_relations.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "control/measure/circuits/circuit_claim_parts.h"
#include "dataplane/steps/h_relation.h"
#include "dataplane/steps/h_relation_bounds.h"
#include "dataplane/steps/h_relation_groups.h"
#include "topologies/expansion_theory.h"
#include "topologies/relation.h"

namespace bfly::control {
namespace {

using HRelationFigures = std::map<std::string, double>;

constexpr char kPietracaprina[] = "Pietracaprina 1997";

dataplane::HRelationConfig HRelationConfigOf(const StepPoint& point) {
  dataplane::HRelationConfig config;
  config.h = point.count("h");
  config.neighbours = static_cast<int>(point.count("neighbours"));
  config.share = point.count("share");
  config.iterations = static_cast<int>(point.count("iterations"));
  config.rounds = static_cast<int>(point.count("rounds"));
  return config;
}

HRelationFigures FiguresOfHRelation(const dataplane::HRelationResult& result, int d,
                                    const dataplane::HRelationConfig& config) {
  HRelationFigures figures;
  const auto Number = [](auto value) { return static_cast<double>(value); };
  const double h_bar = Number(result.h_bar);
  figures["h_bar"] = h_bar;
  figures["weight"] = Number(result.largest_weight);
  figures["weight_over_h_bar"] = Number(result.largest_weight) / h_bar;
  figures["congestion"] = Number(result.congestion);
  figures["congestion_in_all"] = Number(result.congestion_in_all);
  figures["congestion_over_bound"] = Number(result.congestion) / (2 * h_bar);
  figures["storage"] = Number(result.storage_bits);
  figures["storage_words"] = Number(result.storage_words);
  figures["buffers"] = Number(result.largest_buffers);
  figures["messages"] = Number(result.messages);
  figures["stuck"] = Number(result.stuck_classes);
  figures["ghosts"] = Number(result.ghosts_made);
  figures["ghosts_lost"] = Number(result.ghosts_made) - Number(result.ghosts_replaced) -
                           Number(result.ghosts_deleted) - Number(result.ghosts_left);
  figures["without_ghost"] = Number(result.homeless + result.deficits);
  if (!result.stuck.empty()) {
    const dataplane::StuckReport& first = result.stuck.front();
    figures["stuck_level"] = first.level;
    figures["stuck_splitter"] = first.splitter;
    figures["stuck_direction"] = first.direction;
    figures["stuck_weight"] = Number(first.weight);
    figures["stuck_nodes"] = first.nodes;
  }
  if (!result.finished) return figures;
  figures["time"] = Number(result.bit_time);
  figures["time_bound"] = Number(result.bit_time_bound);
  figures["word_time"] = Number(result.word_time);
  figures["stages"] = Number(result.stages_of_a_wave);
  figures["fewest_stages"] = Number(result.least_stages_of_a_wave);
  figures["rho"] = result.rho;
  figures["blocked"] = Number(result.blocked);
  figures["fewest_links"] = result.shortest_path;
  figures["most_links"] = result.longest_path;
  if (result.rho < 1) {
    figures["stages_over_theorem_2"] =
        Number(result.stages_of_a_wave) / dataplane::StagesOfTheorem2(d, result.rho);
  }
  const double h = config.h;
  const double bits = config.message_bits;
  const double waves = result.waves;
  figures["time_over_theory"] = figures["time"] / waves / (h * (bits + d));
  figures["word_time_over_theory"] = figures["word_time"] / waves / (h * std::ceil(bits / d) + d);
  return figures;
}

// Of a run in rounds: sums of times, stages, links and ghosts, and the largest of a round of the
// rest.
HRelationFigures FiguresOfPackedHRelation(const dataplane::PackedHRelationResult& result, int d,
                                          const dataplane::HRelationConfig& config) {
  HRelationFigures figures;
  uint32_t pack = 0, most_held = 0;
  double bits = 0;
  for (const dataplane::PackedRound& round : result.rounds) {
    dataplane::HRelationConfig of_round = config;
    of_round.h = round.result.h;
    for (const auto& [name, value] : FiguresOfHRelation(round.result, d, of_round)) {
      const bool adds = absl::EndsWith(name, "stages") || absl::EndsWith(name, "links") ||
                        absl::StartsWith(name, "ghosts") || absl::EndsWith(name, "time") ||
                        name == "time_bound" || name == "stuck" || name == "without_ghost";
      double& figure = figures[name];
      figure = adds ? figure + value : std::max(figure, value);
    }
    pack = std::max(pack, round.pack);
    most_held = std::max(most_held, round.most_held);
    bits = std::max(bits, static_cast<double>(round.pack) * (config.message_bits + d));
  }
  // Theorem 2 is about one run, and the shapes of time about messages of X bits.
  for (const char* name : {"stages_over_theorem_2", "time_over_theory", "word_time_over_theory"}) {
    figures.erase(name);
  }
  if (!result.finished) {
    for (const char* name : {"time", "time_bound", "word_time", "stages", "fewest_stages", "rho",
                             "blocked", "fewest_links", "most_links"}) {
      figures.erase(name);
    }
  }
  figures["messages"] = static_cast<double>(result.messages);
  figures["pack"] = pack;
  figures["most_held"] = most_held;
  figures["pack_bits"] = bits;
  return figures;
}

absl::StatusOr<HRelationFigures> RunHRelationTrial(const StepPoint& point, const StepRun& run) {
  const absl::StatusOr<Network> network = StepNetwork(point, run.seed);
  if (!network.ok()) return network.status();
  dataplane::HRelationConfig config = HRelationConfigOf(point);
  config.interrupted = run.interrupted;
  const absl::StatusOr<bfly::Relation> relation =
      RelationByName(point.word("permutation"), network->rows(), config.h, run.seed);
  if (!relation.ok()) return relation.status();
  Crew crew(run.workers);
  HRelationFigures figures;
  uint64_t delivered = 0;
  if (const auto columns = static_cast<int>(point.count("columns")); columns > 0) {
    const auto result = dataplane::RunPackedHRelation(*network, *relation, config, columns, crew);
    if (!result.ok()) return result.status();
    figures = FiguresOfPackedHRelation(*result, point.d, config);
    delivered = result->delivered;
  } else {
    const auto result = dataplane::RunHRelation(*network, *relation, config, crew);
    if (!result.ok()) return result.status();
    figures = FiguresOfHRelation(*result, point.d, config);
    delivered = result->delivered;
  }
  figures["left"] =
      static_cast<double>(relation->destinations.size()) - static_cast<double>(delivered);
  return figures;
}

absl::Status CheckHRelationPoint(const StepPoint& point) {
  const absl::StatusOr<Network> network = StepNetwork(point, 1);
  if (!network.ok()) return network.status();
  if (point.count("columns") > static_cast<uint32_t>(point.d)) {
    return absl::InvalidArgumentError(
        absl::StrCat("columns: ", point.count("columns"), " is not in 0..", point.d, ", log n"));
  }
  const dataplane::HRelationConfig config = HRelationConfigOf(point);
  const auto columns = static_cast<int>(point.count("columns"));
  return columns > 0 ? dataplane::CheckPackedHRelation(*network, config, columns)
                     : dataplane::CheckHRelation(*network, config);
}

// Why Fact 1 and Lemma 1 do not grant Lemma 2 with rho <= R / (32 d) at a point; empty if they do.
// Section 3 takes R above 4, and Theorem 2 takes Y above 2. A beta has to give
// (alpha, beta)-expansion with L = 2 / alpha, and a delta with
// Z >= log(32 d / R) / log(1 / (1 - delta)).
std::string WhyNotGranted(const StepPoint& point) {
  const auto d = static_cast<int>(point.count("multiplicity"));
  const auto r = static_cast<int>(point.count("neighbours"));
  if (r <= 4) return "Lemma 2 is for R above 4";
  if (point.count("rounds") <= 2) return "Theorem 2 is for Y above 2";
  double fewest = HUGE_VAL;  // L
  for (double beta = 1.01; beta < d; beta += 0.01) {
    const double delta = DeltaOfNeighbours(d, beta, r);
    if (delta <= 0 || delta >= 1) continue;
    if (point.number("iterations") < std::log(32.0 * d / r) / -std::log1p(-delta)) continue;
    if (const double alpha = AlphaOfFact1(d, beta); alpha > 0) {
      fewest = std::min(fewest, 2 / alpha);
    }
  }
  if (point.number("share") >= fewest) return "";
  if (std::isinf(fewest)) {
    return absl::StrCat("Fact 1 and Lemma 1 grant nothing with d = ", d, ", R = ", r,
                        " and Z = ", point.count("iterations"));
  }
  return absl::StrCat("Fact 1 and Lemma 1 ask for L above ", std::floor(fewest));
}

Claim ByConstruction(Claim claim, const std::string& figure) {
  claim.invariant = true;
  return InEveryTrial(std::move(claim), figure);
}

std::string UnlessItStopped(const Measurement& m) {
  const Trial* stuck = nullptr;
  for (const Trial& trial : m.trials) {
    if (!std::isnan(trial.figure("time"))) return "";
    if (stuck == nullptr && trial.figure("stuck") > 0) stuck = &trial;
  }
  if (stuck == nullptr) return "no trial came to its end";
  return absl::StrCat("no trial came to its end; with seed ", stuck->seed, " ",
                      stuck->figure("stuck_nodes"), " nodes of splitter ",
                      stuck->figure("stuck_splitter"), " of level ", stuck->figure("stuck_level"),
                      " ask for W = ", stuck->figure("stuck_weight"), " in direction ",
                      stuck->figure("stuck_direction"), " for ever");
}

std::string OnlyOneRound(const StepPoint& point) {
  return point.count("columns") > 0 ? "runs without packs" : "";
}

std::string OnlyPacks(const StepPoint& point) {
  return point.count("columns") == 0 || point.count("neighbours") <= 4 ? "packs, with R above 4"
                                                                       : "";
}

uint64_t PaperHBarOfPacks(const StepPoint& point) {
  return dataplane::PaperHBar(static_cast<int>(point.count("multiplicity")),
                              2u << point.count("columns"),
                              static_cast<int>(point.count("neighbours")));
}

// Bits of a node with 2 h-bar buffers (docs/h-relations.md), h-bar as the paper has it for 2 G.
double StorageOfPacks(const StepPoint& point) {
  const uint64_t h_bar = PaperHBarOfPacks(point);
  const double log_h_bar = std::bit_width(h_bar) - 1;
  const double log_r = std::bit_width(point.count("neighbours") - 1);
  return 2 * static_cast<double>(h_bar) * (4 + log_r) + 4 * (log_h_bar + 1) + 2;
}

std::string UnlessNeighboursAreMissing(const Measurement& m) {
  const StepPoint& point = m.point;
  for (const Trial& trial : m.trials) {
    if (trial.figure("h_bar") != static_cast<double>(PaperHBarOfPacks(point))) {
      return "some nodes have fewer than R neighbours, so h-bar is not the paper's";
    }
  }
  return "";
}

std::vector<Claim> HRelationClaims() {
  const auto one = [](const StepPoint&) { return 1.0; };
  const auto nothing = [](const StepPoint&) { return 0.0; };
  const auto dimension = [](const StepPoint& point) { return static_cast<double>(point.d); };
  Claim lemma_2{.id = "h_relation_lemma_2",
                .statement = "nodes that wait get fewer by rho = R / (32 d) in a stage",
                .source = absl::StrCat(kPietracaprina, ", Lemma 2 and Theorem 2"),
                .relation = Relation::kAtMost,
                .theory =
                    [](const StepPoint& point) {
                      return point.number("neighbours") / (32 * point.number("multiplicity"));
                    },
                .undecided = UnlessItStopped,
                .about = OnlyOneRound,
                .vacuous = WhyNotGranted};
  // The measured rho is the smallest for which Lemma 2 holds, and the proof of Theorem 2 needs
  // nothing else. So no run can have more stages.
  Claim theorem_2{.id = "h_relation_theorem_2",
                  .statement =
                      "stages of a wave <= max of i + 1 + log(n / 2^i) / log(1 / rho), plus log n, "
                      "rho as measured",
                  .source = absl::StrCat(kPietracaprina, ", Theorem 2"),
                  .relation = Relation::kAtMost,
                  .theory = one,
                  .undecided = UnlessItStopped,
                  .about = OnlyOneRound};
  Claim deliver{.id = "h_relation_deliver",
                .statement = "every message is delivered",
                .source = absl::StrCat(kPietracaprina, ", Theorem 2"),
                .theory = nothing,
                .vacuous = WhyNotGranted};
  return {
      InEveryTrial(std::move(deliver), "left"),
      InEveryTrial(std::move(lemma_2), "rho"),
      ByConstruction(std::move(theorem_2), "stages_over_theorem_2"),
      ByConstruction({.id = "h_relation_lemma_3",
                      .statement = "W is at most h-bar",
                      .source = absl::StrCat(kPietracaprina, ", Lemma 3"),
                      .relation = Relation::kAtMost,
                      .theory = one},
                     "weight_over_h_bar"),
      ByConstruction({.id = "h_relation_congestion",
                      .statement = "at most 2 h-bar messages go through a node",
                      .source = absl::StrCat(kPietracaprina, ", Theorem 2"),
                      .relation = Relation::kAtMost,
                      .theory = one},
                     "congestion_over_bound"),
      ByConstruction({.id = "h_relation_fewest_stages",
                      .statement = "a wave takes at least log n stages",
                      .source = "derived: a stage reaches one column more",
                      .relation = Relation::kAtLeast,
                      .theory = dimension,
                      .undecided = UnlessItStopped},
                     "fewest_stages"),
      ByConstruction({.id = "h_relation_links",
                      .statement = "every path has log n links",
                      .source = absl::StrCat(kPietracaprina, ", section 1"),
                      .theory = dimension,
                      .undecided = UnlessItStopped},
                     "most_links"),
      ByConstruction({.id = "h_relation_fewest_links",
                      .statement = "no path has fewer than log n links",
                      .source = absl::StrCat(kPietracaprina, ", section 1"),
                      .relation = Relation::kAtLeast,
                      .theory = dimension,
                      .undecided = UnlessItStopped},
                     "fewest_links"),
      ByConstruction({.id = "h_relation_ghosts",
                      .statement = "every ghost is replaced, deleted or left",
                      .source = "derived: conservation",
                      .theory = nothing},
                     "ghosts_lost"),
      ByConstruction({.id = "h_relation_room",
                      .statement = "every message finds a ghost to replace",
                      .source = absl::StrCat(kPietracaprina, ", section 3, Phase 2"),
                      .theory = nothing},
                     "without_ghost"),
      ByConstruction({.id = "h_relation_packed_storage",
                      .statement = "with packs a node needs the same storage for every h",
                      .source = absl::StrCat(kPietracaprina, ", Theorem 1"),
                      .theory = StorageOfPacks,
                      .undecided = UnlessNeighboursAreMissing,
                      .about = OnlyPacks},
                     "storage"),
  };
}

}  // namespace

StepProgram HRelationProgram() {
  const std::string theorem_1 = absl::StrCat(kPietracaprina, ", Theorem 1");
  return {
      .name = "h_relation",
      .keys = {{"network", "multibutterfly"},
               {"multiplicity", "16"},
               {"parallel_edges", "keep"},
               {"permutation", "random"},
               {"neighbours", "8"},
               {"share", "32", true},
               {"iterations", "4"},
               {"rounds", "3"},
               {"columns", "0"},
               {"h", "16"}},
      .check = CheckHRelationPoint,
      .run = RunHRelationTrial,
      .claims = HRelationClaims,
      .figures = {{.name = "time",
                   .label = "bit steps of all waves",
                   .panel = "permutation",
                   .shape = "log n",
                   .source = theorem_1},
                  {.name = "word_time", .label = "word steps of all waves", .panel = "permutation"},
                  {.name = "stages",
                   .label = "stages of the slowest wave",
                   .panel = "permutation",
                   .shape = "log n",
                   .source = absl::StrCat(kPietracaprina, ", Theorem 2")},
                  {.name = "time_over_theory",
                   .label = "bit steps of a wave / h (X + log n)",
                   .over = "h",
                   .panel = "permutation"},
                  {.name = "word_time_over_theory",
                   .label = "word steps of a wave / (h ceil(X / log n) + log n)",
                   .over = "h",
                   .panel = "permutation"},
                  {.name = "congestion",
                   .label = "messages through one node",
                   .over = "h",
                   .panel = "permutation"},
                  {.name = "storage",
                   .label = "bits of storage of a node",
                   .over = "h",
                   .panel = "permutation"}}};
}

}  // namespace bfly::control

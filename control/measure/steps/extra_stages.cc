// SPDX-License-Identifier: Apache-2.0
#include "control/measure/steps/extra_stages.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "control/measure/circuits/circuit_claim_parts.h"
#include "control/measure/steps/extra_stages_fit.h"
#include "dataplane/steps/extra_stages.h"

namespace bfly::control {
namespace {

using ExtraFigures = std::map<std::string, double>;

constexpr char kUpfal[] = "Upfal, Felperin, Snir";
// From here on the formulas are fitted to more than one set of permutations.
constexpr uint32_t kLongSequence = 10;
constexpr double kWellBeyond = 2;  // stages more than the best number

uint32_t PermutationsAt(const StepPoint& point) { return point.count("t"); }
int RoundedBest(const StepPoint& point) {
  return static_cast<int>(std::lround(BestExtraStages(point.d, PermutationsAt(point))));
}
bool IsWellBeyond(const StepPoint& point) {
  return point.number("r") >= BestExtraStages(point.d, PermutationsAt(point)) + kWellBeyond;
}

absl::StatusOr<dataplane::ExtraStagesConfig> ConfigOf(const StepPoint& point, const StepRun& run) {
  const absl::StatusOr<dataplane::QueueOrder> order =
      dataplane::QueueOrderFromName(point.word("order"));
  if (!order.ok())
    return absl::InvalidArgumentError(absl::StrCat("order: ", order.status().message()));
  return dataplane::ExtraStagesConfig{.order = *order,
                                      .permutations = PermutationsAt(point),
                                      .permutation = point.word("permutation"),
                                      .renaming = point.word("renaming") == "true",
                                      .seed = run.seed,
                                      .workers = run.workers};
}

absl::StatusOr<dataplane::ExtraStagesResult> RunWith(const StepPoint& point, int extra_stages,
                                                     const StepRun& run) {
  const absl::StatusOr<dataplane::ExtraStagesConfig> config = ConfigOf(point, run);
  if (!config.ok()) return config.status();
  NetworkSpec spec = StepNetworkSpec(point, 0);
  spec.extra_stages = extra_stages;
  const absl::StatusOr<Network> network = Network::Make(spec);
  if (!network.ok()) return network.status();
  if (run.interrupted()) return absl::CancelledError("interrupted");
  return dataplane::RunExtraStages(*network, *config);
}

std::string MeanLatencyName(const StepPoint& point, int extra_stages, uint64_t seed) {
  StepPoint at = point;
  for (auto& [key, value] : at.values) {
    if (key == "r") value = static_cast<double>(extra_stages);
  }
  return absl::StrCat("mean_latency of ", at.ToString(), " seed=", seed);
}

// The mean latency of the trial's packets on a network with so many extra stages.
absl::StatusOr<double> MeanLatencyWith(const StepPoint& point, int extra_stages,
                                       const StepRun& run) {
  const std::string name = MeanLatencyName(point, extra_stages, run.seed);
  if (run.shared != nullptr) {
    if (const auto known = run.shared->Find(name)) return *known;
  }
  const auto result = RunWith(point, extra_stages, run);
  if (!result.ok()) return result.status();
  if (run.shared != nullptr) run.shared->Keep(name, result->mean_latency);
  return result->mean_latency;
}

// The slope of finished(f) over f by least squares.
double StepsAPermutation(const std::vector<uint64_t>& finished) {
  const auto count = static_cast<double>(finished.size());
  double mean_f = (count + 1) / 2, mean_step = 0;
  for (const uint64_t step : finished) mean_step += static_cast<double>(step) / count;
  double square = 0, product = 0;
  for (size_t i = 0; i < finished.size(); ++i) {
    const double f = static_cast<double>(i) + 1 - mean_f;
    square += f * f;
    product += f * (static_cast<double>(finished[i]) - mean_step);
  }
  return product / square;
}

absl::StatusOr<ExtraFigures> RunExtraStagesTrial(const StepPoint& point, const StepRun& run) {
  const auto extra = static_cast<int>(point.number("r"));
  const auto result = RunWith(point, extra, run);
  if (!result.ok()) return result.status();
  if (run.shared != nullptr) {
    run.shared->Keep(MeanLatencyName(point, extra, run.seed), result->mean_latency);
  }
  ExtraFigures figures{{"mean_latency", result->mean_latency},
                       {"max_latency", static_cast<double>(result->max_latency)},
                       {"congestion", result->congestion},
                       {"node_congestion", result->node_congestion},
                       {"packets", static_cast<double>(result->packets)},
                       {"hops", static_cast<double>(result->hops)},
                       {"finished_last", static_cast<double>(result->finished.back())},
                       {"finished_first", static_cast<double>(result->finished.front())}};
  double over = 0;
  for (size_t i = 0; i < result->finished.size(); ++i) {
    over = std::max(
        over, static_cast<double>(result->finished[i]) / (static_cast<double>(i) + 1 + point.d));
  }
  figures["finished_over"] = over;
  if (PermutationsAt(point) > 1) {
    figures["steps_a_permutation"] = StepsAPermutation(result->finished);
  }
  if (extra > 0) {
    const absl::StatusOr<double> without = MeanLatencyWith(point, 0, run);
    if (!without.ok()) return without.status();
    figures["over_no_extra"] = result->mean_latency / *without;
  }
  if (PermutationsAt(point) > 1 && IsWellBeyond(point)) {
    const absl::StatusOr<double> best = MeanLatencyWith(point, RoundedBest(point), run);
    if (!best.ok()) return best.status();
    figures["over_best"] = result->mean_latency / *best;
  }
  return figures;
}

absl::Status CheckExtraStagesPoint(const StepPoint& point) {
  const StepRun run{.interrupted = [] { return false; }};
  const absl::StatusOr<dataplane::ExtraStagesConfig> config = ConfigOf(point, run);
  if (!config.ok()) return config.status();
  const absl::StatusOr<Network> network = StepNetwork(point, 0);
  if (!network.ok()) return network.status();
  const absl::Status status = dataplane::CheckExtraStages(*network, *config);
  std::string text(status.message());
  if (text.rfind("permutations: ", 0) == 0) text = absl::StrCat("t: ", text.substr(14));
  return absl::Status(status.code(), text);
}

bool IsRandom(const StepPoint& point) { return point.word("permutation") == "random"; }
// With n = 1 and r = 0 all links lead to outputs, which have no buffers, and carry a packet every
// step. Extra stages lead through buffers, where a link carries one every other step.
bool IsLongRandomSequence(const StepPoint& point) {
  return IsRandom(point) && PermutationsAt(point) >= kLongSequence && point.d > 1;
}

Claim AboutPoints(Claim claim, const std::string& points,
                  const std::function<bool(const StepPoint&)>& is_about) {
  claim.about = [=](const StepPoint& point) {
    return is_about(point) ? std::string() : absl::StrCat("is about ", points);
  };
  return claim;
}

// Without extra stages one packet of every input goes through bit reversal in exactly this time.
bool IsBareBitReversal(const StepPoint& point) {
  return point.word("permutation") == "bitrev" && point.word("renaming") == "false" &&
         point.number("r") == 0 && PermutationsAt(point) == 1 && point.d % 2 == 0;
}
double MostOverALink(const StepPoint& point) { return std::exp2(point.d / 2 - 1); }

double Unloaded(const StepPoint& point) { return 2 * (point.d + point.number("r")) - 1; }

std::vector<Claim> ExactClaims() {
  std::vector<Claim> claims = {
      InEveryTrial({.id = "extra_unloaded",
                    .statement = "no packet takes less than 2(n+r)-1 steps",
                    .source = "derived: a step for each link and each buffer",
                    .relation = Relation::kAtLeast,
                    .theory = Unloaded,
                    .invariant = true},
                   "mean_latency"),
      InEveryTrial(
          AboutPoints({.id = "extra_half_rate",
                       .statement = "the last packet takes at least 2(n+r)-1+2(ceil(t/2)-1) steps",
                       .source = "derived: an input has two links, and a link carries a packet "
                                 "every other step",
                       .relation = Relation::kAtLeast,
                       .theory =
                           [](const StepPoint& point) {
                             return Unloaded(point) + 2 * (std::ceil(point.number("t") / 2) - 1);
                           },
                       .invariant = true},
                      "networks of several stages",
                      [](const StepPoint& point) { return Unloaded(point) > 1; }),
          "max_latency"),
  };
  const std::string about = "bit reversal of one packet an input, n even and r = 0";
  claims.push_back(InEveryTrial(
      AboutPoints({.id = "extra_bitrev_max",
                   .statement = "L_max of bit reversal is 2n-1+2(2^(n/2-1)-1)",
                   .source = "derived: half of the packets at a middle node want the same link",
                   .theory =
                       [](const StepPoint& point) {
                         return Unloaded(point) + 2 * (MostOverALink(point) - 1);
                       }},
                  about, IsBareBitReversal),
      "max_latency"));
  claims.push_back(InEveryTrial(
      AboutPoints(
          {.id = "extra_bitrev_mean",
           .statement = "L_avg of bit reversal is 2n-1+2^(n/2-1)-1",
           .source = "derived: the packets at a middle node leave in pairs",
           .theory =
               [](const StepPoint& point) { return Unloaded(point) + MostOverALink(point) - 1; }},
          about, IsBareBitReversal),
      "mean_latency"));
  return claims;
}

// a (log N) / loglog N with a = 1/2, which Theorem 2 allows every a below.
double LoadOfTheorem2(const StepPoint& point) { return point.d / (2 * std::log2(point.d)); }

// All t packets of an input take the same path without extra stages, and its first link carries a
// packet every other step. So every run takes 2 (t - 1) + 2n - 1 steps or more.
std::string WhyNoRunIsFaster(const StepPoint& point) {
  const double least = Unloaded(point) + 2 * (point.number("t") - 1);
  if (point.number("t") * LoadOfTheorem2(point) > least) return "";
  return "no run takes fewer than 2t+2n-3 steps: an input sends all its packets over one link";
}

// Every level has N nodes for t N packets.
std::string WhySomeNodeHasAsMany(const StepPoint& point) {
  return LoadOfTheorem2(point) > 1 ? "" : "some node always has t packets or more";
}

// Theorem 2 and Corollary 3 hold with probability 1 - 1/N, so for the mean over the seeds.
std::vector<Claim> LowerBoundClaims() {
  const std::string about = "random permutations without extra stages, n > 2";
  const auto is_about = [](const StepPoint& point) {
    return IsRandom(point) && point.number("r") == 0 && point.d > 2;
  };
  std::vector<Claim> claims;
  claims.push_back(InTheMean(
      AboutPoints(
          {.id = "extra_theorem_2",
           .statement = "t (log N) / (2 loglog N) packets or more go through one "
                        "node on the butterfly without extra stages",
           .source = absl::StrCat(kUpfal, ", Theorem 2"),
           .relation = Relation::kAtLeast,
           .theory =
               [](const StepPoint& point) { return point.number("t") * LoadOfTheorem2(point); },
           .vacuous = WhySomeNodeHasAsMany},
          about, is_about),
      "node_congestion"));
  claims.push_back(InTheMean(
      AboutPoints(
          {.id = "extra_corollary_3",
           .statement = "t times the same permutation takes t (log N) / "
                        "(2 loglog N) steps or more without extra stages",
           .source = absl::StrCat(kUpfal, ", Corollary 3"),
           .relation = Relation::kAtLeast,
           .theory =
               [](const StepPoint& point) { return point.number("t") * LoadOfTheorem2(point); },
           .vacuous = WhyNoRunIsFaster},
          about, is_about),
      "finished_last"));
  return claims;
}

std::vector<Claim> ExtraStagesClaims() {
  std::vector<Claim> claims = ExactClaims();
  for (Claim& claim : LowerBoundClaims()) claims.push_back(std::move(claim));
  const auto one = [](const StepPoint&) { return 1.0; };
  const std::string figures = absl::StrCat(kUpfal, ", section 4, figures 1 and 2");
  claims.push_back(InTheMean(
      AboutPoints({.id = "extra_hurt_one_permutation",
                   .statement = "for one random permutation extra stages do not lower L_avg",
                   .source = figures,
                   .relation = Relation::kAtLeast,
                   .theory = one},
                  "one random permutation and r > 0",
                  [](const StepPoint& point) {
                    return IsRandom(point) && PermutationsAt(point) == 1 && point.number("r") > 0;
                  }),
      "over_no_extra"));
  claims.push_back(InTheMean(
      AboutPoints({.id = "extra_help_sequences",
                   .statement = "up to r* extra stages lower L_avg of sequences of 10 or more",
                   .source = figures,
                   .relation = Relation::kAtMost,
                   .theory = one,
                   .strict = true},
                  "random sequences of 10 or more permutations, n > 1 and 0 < r <= r*",
                  [](const StepPoint& point) {
                    return IsLongRandomSequence(point) && point.number("r") > 0 &&
                           point.number("r") <= BestExtraStages(point.d, PermutationsAt(point));
                  }),
      "over_no_extra"));
  claims.push_back(InTheMean(
      AboutPoints({.id = "extra_hurt_beyond_best",
                   .statement = "2 or more stages beyond r* L_avg is larger than at r*, rounded",
                   .source = figures,
                   .relation = Relation::kAtLeast,
                   .theory = one,
                   .strict = true},
                  "random sequences of 10 or more permutations, n > 1 and r >= r* + 2",
                  [](const StepPoint& point) {
                    return IsLongRandomSequence(point) && IsWellBeyond(point);
                  }),
      "over_best"));
  return claims;
}

}  // namespace

double PublishedMeanLatency(double n, double r, double t) {
  return -12.90 + 3.18 * n + 0.75 * t + (0.69 + 0.07 * n) * t * std::exp2(-r) + 3.20 * r;
}

double PublishedMaxLatency(double n, double r, double t) {
  return -29.69 + 8.09 * n + 1.83 * t + (0.84 + 0.76 * n) * t * std::exp2(-r) - 1.43 * r;
}

double BestExtraStages(double n, double t) {
  return std::max(0.0, std::log2((0.69 + 0.07 * n) * t * std::log(2.0) / 3.20));
}

namespace {

// The formulas were fitted to 1K to 16K rows, and mean nothing at t = 1.
double PublishedAt(const nlohmann::ordered_json& point, double (*formula)(double, double, double)) {
  const double n = point.at("d"), t = point.at("t");
  if (n < 10 || n > 14 || t < kLongSequence) return std::numeric_limits<double>::quiet_NaN();
  return formula(n, point.at("r"), t);
}
double PublishedMean(const nlohmann::ordered_json& point) {
  return PublishedAt(point, PublishedMeanLatency);
}
double PublishedMax(const nlohmann::ordered_json& point) {
  return PublishedAt(point, PublishedMaxLatency);
}

}  // namespace

StepProgram ExtraStagesProgram() {
  const std::string theorem = absl::StrCat(kUpfal, ", Theorem 8");
  return {.name = "extra_stages",
          .keys = {{"permutation", "random"},
                   {"renaming", "false"},
                   {"order", "priority"},
                   {"t", "50"},
                   {"r", "4"}},
          .check = CheckExtraStagesPoint,
          .run = RunExtraStagesTrial,
          .claims = ExtraStagesClaims,
          .figures = {{.name = "mean_latency",
                       .label = "mean latency (steps)",
                       .over = "r",
                       .panel = "d",
                       .published = PublishedMean},
                      {.name = "max_latency",
                       .label = "maximum latency (steps)",
                       .over = "r",
                       .panel = "d",
                       .published = PublishedMax},
                      {.name = "finished_last",
                       .label = "steps until all permutations are finished",
                       .panel = "t",
                       .shape = "log n",
                       .source = theorem},
                      {.name = "finished_over",
                       .label = "most of finished(f) / (f + log N)",
                       .panel = "t"},
                      {.name = "steps_a_permutation",
                       .label = "steps for each further permutation",
                       .over = "r",
                       .panel = "d"}},
          .table = ExtraStagesFitTable,
          .results = ExtraStagesFitJson};
}

}  // namespace bfly::control

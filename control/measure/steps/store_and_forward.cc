// SPDX-License-Identifier: Apache-2.0
#include "control/measure/steps/store_and_forward.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "control/measure/circuits/circuit_claim_parts.h"
#include "dataplane/steps/store_and_forward.h"
#include "topologies/fault_plan.h"

namespace bfly::control {
namespace {

using ForwardFigures = std::map<std::string, double>;

constexpr char kLeighton[] = "Leighton and Maggs 1992";

uint32_t LinksTowards(const StepPoint& point) {
  return point.Find("multiplicity") == nullptr ? 1 : point.count("multiplicity");
}
bool IsRandomNetwork(const StepPoint& point) {
  return StepNetworkSpec(point, 0).kind == NetworkKind::kMultibutterfly && LinksTowards(point) == 2;
}
bool IsBadForButterflies(const StepPoint& point) {
  return (point.word("permutation") == "bitrev" || point.word("permutation") == "transpose") &&
         point.d % 2 == 0;
}

dataplane::StoreAndForwardConfig ForwardConfig(const StepPoint& point, Permutation outputs,
                                               const StepRun& run) {
  return {.traffic = {.name = "permutation", .permutation = std::move(outputs)},
          .packets = point.count("h"),
          .buffer = point.count("buffer"),
          .seed = run.seed,
          .workers = run.workers,
          .interrupted = run.interrupted};
}

absl::StatusOr<ForwardFigures> RunForwardTrial(const StepPoint& point, const StepRun& run) {
  const absl::StatusOr<Network> network = StepNetwork(point, run.seed);
  if (!network.ok()) return network.status();
  const absl::StatusOr<Permutation> outputs = StepPermutation(point, run.seed);
  if (!outputs.ok()) return outputs.status();
  FaultSet faults(*network);
  if (absl::Status status = AddFaultySwitches(point.count("faults"), run.seed, &faults);
      !status.ok()) {
    return status;
  }
  const dataplane::StoreAndForwardConfig config = ForwardConfig(point, *outputs, run);
  const auto result = dataplane::RunStoreAndForward(*network, faults, config);
  if (!result.ok()) return result.status();
  ForwardFigures figures{{"left_out", static_cast<double>(result->left_out)},
                         {"delivered", static_cast<double>(result->delivered)},
                         {"longest_queue", result->longest_queue},
                         {"faulty_switches", static_cast<double>(result->faulty_switches)}};
  if (result->delivered == 0) return figures;
  figures["steps"] = static_cast<double>(result->steps);
  figures["mean_latency"] = result->mean_latency;
  figures["max_latency"] = static_cast<double>(result->max_latency);
  if (!IsRandomNetwork(point)) return figures;
  const absl::StatusOr<Network> dilated = Network::Make(
      {.kind = NetworkKind::kDilatedButterfly, .rows = point.rows(), .multiplicity = 2});
  if (!dilated.ok()) return dilated.status();
  const auto other = dataplane::RunStoreAndForward(*dilated, FaultSet(*dilated), config);
  if (!other.ok()) return other.status();
  figures["steps_over_dilated"] =
      static_cast<double>(result->steps) / static_cast<double>(other->steps);
  figures["mean_over_dilated"] = result->mean_latency / other->mean_latency;
  return figures;
}

absl::Status CheckForward(const StepPoint& point) {
  const absl::StatusOr<Network> network = StepNetwork(point, 0);
  if (!network.ok()) return network.status();
  absl::StatusOr<Permutation> outputs = StepPermutation(point, 0);
  if (!outputs.ok()) return outputs.status();
  FaultSet faults(*network);
  if (absl::Status status = AddFaultySwitches(point.count("faults"), 0, &faults); !status.ok()) {
    return absl::InvalidArgumentError(status.message());
  }
  const StepRun run{.interrupted = [] { return false; }};
  const absl::Status status =
      dataplane::CheckStoreAndForward(*network, ForwardConfig(point, *std::move(outputs), run));
  std::string text(status.message());
  if (text.rfind("packets: ", 0) == 0) text = absl::StrCat("h: ", text.substr(9));
  return absl::Status(status.code(), text);
}

// On butterflies h 2^(d/2) packets meet in the middle at a switch with 2m links into it, each of
// which carries one packet a step.
double LeastSteps(const StepPoint& point, double m) {
  return point.d - 1 + std::max(1.0, std::ceil(point.number("h") * std::exp2(point.d / 2 - 1) / m));
}

Claim AboutNetworks(Claim claim, const std::string& points,
                    const std::function<bool(const StepPoint&)>& is_about) {
  claim.about = [=](const StepPoint& point) {
    return is_about(point) ? std::string() : absl::StrCat("is about ", points);
  };
  return claim;
}

// The simulations are of 1,024 rows, 0 to 100 faulty switches, room for 4 packets and wirings
// without parallel edges where possible (THEORY.md, section 6).
bool IsSimulated(const StepPoint& point) {
  return IsRandomNetwork(point) && point.word("parallel_edges") == "avoid" && point.d == 10 &&
         point.number("buffer") == 4 && point.number("faults") <= 100;
}

std::vector<Claim> ForwardClaims() {
  const auto one = [](const StepPoint&) { return 1.0; };
  const auto random = [](const StepPoint& point) {
    return IsSimulated(point) && point.word("permutation") == "random";
  };
  const std::string simulated =
      "multibutterflies of multiplicity 2, parallel_edges: avoid, d = 10, buffer: 4 and up to 100 "
      "faults";
  const std::string about_random = "random permutations on " + simulated;
  // One packet of an input hardly ever waits on either network. Then faults, which the network that
  // it is compared with does not have, decide when the last one comes.
  const auto loaded = [random](const StepPoint& point) {
    return random(point) && (point.number("h") > 1 || point.number("faults") == 0);
  };
  const std::string compared = absl::StrCat(kLeighton, ", simulations");
  return {
      InTheMean(AboutNetworks({.id = "forward_random_mean",
                               .statement = "on random permutations packets take at most as long "
                                            "as on the 2-dilated butterfly without faults",
                               .source = compared,
                               .relation = Relation::kAtMost,
                               .theory = one},
                              about_random, random),
                "mean_over_dilated"),
      InTheMean(
          AboutNetworks({.id = "forward_random_steps",
                         .statement = "on random permutations the last packet takes at most "
                                      "as long as on the 2-dilated butterfly without faults",
                         .source = compared,
                         .relation = Relation::kAtMost,
                         .theory = one},
                        about_random + ", with several packets an input or without faults", loaded),
          "steps_over_dilated"),
      InTheMean(
          AboutNetworks({.id = "forward_structured",
                         .statement = "on transpose and bit reversal the last packet takes "
                                      "at most the d-1+ceil(h 2^(d/2-2)) steps that the "
                                      "2-dilated butterfly needs at least",
                         .source = compared,
                         .relation = Relation::kAtMost,
                         .theory = [](const StepPoint& point) { return LeastSteps(point, 2); }},
                        "transpose and bit reversal on " + simulated,
                        [](const StepPoint& point) {
                          return IsSimulated(point) && IsBadForButterflies(point);
                        }),
          "steps"),
      InEveryTrial(
          AboutNetworks(
              {.id = "forward_root_n",
               .statement = "on transpose and bit reversal butterflies with m links a "
                            "direction need d-1+ceil(h 2^(d/2-1)/m) steps or more",
               .source = absl::StrCat(kLeighton,
                                      "; derived: h 2^(d/2) packets meet at a switch "
                                      "with 2m links into it"),
               .relation = Relation::kAtLeast,
               .theory =
                   [](const StepPoint& point) { return LeastSteps(point, LinksTowards(point)); },
               .invariant = true},
              "transpose and bit reversal, d even, on butterflies without faults",
              [](const StepPoint& point) {
                const NetworkKind kind = StepNetworkSpec(point, 0).kind;
                return (kind == NetworkKind::kButterfly ||
                        kind == NetworkKind::kDilatedButterfly) &&
                       IsBadForButterflies(point) && point.number("faults") == 0;
              }),
          "steps"),
      InEveryTrial({.id = "forward_room",
                    .statement = "a switch holds at most its buffer and a packet of each of its "
                                 "2m links",
                    .source = "derived: no packet comes to a switch that held more",
                    .relation = Relation::kAtMost,
                    .theory =
                        [](const StepPoint& point) {
                          return point.number("buffer") + 2.0 * LinksTowards(point);
                        },
                    .invariant = true},
                   "longest_queue"),
  };
}

}  // namespace

StepProgram StoreAndForwardProgram() {
  return {.name = "store_and_forward",
          .keys = {{"network", "multibutterfly"},
                   {"multiplicity", "2"},
                   {"parallel_edges", "avoid"},
                   {"permutation", "random"},
                   {"h", "1"},
                   {"buffer", "4"},
                   {"faults", "0"}},
          .check = CheckForward,
          .run = RunForwardTrial,
          .claims = ForwardClaims,
          .figures = {{.name = "steps",
                       .label = "steps until the last packet is delivered",
                       .over = "faults",
                       .panel = "permutation"},
                      {.name = "mean_latency",
                       .label = "mean latency (steps)",
                       .over = "faults",
                       .panel = "permutation"},
                      {.name = "left_out", .label = "packets left out", .over = "faults"}}};
}

}  // namespace bfly::control

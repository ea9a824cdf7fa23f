// SPDX-License-Identifier: Apache-2.0
#include "control/measure/survival/survival_point.h"
#include "control/topology_file/planned_faults.h"
#include "topologies/fault_plan.h"
#include "topologies/lost_pairs.h"
#include "topologies/permutation.h"
#include "topologies/switch_settings.h"

namespace bfly::control {
namespace {

// The fraction of the requests of a random permutation of which p or p' is whole.
absl::StatusOr<double> TwoPathSurvival(const Network& network, const FaultSet& faults,
                                       uint64_t seed) {
  const absl::StatusOr<SwitchSettings> settings = SwitchSettings::Make(network);
  if (!settings.ok()) return settings.status();
  const absl::StatusOr<Permutation> outputs = PermutationByName("random", network.rows(), seed);
  if (!outputs.ok()) return outputs.status();
  const CandidatePaths paths(*settings);
  uint32_t whole = 0;
  for (Row input = 0; input < network.rows(); ++input) {
    const std::array<Tag, 2> tags = paths.tags(input, (*outputs)[input]);
    whole += faults.IsWhole(input, tags[0]) || faults.IsWhole(input, tags[1]);
  }
  return static_cast<double>(whole) / network.rows();
}

}  // namespace

absl::StatusOr<Trial> RunSurvivalTrial(const SurvivalPoint& point, const v1::Faults& list,
                                       uint64_t seed) {
  const absl::StatusOr<Network> network = Network::Make({.kind = point.network,
                                                         .rows = point.rows(),
                                                         .seed = seed,
                                                         .multiplicity = point.multiplicity});
  if (!network.ok()) return network.status();
  FaultSet faults = PlannedFaults(list, *network);
  AddRandomFaults({.links = point.faults == "links" ? point.rate : 0,
                   .nodes = point.faults == "nodes" ? point.rate : 0,
                   .ends = true,
                   .seed = seed},
                  &faults);
  AddAdversarialFaults({.nodes = point.count}, &faults);
  const LostPairs lost = FindLostPairs(faults, 0);
  if (!lost.exact) return absl::InternalError("the pairs of so few rows can all be looked at");
  Trial trial{.seed = seed, .batch_delays = {}};
  const double pairs = static_cast<double>(point.rows()) * point.rows();
  trial.figures["survival"] = 1 - static_cast<double>(lost.pairs) / pairs;
  trial.figures["cut_off_outputs"] = static_cast<double>(lost.outputs.size());
  trial.figures["down"] = static_cast<double>(faults.down().size());
  trial.figures["faulty_switches"] = static_cast<double>(lost.faulty_switches);
  if (point.network == NetworkKind::kTwoFoldButterfly && point.faults == "links") {
    const absl::StatusOr<double> survival = TwoPathSurvival(*network, faults, seed);
    if (!survival.ok()) return survival.status();
    trial.figures["two_path_survival"] = *survival;
  }
  return trial;
}

}  // namespace bfly::control

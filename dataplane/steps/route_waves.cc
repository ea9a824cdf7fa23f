// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "dataplane/steps/route_run.h"
#include "dataplane/steps/step_clock.h"
#include "dataplane/steps/waves_rule.h"
#include "topologies/faulty_switches.h"
#include "topologies/usable_links.h"

namespace bfly::dataplane {
namespace {

// The rule identifies a packet by its destination, the log by its number.
class LoggedWavesRule : public WavesRule<uint32_t> {
 public:
  LoggedWavesRule(const WaveWiring& wiring, CrossingLog& log, const std::vector<uint32_t>& number)
      : WavesRule(wiring), log_(log), number_(number) {}

  void Settle(const At& at, Node& node, int port, const bool& taken, Tally& tally) const {
    if (taken) log_.Cross(number_[node.packet], at.level, at.row, port, at.step + 1);
    WavesRule::Settle(at, node, port, taken, tally);
  }

 private:
  CrossingLog& log_;
  const std::vector<uint32_t>& number_;  // the packet for each destination
};

absl::Status CheckWavesRoute(const Network& network, const RouteRequest& request) {
  if (request.waves < 1 || request.waves > network.rows()) {
    return absl::InvalidArgumentError(absl::StrCat("waves: ", request.waves, " is outside 1..",
                                                   network.rows(), ", the rows of the network"));
  }
  // Colouring all links takes a while, so only the network's shape is looked at here.
  if (network.hops() != network.dimension() || !network.ends_left_to_right()) {
    return WaveWiring::Make(network, nullptr).status();
  }
  const absl::Status status = CheckRelation(request.relation, network.rows(), 1);
  if (status.ok()) return status;
  return absl::InvalidArgumentError(absl::StrCat(
      "destinations: a wave takes one packet an input and one an output: ", status.message()));
}

// Runs one wave after the other. number[destination] is the packet for a destination (UINT32_MAX:
// no packet), and input[destination] is the row that sends it.
void TakeWaves(RouteRun& run, const std::vector<uint32_t>& number, const std::vector<Row>& input,
               StepClock<LoggedWavesRule>& clock) {
  const auto phase = static_cast<uint64_t>(run.network.ports());
  const auto has_packets = [&](uint32_t wave) {
    for (Row to = wave; to < run.network.rows(); to += run.request.waves) {
      if (number[to] != UINT32_MAX) return true;
    }
    return false;
  };
  StepEnd end = StepEnd::kDone;
  for (uint32_t w = 0; w < run.request.waves && end == StepEnd::kDone; ++w) {
    if (!has_packets(w)) continue;
    WaveSummary wave{.wave = w};
    clock.Restart();
    run.log.set_steps_before(run.report.steps);
    for (Row to = w; to < run.network.rows(); to += run.request.waves) {
      if (number[to] == UINT32_MAX) continue;
      run.log.Begin(number[to], input[to], 0);
      clock.node(0, input[to]).packet = to;
      clock.Wake(0, input[to]);
      ++wave.packets;
    }
    StepLimits limits{.idle_steps = 2 * phase};
    if (run.request.max_steps > 0) limits.steps = run.request.max_steps - run.report.steps;
    end = clock.Run(limits);
    // The next wave begins with a phase of its own.
    wave.phases = (clock.step() + phase - 1) / phase;
    wave.steps = end == StepEnd::kDone ? std::min(wave.phases * phase, limits.steps) : clock.step();
    run.report.steps += wave.steps;
    run.report.steps_not_taken += wave.steps - clock.step();
    run.report.phases += wave.phases;
    run.report.waves.push_back(wave);
    if (end == StepEnd::kDone && run.request.max_steps > 0 &&
        run.report.steps >= run.request.max_steps) {
      end = StepEnd::kLimit;
    }
  }
  if (end == StepEnd::kStuck) {
    run.report.trouble = absl::StrCat("no packet of wave ", run.report.waves.back().wave,
                                      " has moved in an even and an odd phase");
  }
}

uint64_t WavesNodeBytes(const Network& network, const RouteRequest&) {
  // A WaveWiring has 5/4 bytes for each link.
  return sizeof(LoggedWavesRule::Node) + static_cast<uint64_t>(network.ports()) * 5 / 4;
}

// A wave whose packets all see links to sound switches always moves: every packet among those
// nearest to the outputs meets an empty node.
absl::Status RunWavesRoute(RouteRun& run) {
  FaultSet faults = run.faults;
  if (!faults.empty()) {
    const std::vector<bool> usable = UsableLinks(run.network, FaultySwitches(run.faults));
    for (uint64_t link = 0; link < usable.size(); ++link) {
      if (!usable[link]) faults.Avoid(run.network.link_at(link));
    }
  }
  const absl::StatusOr<WaveWiring> wiring = WaveWiring::Make(run.network, &faults);
  if (!wiring.ok()) return wiring.status();
  const Relation& relation = run.request.relation;
  std::vector<uint32_t> number(run.network.rows(), UINT32_MAX);  // the packet for each destination
  std::vector<Row> input(run.network.rows());  // the input of the packet for each destination
  for (Row row = 0; row < run.network.rows(); ++row) {
    for (uint32_t packet = relation.first[row]; packet < relation.first[row + 1]; ++packet) {
      if (!run.sent[packet]) continue;
      number[relation.destinations[packet]] = packet;
      input[relation.destinations[packet]] = row;
    }
  }
  const LoggedWavesRule rule(*wiring, run.log, number);
  StepClock<LoggedWavesRule> clock(run.network, rule, run.crew);
  run.crew.Lead([&] { TakeWaves(run, number, input, clock); });
  return absl::OkStatus();
}
}  // namespace

RouteProgramRun WavesRoute() {
  return {
      .program = {.name = "waves",
                  .about = "Upfal's permutations, one packet a node; Diebold 2008",
                  .networks = "butterfly without extra stages, wrapped_butterfly with passes: 1, "
                              "randomly_wired_butterfly, dilated_butterfly, multibutterfly",
                  .around_faults = true},
      .check = CheckWavesRoute,
      .node_bytes = WavesNodeBytes,
      .run = RunWavesRoute};
}

}  // namespace bfly::dataplane

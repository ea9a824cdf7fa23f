// SPDX-License-Identifier: Apache-2.0
// bfly bench ports: frames a second through ports and stages, beside dpdk-testpmd in the same run.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "control/cli/bench_ports_closed.h"
#include "control/cli/bench_ports_loaded.h"
#include "control/cli/bench_report.h"
#include "control/cli/syntax.h"
#include "control/topology_file/quantity.h"
#include "dataplane/bench/port_bench.h"
#include "dataplane/bench/port_kind.h"
#include "topologies/network.h"
#include "topologies/port_rule.h"

namespace bfly::control {
namespace {

const std::vector<std::pair<std::string, dataplane::ClosedPlacement>>& ClosedPlacements() {
  static const std::vector<std::pair<std::string, dataplane::ClosedPlacement>> placements = {
      {"one", dataplane::ClosedPlacement::kOne},
      {"stages", dataplane::ClosedPlacement::kStages},
      {"rows", dataplane::ClosedPlacement::kRows}};
  return placements;
}

struct ClosedOptions {
  bool closed = false;
  std::string devices = "capture";
  std::string placement = "one";
  std::string network = "butterfly";
  int multiplicity = 2;
  std::string rule;
  std::string link_rate = "none";
  std::string link_delay = "0s";
  uint32_t link_queue = 0;
  bool circuits = false;
  std::string open_vswitch;
};

absl::StatusOr<dataplane::LinkShape> LinksOf(const ClosedOptions& options) {
  const absl::StatusOr<uint64_t> rate = ParseRate(options.link_rate);
  if (!rate.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("--link-rate: ", rate.status().message()));
  }
  const absl::StatusOr<uint64_t> delay = ParseDuration(options.link_delay);
  if (!delay.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("--link-delay: ", delay.status().message()));
  }
  return dataplane::LinkShape{
      .bits_per_second = *rate, .delay_ns = *delay, .queue_limit = options.link_queue};
}

absl::StatusOr<NetworkSpec> NetworkOf(const CLI::App& verb, const ClosedOptions& options) {
  NetworkSpec spec{.kind = KindFromName(options.network).value()};
  if (spec.kind == NetworkKind::kButterfly) {
    for (const char* option : {"--multiplicity", "--rule"}) {
      if (verb.count(option) == 0) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          option,
          ": a butterfly has one link a direction; it needs --network dilated_butterfly or "
          "multibutterfly"));
    }
    return spec;
  }
  spec.multiplicity = options.multiplicity;
  if (!options.rule.empty()) spec.rule = RuleFromName(options.rule).value();
  return spec;
}

absl::Status Bench(const CLI::App& verb, const dataplane::PortBenchOptions& options,
                   const ClosedOptions& closed, const Common& common) {
  if (!closed.closed) return BenchLoaded(options, common);
  dataplane::ClosedBenchOptions bench{.seconds = options.seconds,
                                      .testpmd = options.testpmd,
                                      .patience_seconds = options.patience_seconds};
  if (verb.count("--bytes") > 0) bench.frame_bytes = options.frame_bytes;
  if (verb.count("--runs") > 0) bench.runs = options.runs;
  if (closed.devices == "ring") bench.devices = dataplane::ClosedDevices::kRing;
  for (const auto& [name, placement] : ClosedPlacements()) {
    if (name == closed.placement) bench.placement = placement;
  }
  const absl::StatusOr<NetworkSpec> network = NetworkOf(verb, closed);
  if (!network.ok()) return network.status();
  bench.network = *network;
  const absl::StatusOr<dataplane::LinkShape> links = LinksOf(closed);
  if (!links.ok()) return links.status();
  bench.links = *links;
  bench.circuits = closed.circuits;
  bench.open_vswitch = closed.open_vswitch;
  return BenchClosed(bench, options.stages, closed.placement, common);
}

}  // namespace

void AddPortBench(CLI::App& bench, Invocation& invocation) {
  CLI::App* verb =
      NewVerb(bench, invocation, "ports",
              "Frames a second from port to port through the stages, beside dpdk-testpmd between "
              "the same pair of ports",
              "sudo bfly bench ports --ports memif --stages 1,2,4,6,8,10");
  auto options = std::make_shared<dataplane::PortBenchOptions>();
  std::vector<std::string> kinds;
  for (const dataplane::PortKind& kind : dataplane::PortKinds()) kinds.emplace_back(kind.name);
  CLI::Option* const ports =
      verb->add_option("--ports", options->ports, "The kind of the two ports, without --closed")
          ->check(CLI::IsMember(kinds))
          ->capture_default_str();
  verb->add_option(
          "--stages", options->stages,
          "Stages of the butterfly between the ports; several numbers, such as 1,2,6, give a row "
          "each, and a report each with --closed")
      ->delimiter(',')
      ->capture_default_str();
  verb->add_option("--bytes", options->frame_bytes, "Frame length without FCS")
      ->capture_default_str();
  verb->add_option("--seconds", options->seconds, "Measured time of a run")
      ->transform(TimeInSeconds())
      ->capture_default_str()
      ->type_name("TIME");
  verb->add_option("--runs", options->runs, "Runs of each device under test, in turn")
      ->capture_default_str();
  verb->add_option("--testpmd", options->testpmd, "The dpdk-testpmd to compare with")
      ->capture_default_str()
      ->type_name("PROGRAM");
  verb->add_option("--patience", options->patience_seconds,
                   "How long a program may take to start, or to answer, before the bench gives up")
      ->transform(TimeInSeconds())
      ->capture_default_str()
      ->type_name("TIME");
  auto closed = std::make_shared<ClosedOptions>();
  CLI::Option* const flag = verb->add_flag(
      "--closed", closed->closed,
      "Frames come from an endless capture and go to net_null, so that the workers alone set the "
      "pace; beside it dpdk-testpmd io, mac and macswap on the same devices, and bfly on one core");
  flag->excludes(ports);
  verb->add_option("--devices", closed->devices,
                   "With --closed: an endless capture and net_null, or two net_ring ports in whose "
                   "rings the frames go round")
      ->needs(flag)
      ->check(CLI::IsMember({"capture", "ring"}))
      ->capture_default_str();
  std::vector<std::string> names;
  for (const auto& [name, placement] : ClosedPlacements()) names.push_back(name);
  verb->add_option("--placement", closed->placement,
                   "With --closed: all on one core, or the stages or the rows shared by two")
      ->needs(flag)
      ->check(CLI::IsMember(names))
      ->capture_default_str();
  verb->add_option(
          "--network", closed->network,
          "With --closed: the network; beside one with parallel links, the plain butterfly "
          "with as many stages is measured")
      ->needs(flag)
      ->check(CLI::IsMember({"butterfly", "dilated_butterfly", "multibutterfly"}))
      ->capture_default_str();
  verb->add_option("--multiplicity", closed->multiplicity,
                   "With --network: links in each direction")
      ->needs(flag)
      ->capture_default_str();
  std::vector<std::string> rules;
  for (const PortRule rule : AllRules()) rules.emplace_back(RuleName(rule));
  verb->add_option("--rule", closed->rule,
                   "With --network: how a node picks among them [round_robin]")
      ->needs(flag)
      ->check(CLI::IsMember(rules));
  verb->add_flag("--circuits", closed->circuits,
                 "With --closed: every row has a circuit and all frames follow circuits; beside it "
                 "the same frames without circuits")
      ->needs(flag);
  verb->add_option("--open-vswitch", closed->open_vswitch,
                   "With --closed: the ovs-vswitchd with DPDK to compare with [the one that is "
                   "installed, if any]")
      ->needs(flag)
      ->type_name("PROGRAM");
  verb->add_option("--link-rate", closed->link_rate,
                   "With --closed: the rate of all links, such as 100Gbps; beside links that take "
                   "time, the same butterfly without is measured")
      ->needs(flag)
      ->capture_default_str()
      ->type_name("RATE");
  verb->add_option("--link-delay", closed->link_delay,
                   "With --closed: the delay of all links, such as 10us")
      ->needs(flag)
      ->capture_default_str()
      ->type_name("TIME");
  verb->add_option("--link-queue", closed->link_queue,
                   "With --closed: packets that may wait at a link; 0: no limit")
      ->needs(flag)
      ->capture_default_str();
  verb->callback([&invocation, options, closed, verb] {
    invocation.action = [common = invocation.common, options, closed, verb] {
      return Bench(*verb, *options, *closed, common);
    };
  });
}

}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
#include "dataplane/steps/route.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "dataplane/steps/route_run.h"
#include "topologies/faulty_switches.h"

namespace bfly::dataplane {
namespace {

const std::vector<RouteProgramRun>& Registry() {
  static const auto* const programs = new std::vector<RouteProgramRun>{
      WavesRoute(), GreedyRoute(), HRelationRoute(), ExtraStagesRoute(), StoreAndForwardRoute(),
  };
  return *programs;
}

absl::StatusOr<const RouteProgramRun*> Find(absl::string_view name) {
  for (const RouteProgramRun& run : Registry()) {
    if (run.program.name == name) return &run;
  }
  const auto append = [](std::string* out, const RouteProgram& program) {
    absl::StrAppend(out, program.name);
  };
  return absl::InvalidArgumentError(absl::StrCat("program: \"", name, "\" is none of ",
                                                 absl::StrJoin(AllRoutePrograms(), ", ", append)));
}

absl::Status CheckOptions(const Network& network, const RouteOptions& options) {
  if (options.workers < 1 || options.workers > kMaxRouteWorkers) {
    return absl::InvalidArgumentError(
        absl::StrCat("workers: ", options.workers, " is outside 1..", kMaxRouteWorkers));
  }
  if (options.level > network.hops()) {
    return absl::InvalidArgumentError(
        absl::StrCat("level: ", options.level, " is outside 0..", network.hops()));
  }
  return absl::OkStatus();
}

absl::Status CheckMemory(const RouteProgramRun& route, const Network& network,
                         const RouteRequest& request, uint64_t max_bytes) {
  const uint64_t packets = request.relation.destinations.size();
  const uint64_t log = CrossingLog::Bytes(network, packets);
  if (log > kMaxRouteBytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "h: to follow ", packets, " packets over ", network.hops(), " links each takes ", log,
        " bytes, and a run may take ", kMaxRouteBytes, "; use a smaller h (",
        kMaxRouteBytes / CrossingLog::Bytes(network, network.rows()), " fits) or fewer rows"));
  }
  const uint64_t nodes = static_cast<uint64_t>(network.hops() + 1) * network.rows();
  const uint64_t need = log + nodes * route.node_bytes(network, request);
  if (need <= max_bytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("network: ", route.program.name, " takes ", need >> 20, " MiB for ", packets,
                   " packets and the nodes of ", network.rows(), " rows, and ", max_bytes >> 20,
                   " MiB are left; use fewer packets or rows"));
}

// The first level whose nodes are all down; -1: there is no such level.
int LevelDown(const FaultSet& faults) {
  const Network& network = faults.network();
  std::vector<uint32_t> down(static_cast<size_t>(network.levels()));
  for (const NodeId& node : faults.down_nodes()) ++down[static_cast<size_t>(node.level)];
  const auto found = std::find(down.begin(), down.end(), network.rows());
  return found == down.end() ? -1 : static_cast<int>(found - down.begin());
}

// Leaves packets out that cannot be delivered.
absl::Status LeaveOut(RouteRun& run) {
  const FaultySwitches faulty(run.faults);
  const Relation& relation = run.request.relation;
  RouteReport& report = run.report;
  std::vector<bool> outputs(run.network.rows());
  report.faulty_switches = faulty.count_up_but_faulty();
  for (Row input = 0; input < run.network.rows(); ++input) {
    bool any = false;
    for (uint32_t packet = relation.first[input]; packet < relation.first[input + 1]; ++packet) {
      const Row output = relation.destinations[packet];
      const bool reached = faulty.reached()[output];
      if (reached && !faulty.counts(0, input)) continue;
      any = true;
      if (!reached) outputs[output] = true;
      run.sent[packet] = false;
      ++report.left_out;
    }
    if (any && faulty.counts(0, input)) report.faulty_inputs.push_back(input);
  }
  for (Row output = 0; output < run.network.rows(); ++output) {
    if (outputs[output]) report.faulty_outputs.push_back(output);
  }
  if (report.left_out < report.packets || report.packets == 0) return absl::OkStatus();
  const int level = LevelDown(run.faults);
  return absl::FailedPreconditionError(absl::StrCat(
      "faults: none of the ", report.packets, " packets can be delivered, because ",
      level >= 0 ? absl::StrCat("every node of level ", level, " is down")
                 : "every one has an input that counts as faulty or an output that no input "
                   "reaches"));
}

}  // namespace

const std::vector<RouteProgram>& AllRoutePrograms() {
  static const auto* const programs = [] {
    auto* all = new std::vector<RouteProgram>;
    for (const RouteProgramRun& run : Registry()) all->push_back(run.program);
    return all;
  }();
  return *programs;
}

absl::StatusOr<RouteReport> RunRoute(absl::string_view program, const Network& network,
                                     const FaultSet& faults, const RouteRequest& request,
                                     const RouteOptions& options) {
  const absl::StatusOr<const RouteProgramRun*> found = Find(program);
  if (!found.ok()) return found.status();
  const RouteProgramRun& route = **found;
  if (absl::Status status = CheckOptions(network, options); !status.ok()) return status;
  const uint64_t packets = request.relation.destinations.size();
  if (absl::Status status =
          CheckRelation(request.relation, network.rows(), request.h > 0 ? request.h : UINT32_MAX);
      !status.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("destinations: ", status.message()));
  }
  if (packets == 0) {
    return absl::InvalidArgumentError("destinations: no input sends a packet");
  }
  if (absl::Status status = route.check(network, request); !status.ok()) {
    if (!absl::StartsWith(status.message(), "network")) return status;
    return absl::Status(status.code(), absl::StrCat(status.message(), "; ", program,
                                                    " runs on: ", route.program.networks));
  }
  if (absl::Status status = CheckMemory(route, network, request, options.max_bytes); !status.ok()) {
    return status;
  }
  if (!faults.empty() && !route.program.around_faults) {
    return absl::FailedPreconditionError(absl::StrCat(
        "faults: ", program,
        " chooses paths without looking for faults, and links or nodes are down; bring them up, "
        "leave `faults` out of the topology file, or use waves or store_and_forward"));
  }
  if (options.recording != nullptr) {
    if (absl::Status status = CheckRecordable(network, packets); !status.ok()) return status;
  }
  std::optional<Crew> threads;
  if (options.crew == nullptr) threads.emplace(options.workers);
  RouteRun run{network,
               request,
               options,
               faults,
               options.crew == nullptr ? *threads : *options.crew,
               std::vector<bool>(packets, true),
               CrossingLog(network, packets, options.traffic),
               {}};
  run.report.packets = packets;
  if (!faults.empty()) {
    if (absl::Status status = LeaveOut(run); !status.ok()) return status;
  }
  if (absl::Status status = route.run(run); !status.ok()) return status;
  if (run.crew.given_up()) {
    return absl::CancelledError("the run was given up");
  }
  Summarize(route, run);
  if (options.recording != nullptr) *options.recording = RecordingOf(run.log, request.relation);
  return std::move(run.report);
}

}  // namespace bfly::dataplane

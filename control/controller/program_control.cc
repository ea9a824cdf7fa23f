// SPDX-License-Identifier: Apache-2.0
#include "control/controller/program_control.h"

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/controller/agent_answers.h"
#include "control/controller/dry_run.h"
#include "control/controller/program_note.h"
#include "control/status/field_errors.h"
#include "control/topology_file/to_fabric_config.h"

namespace bfly::control {
namespace {

// Says in which fields two networks differ. Fields that are left out have their defaults.
absl::Status CheckSame(const v1::Network& given, const Intent& intent) {
  const absl::StatusOr<NetworkSpec> spec = ToNetworkSpec(given);
  if (!spec.ok()) return WithPrefix(spec.status(), "network");
  const NetworkSpec& wanted = *spec;
  const NetworkSpec& loaded = intent.state.network().spec();
  FieldErrors errors;
  const auto compare = [&](absl::string_view field, const auto& value, const auto& of_loaded) {
    if (value == of_loaded) return;
    errors.Add(absl::StrCat("network.", field),
               absl::StrCat("is ", value, ", and that of the loaded fabric \"",
                            intent.topology.name(), "\" is ", of_loaded));
  };
  compare("kind", KindName(wanted.kind), KindName(loaded.kind));
  compare("rows", wanted.rows, loaded.rows);
  compare("seed", wanted.seed, loaded.seed);
  compare("passes", wanted.passes, loaded.passes);
  compare("multiplicity", wanted.multiplicity, loaded.multiplicity);
  compare("rule", RuleName(wanted.rule.value_or(kDefaultRule)),
          RuleName(loaded.rule.value_or(kDefaultRule)));
  compare("extra_stages", wanted.extra_stages, loaded.extra_stages);
  compare("parallel_edges", ParallelEdgesName(wanted.parallel_edges.value_or(kDefaultEdges)),
          ParallelEdgesName(loaded.parallel_edges.value_or(kDefaultEdges)));
  return errors.ToStatus(absl::StatusCode::kFailedPrecondition);
}

absl::Status CheckWhole(const Intent& intent) {
  if (intent.planes.size() == 1) return absl::OkStatus();
  std::vector<std::string> names;
  for (const auto& plane : intent.planes) names.push_back(plane->name());
  return absl::FailedPreconditionError(
      absl::StrCat("the loaded fabric is split over the data planes ", absl::StrJoin(names, ", "),
                   ", and a step program runs on the workers of one; load a topology with one "
                   "data plane, or "
                   "run the algorithm on the topology file without --in-band"));
}

}  // namespace

absl::StatusOr<v1::RouteReport> ProgramControl::Route(const v1::RouteRequest& request,
                                                      const InBandSession::Patience& patience) {
  const auto programs = LockPatiently(programs_, patience.interrupt);
  if (!programs.ok()) return programs.status();
  std::shared_ptr<DataPlane> plane;
  std::shared_ptr<const Network> network;
  {
    const auto change = intent_.BeginChange(request.election_id(), patience.deadline);
    if (!change.ok()) return change.status();
    absl::Status status = intent_.CheckLoaded();
    if (status.ok()) status = CheckWhole(intent_.now());
    if (status.ok()) status = intent_.CheckUsable();
    if (status.ok() && request.has_network()) status = CheckSame(request.network(), intent_.now());
    if (!status.ok()) return status;
    plane = intent_.now().planes.front();
    network = intent_.now().state.shared_network();
  }
  ProgramNote note(events_, v1::Event::INFO, request.program());
  const absl::StatusOr<v1::RouteReport> report =
      plane->client().Route(request, patience.interrupt, patience.deadline);
  note.End(report.status());
  if (IsUnreachable(report.status())) {
    return absl::Status(report.status().code(), absl::StrCat("data plane ", plane->name(), ": ",
                                                             report.status().message()));
  }
  if (!report.ok()) return report.status();
  if (absl::Status status = CheckAnswer(*report, request, *network); !status.ok()) return status;
  return report;
}

absl::StatusOr<v1::RouteRecording> ProgramControl::DryRun(const v1::RouteRequest& request,
                                                          const Interrupt& interrupt) const {
  std::shared_ptr<const Network> network;
  std::optional<FaultSet> faults;
  absl::Status same;
  const absl::Status loaded = intent_.Read([&](const Intent& intent) {
    network = intent.state.shared_network();
    faults = intent.state.faults();
    if (request.has_network()) same = CheckSame(request.network(), intent);
  });
  if (!loaded.ok()) return loaded;
  if (!same.ok()) return same;
  return RunDry(request, *network, *faults, interrupt);
}

}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
// bfly status: the loaded fabric, the data planes and workers that run it, and the account of
// packets.
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bfly/v1/fabric.grpc.pb.h"
#include "control/cli/client.h"
#include "control/cli/fault_text.h"
#include "control/cli/kept_text.h"
#include "control/cli/syntax.h"
#include "control/cli/text.h"
#include "control/cli/verb.h"
#include "control/rates/cost_since.h"
#include "control/top/stages_text.h"

namespace bfly::control {
namespace {

const char* StateName(v1::DataPlaneStatus::State state) {
  switch (state) {
    case v1::DataPlaneStatus::UNREACHABLE:
      return "UNREACHABLE";
    case v1::DataPlaneStatus::IDLE_STATE:
      return "idle";
    case v1::DataPlaneStatus::RUNNING:
      return "running";
    default:
      return "unknown";
  }
}

void Print(const v1::FabricStatus& status) {
  if (!status.loaded()) {
    printf("no fabric is loaded\n");
  } else {
    printf("%s: %s of %u rows, %u stages, %" PRIu64 " circuit%s", status.name().c_str(),
           status.kind().c_str(), status.rows(), status.stages(), status.circuits(),
           status.circuits() == 1 ? "" : "s");
    if (status.broken_circuits() > 0) printf(", %" PRIu64 " broken", status.broken_circuits());
    printf("\n");
  }
  if (!status.store_problem().empty()) {
    printf("  placed objects are not known: %s\n", status.store_problem().c_str());
  }
  if (!status.keeping_problem().empty()) {
    printf("  changes are not kept: %s\n", status.keeping_problem().c_str());
  }
  if (status.has_kept()) {
    printf("  kept of %s: %s, in %s\n", status.kept().name().c_str(),
           KeptText(status.kept()).c_str(), status.kept().path().c_str());
  }
  if (status.has_faults()) printf("%s", FaultLines(status.faults()).c_str());
  for (const v1::DataPlaneStatus& plane : status.data_planes()) {
    printf("  data plane %s: %s at %s", plane.name().c_str(), StateName(plane.state()),
           plane.address().c_str());
    if (!plane.dpdk_version().empty()) printf(", %s", plane.dpdk_version().c_str());
    printf("\n");
    if (!plane.memory().empty()) printf("    memory: %s\n", plane.memory().c_str());
    if (plane.reconciled() > 0)
      printf("    came back; %" PRIu64 " circuits were installed again\n", plane.reconciled());
    for (const v1::WorkerStatus& worker : plane.workers()) {
      const std::string stages = StagesText(worker);
      printf("    worker on lcore %u: %s, %.0f %% of %s passes idle\n%s", worker.lcore(),
             stages.empty() ? "only polls ports" : stages.c_str(),
             worker.passes() ? 100.0 * worker.idle_passes() / worker.passes() : 0.0,
             Count(worker.passes()).c_str(), CostLines(worker.cost()).c_str());
    }
    for (const v1::PortStatus& port : plane.ports()) {
      const std::string line = PortLine(port);
      if (!line.empty()) printf("    %s\n", line.c_str());
    }
    if (!plane.problem().empty()) printf("    %s\n", plane.problem().c_str());
  }
  if (status.primary_election_id() != 0)
    printf("  primary controller: election id %" PRIu64 "\n", status.primary_election_id());
  for (const v1::DataPlaneStatus& plane : status.data_planes())
    printf("%s", LatenessLines(plane.workers()).c_str());
  // A status that could not wait for the counters has none.
  if (status.loaded() && status.has_conservation())
    printf("%s\n", ConservationLine(status.conservation()).c_str());
}

// Scripts see from the exit code whether all is well. UNAVAILABLE names what is not.
absl::Status Health(const v1::FabricStatus& status) {
  std::vector<std::string> lost;
  for (const v1::DataPlaneStatus& plane : status.data_planes()) {
    if (std::string problem = PlaneProblem(plane, status.loaded()); !problem.empty()) {
      lost.push_back(std::move(problem));
    }
  }
  if (!status.store_problem().empty()) lost.push_back("placed objects are not known");
  if (!status.keeping_problem().empty()) lost.push_back("changes are not kept");
  if (lost.empty()) return absl::OkStatus();
  return absl::UnavailableError(absl::StrJoin(lost, ", "));
}

// `over_ms`: the time over which the workers' costs are reported; 0: since the load.
absl::Status Show(uint32_t over_ms, const Common& common) {
  auto stub = v1::Fabric::NewStub(Connect(common));
  const auto ask = [&](v1::StatusResponse& response) {
    return Call(stub.get(), &v1::Fabric::Stub::Status, v1::StatusRequest(), &response, common);
  };
  v1::StatusResponse before, response;
  if (over_ms > 0) {
    if (absl::Status asked = ask(before); !asked.ok()) return asked;
    std::this_thread::sleep_for(std::chrono::milliseconds(over_ms));
  }
  if (absl::Status asked = ask(response); !asked.ok()) return asked;
  if (over_ms > 0) *response.mutable_status() = WorkSince(before.status(), response.status());
  if (common.json) {
    if (absl::Status printed = PrintJson(response.status()); !printed.ok()) return printed;
  } else {
    Print(response.status());
  }
  return Health(response.status());
}

}  // namespace

void AddStatus(CLI::App& app, Invocation& invocation) {
  CLI::App* verb = NewVerb(
      app, invocation, "status",
      "Show what is loaded, where it runs, and the account of packets; fails if a data plane "
      "is unreachable or does not run what is loaded, placed objects are not known, or changes "
      "are not kept",
      "bfly status");
  auto over = std::make_shared<uint32_t>(0);
  verb->add_option("--over", *over,
                   "Tell the passes and cycles of this time from now on, not of all time since the "
                   "load; a plain number is milliseconds")
      ->transform(TimeInMilliseconds())
      ->check(CLI::Range(10u, 60000u))
      ->type_name("TIME");
  verb->callback([&invocation, over] {
    invocation.action = [common = invocation.common, over] { return Show(*over, common); };
  });
}

}  // namespace bfly::control

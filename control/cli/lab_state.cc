// SPDX-License-Identifier: Apache-2.0
#include "control/cli/lab_state.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bfly/v1/fabric.grpc.pb.h"
#include "control/cli/client.h"
#include "control/cli/daemon.h"
#include "control/cli/text.h"
#include "control/lab/lab.h"
#include "control/server/address.h"

namespace bfly::control {
namespace {

absl::StatusOr<v1::FabricStatus> StatusOf(const Common& common) {
  auto stub = v1::Fabric::NewStub(Connect(common));
  v1::StatusResponse now;
  const absl::Status told =
      Call(stub.get(), &v1::Fabric::Stub::Status, v1::StatusRequest(), &now, common);
  if (!told.ok()) return told;
  return now.status();
}

// Whether the controller has a fabric. True if it does not tell.
bool HasFabric(const Common& common) {
  const absl::StatusOr<v1::FabricStatus> now = StatusOf(common);
  return !now.ok() || now->loaded();
}

// False if this user may not connect to the daemon's socket, so that nothing is known of it.
bool MayAsk(const Common& common, const std::string& daemon) {
  const std::string socket = absl::StrCat(common.run_dir, "/", daemon, ".sock");
  return access(socket.c_str(), W_OK) == 0 || errno != EACCES;
}

// Says what is wrong with each data plane that is not well.
std::vector<std::string> WrongPlanes(const Fleet& fleet, const Common& common) {
  std::vector<std::string> names = DaemonNames(common.run_dir);
  if (!fleet.Answers(kControllerName)) {
    // The data planes of somebody else have no pid file.
    for (const std::string& address : AgentAddresses(common.run_dir)) {
      const std::string name = std::filesystem::path(SocketPath(address)).stem();
      if (!absl::c_linear_search(names, name)) names.push_back(name);
    }
  }
  std::vector<std::string> ended, wrong;
  for (const std::string& name : names) {
    if (name == kControllerName || fleet.Answers(name) || !MayAsk(common, name)) continue;
    ended.push_back(name);
    wrong.push_back(absl::StrCat("data plane ", name, " does not run"));
  }
  if (!fleet.Answers(kControllerName)) return wrong;
  const absl::StatusOr<v1::FabricStatus> now = StatusOf(common);
  if (!now.ok()) return wrong;
  for (const v1::DataPlaneStatus& plane : now->data_planes()) {
    const std::string problem = PlaneProblem(plane, now->loaded());
    if (!problem.empty() && !absl::c_linear_search(ended, plane.name())) wrong.push_back(problem);
  }
  return wrong;
}

}  // namespace

bool FabricRuns(const Fleet& fleet, const Common& common) {
  if (!fleet.Running().empty()) return true;
  if (fleet.Answers(kControllerName)) return HasFabric(common);
  return !fleet.ForeignWithFabric().empty();
}

std::string UserOf(const LabRecord& record, const Common& common) {
  const Fleet fleet(common.run_dir);
  if (const auto running = fleet.Running(); !running.empty()) {
    return absl::StrCat("processes that use them still run (", absl::StrJoin(running, ", "), ")");
  }
  // A service manager's processes run on when the fabric is unloaded.
  if (!record.up) return "";
  if (fleet.Answers(kControllerName)) {
    return HasFabric(common) ? "the controller may still have the fabric that uses them" : "";
  }
  const std::vector<std::string> foreign = fleet.ForeignWithFabric();
  if (foreign.empty()) return "";
  return absl::StrCat(
      "the fabric that uses them is still in data planes that somebody else started (",
      absl::StrJoin(foreign, ", "), ")");
}

absl::Status LabHealth(const LabRecord& record, const Common& common) {
  std::vector<std::string> wrong;
  if (!record.up) wrong.push_back("it did not come up whole");
  for (const LabHost& host : record.hosts) {
    const std::string state = StateOf(host, record);
    if (state == "gone" || state == "down") {
      wrong.push_back(absl::StrCat("host ", host.name, " is ", state));
    }
  }
  const Fleet fleet(common.run_dir);
  if (!fleet.Answers(kControllerName) && MayAsk(common, kControllerName)) {
    wrong.push_back("the controller does not run");
  }
  for (std::string& plane : WrongPlanes(fleet, common)) wrong.push_back(std::move(plane));
  if (wrong.empty()) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("lab ", record.name, ": ", absl::StrJoin(wrong, ", ")));
}

}  // namespace bfly::control

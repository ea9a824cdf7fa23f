// SPDX-License-Identifier: Apache-2.0
#include "control/cli/fleet.h"

#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bfly/v1/agent.grpc.pb.h"
#include "control/server/address.h"
#include "control/server/controller_lock.h"
#include "control/topology_file/to_fabric_config.h"
#include "dataplane/ports/device_policy.h"

namespace bfly::control {
namespace {

using Clock = std::chrono::steady_clock;

// How long a process may take until it serves. Reserving memory takes most of this time.
constexpr std::chrono::seconds kServeDeadline{60};
// How long a process may take to end: a data plane empties its links and closes its devices first.
constexpr std::chrono::seconds kStopPatience{15};
// How long a data plane may take to say whether it holds a fabric.
constexpr std::chrono::seconds kStatePatience{5};
constexpr int kLogLines = 20;
// How often a process that starts is looked at. gRPC connects only once its socket accepts: after
// an attempt that failed it would wait for a second before the next.
constexpr std::chrono::milliseconds kServeStep{2};
constexpr std::chrono::milliseconds kConnectStep{100};

}  // namespace

std::vector<std::string> Fleet::Running() const {
  std::vector<std::string> running;
  for (const std::string& name : DaemonNames(run_dir_))
    if (pid(name) != 0) running.push_back(name);
  return running;
}

std::vector<std::string> Fleet::ForeignWithFabric() const {
  std::vector<std::string> names;
  for (const std::string& address : AgentAddresses(run_dir_)) {
    const std::string socket = SocketPath(address);
    const std::string name = std::filesystem::path(socket).stem();
    if (pid(name) != 0 || !SomebodyAnswers(socket)) continue;
    const auto stub =
        v1::Agent::NewStub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kStatePatience);
    v1::AgentState state;
    const grpc::Status answer = stub->GetState(&context, v1::AgentStateRequest(), &state);
    if (!answer.ok() || state.loaded()) names.push_back(name);
  }
  return names;
}

bool Fleet::Answers(const std::string& name) const {
  return pid(name) != 0 || SomebodyAnswers(files(name).socket());
}

absl::Status Fleet::Serves(const std::string& name, pid_t pid,
                           const std::function<bool()>& interrupted) const {
  const Clock::time_point deadline = Clock::now() + kServeDeadline;
  std::shared_ptr<grpc::Channel> channel;
  for (;;) {
    if (channel == nullptr && SomebodyAnswers(files(name).socket())) {
      channel =
          grpc::CreateChannel("unix:" + files(name).socket(), grpc::InsecureChannelCredentials());
    }
    if (channel == nullptr) {
      std::this_thread::sleep_for(kServeStep);
    } else if (channel->WaitForConnected(std::chrono::system_clock::now() + kConnectStep)) {
      return absl::OkStatus();
    }
    if (interrupted()) return absl::CancelledError("interrupted");
    if (RunningDaemon(files(name)) != pid)
      return absl::InternalError(absl::StrCat("bfly's ", name, " ended while it started; its log (",
                                              files(name).log(), ") ends with\n",
                                              LogTail(files(name), kLogLines)));
    if (Clock::now() > deadline)
      return absl::DeadlineExceededError(absl::StrCat(
          "bfly's ", name, " does not serve after ", kServeDeadline.count(), " s; its log (",
          files(name).log(), ") ends with\n", LogTail(files(name), kLogLines)));
  }
}

absl::StatusOr<std::vector<std::string>> Fleet::DataPlaneCommand(
    const v1::Topology& topology, const v1::DataPlane& plane,
    const std::vector<std::string>& device_dirs) const {
  std::vector<std::string> command = {SiblingProgram("bfly-dataplane"),
                                      "--name",
                                      plane.name(),
                                      "--run-dir",
                                      run_dir_,
                                      "--memory-mb",
                                      absl::StrCat(plane.memory_mb())};
  const auto config = ToFabricConfig(topology, plane.name());
  if (!config.ok()) return config.status();
  for (const std::string& file : dataplane::DeviceFiles(*config)) {
    command.insert(command.end(), {"--device-file", file});
  }
  for (const std::string& directory : device_dirs) {
    command.insert(command.end(), {"--device-dir", directory});
  }
  return command;
}

std::vector<std::string> Fleet::ControllerCommand() const {
  std::vector<std::string> command = {SiblingProgram("bfly-controller"), "--run-dir", run_dir_};
  const std::pair<const char*, const std::string&> files[] = {
      {"--tls-ca", tls_.ca}, {"--tls-cert", tls_.certificate}, {"--tls-key", tls_.key}};
  for (const auto& [flag, path] : files) {
    if (!path.empty()) command.insert(command.end(), {flag, path});
  }
  return command;
}

absl::StatusOr<std::vector<std::string>> Fleet::Start(const v1::Topology& topology,
                                                      const std::vector<std::string>& device_dirs,
                                                      const std::string& state_dir,
                                                      const std::string& web,
                                                      const std::function<bool()>& interrupted) {
  struct Member {
    std::string name;
    DaemonStart start;
    pid_t pid = 0;
  };
  std::vector<Member> members;
  for (const v1::DataPlane& plane : topology.data_planes()) {
    if (!plane.address().empty() || Answers(plane.name())) continue;
    absl::StatusOr<std::vector<std::string>> command =
        DataPlaneCommand(topology, plane, device_dirs);
    if (!command.ok()) return command.status();
    members.push_back({.name = plane.name(),
                       .start = {.command = *std::move(command),
                                 .network_namespace = plane.network_namespace()}});
  }
  if (!Answers(kControllerName)) {
    std::vector<std::string> command = ControllerCommand();
    if (!state_dir.empty()) command.insert(command.end(), {"--state-dir", state_dir});
    if (!web.empty()) command.insert(command.end(), {"--web", web});
    members.push_back({.name = kControllerName,
                       .start = {.command = std::move(command), .network_namespace = ""}});
  }

  absl::Status status;
  std::vector<std::string> started;
  for (Member& member : members) {
    const absl::StatusOr<pid_t> pid = StartDaemon(files(member.name), member.start);
    status = pid.status();
    if (!status.ok()) break;
    member.pid = *pid;
    started.push_back(member.name);
  }
  for (const Member& member : members)
    if (status.ok()) status = Serves(member.name, member.pid, interrupted);
  if (status.ok()) return started;
  Stop(std::move(started), /*keep_logs=*/true);
  return status;
}

void Fleet::StopAllBut(const v1::Topology& topology) {
  std::vector<std::string> names = Running();
  std::erase_if(names, [&topology](const std::string& name) {
    return name == kControllerName ||
           std::any_of(topology.data_planes().begin(), topology.data_planes().end(),
                       [&name](const v1::DataPlane& plane) { return plane.name() == name; });
  });
  Stop(std::move(names), /*keep_logs=*/false);
}

absl::Status Fleet::Stopped::AllEnded() const {
  if (run_on.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("not stopped: ", absl::StrJoin(run_on, "; ")));
}

Fleet::Stopped Fleet::Stop(bool keep_logs) { return Stop(DaemonNames(run_dir_), keep_logs); }

Fleet::Stopped Fleet::Stop(std::vector<std::string> names, bool keep_logs) {
  Stopped result;
  // The controller goes first, so that it does not take the end of a data plane for a crash.
  std::stable_partition(names.begin(), names.end(),
                        [](const std::string& name) { return name == kControllerName; });
  for (const std::string& name : names) {
    const DaemonFiles daemon = files(name);
    const pid_t pid = RunningDaemon(daemon);
    const DaemonEnd end = StopDaemon(daemon, kStopPatience);
    if (end == DaemonEnd::kNotPermitted || end == DaemonEnd::kStays) {
      result.run_on.push_back(absl::StrCat(name, " (process ", pid, ")",
                                           end == DaemonEnd::kStays
                                               ? " is still there after it was killed"
                                               : " belongs to another user, stop it with sudo"));
      continue;
    }
    if (pid != 0) result.stopped.push_back(name);
    if (end == DaemonEnd::kKilled) result.killed.push_back(name);
    if (!keep_logs) unlink(daemon.log().c_str());
  }
  ControllerLock::RemoveStale(run_dir_);
  return result;
}

}  // namespace bfly::control

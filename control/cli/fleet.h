// SPDX-License-Identifier: Apache-2.0
// The processes of one fabric on this machine: bfly-controller, and a bfly-dataplane for every data
// plane of the topology that has no address of its own.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bfly/v1/topology.pb.h"
#include "control/cli/daemon.h"
#include "control/cli/verb.h"

namespace bfly::control {

inline constexpr char kControllerName[] = "controller";

class Fleet {
 public:
  explicit Fleet(const std::string& run_dir) : run_dir_(run_dir) {}

  // Starts every process that `topology` needs and that does not run yet, and waits until each
  // serves, or until `interrupted` says true. Returns the names of those started. On an error they
  // are stopped again, and the message ends with the log of the process at fault. Data planes may
  // use the files that the topology's devices name, and those in `device_dirs`, for the fabrics
  // that clients load later too.
  absl::StatusOr<std::vector<std::string>> Start(const v1::Topology& topology,
                                                 const std::vector<std::string>& device_dirs,
                                                 const std::function<bool()>& interrupted);

  // Stops every process with a pid file in the run directory, the controller first; then removes
  // what it left there. The names of those that ran and the names of those that had to be killed.
  struct Stopped {
    std::vector<std::string> stopped, killed;
  };
  Stopped Stop(bool keep_logs);
  // The same for these alone.
  Stopped Stop(std::vector<std::string> names, bool keep_logs);
  // Stops the data planes that `topology` does not have.
  void StopAllBut(const v1::Topology& topology);

  // Names of the processes that run now.
  std::vector<std::string> Running() const;
  pid_t pid(const std::string& name) const { return RunningDaemon(files(name)); }
  DaemonFiles files(const std::string& name) const { return {.run_dir = run_dir_, .name = name}; }

 private:
  absl::StatusOr<std::vector<std::string>> DataPlaneCommand(
      const v1::Topology& topology, const v1::DataPlane& plane,
      const std::vector<std::string>& device_dirs) const;
  absl::Status Serves(const std::string& name, pid_t pid,
                      const std::function<bool()>& interrupted) const;

  std::string run_dir_;
};

}  // namespace bfly::control

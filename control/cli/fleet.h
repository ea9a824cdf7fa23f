// SPDX-License-Identifier: Apache-2.0
// The processes of one fabric on this machine: bfly-controller, and one bfly-dataplane for every
// data plane of the topology that has no address of its own.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "bfly/v1/topology.pb.h"
#include "control/cli/daemon.h"
#include "control/cli/verb.h"

namespace bfly::control {

inline constexpr char kControllerName[] = "controller";

class Fleet {
 public:
  // A controller that is started calls data planes at TCP addresses with the files of `tls`.
  explicit Fleet(const std::string& run_dir, TlsFlags tls = {})
      : run_dir_(run_dir), tls_(std::move(tls)) {}

  // Starts every process that `topology` needs and that does not serve yet, and waits until each
  // serves or `interrupted` returns true. Returns the names of the started processes. After an
  // error it stops them again, and the message ends with the log of the process at fault. The data
  // planes may use the files that the topology's devices name, and the files in `device_dirs`, also
  // for fabrics that clients load later. The controller keeps the intent in `state_dir`; empty:
  // where it does so by default. It serves the web page at `web`; empty: none.
  absl::StatusOr<std::vector<std::string>> Start(const v1::Topology& topology,
                                                 const std::vector<std::string>& device_dirs,
                                                 const std::string& state_dir,
                                                 const std::string& web,
                                                 const std::function<bool()>& interrupted);

  // Stops every process with a pid file in the run directory, the controller first, and removes its
  // files. Returns the names of the processes that ran and ended, of those among them that had to
  // be killed, and why others run on.
  struct Stopped {
    std::vector<std::string> stopped, killed, run_on;
    // OK: none runs on.
    absl::Status AllEnded() const;
  };
  Stopped Stop(bool keep_logs);
  // The same for the named processes only.
  Stopped Stop(std::vector<std::string> names, bool keep_logs);
  // Stops the data planes that are not in `topology`.
  void StopAllBut(const v1::Topology& topology);

  // Names of the processes that run now.
  std::vector<std::string> Running() const;
  pid_t pid(const std::string& name) const { return RunningDaemon(files(name)); }
  // Names of the data planes that somebody else started, that serve in the run directory, and that
  // hold a fabric or do not say whether they do.
  std::vector<std::string> ForeignWithFabric() const;
  // Whether this process runs, or somebody else, such as a service manager, started one that serves
  // in its place.
  bool Answers(const std::string& name) const;
  DaemonFiles files(const std::string& name) const { return {.run_dir = run_dir_, .name = name}; }

 private:
  absl::StatusOr<std::vector<std::string>> DataPlaneCommand(
      const v1::Topology& topology, const v1::DataPlane& plane,
      const std::vector<std::string>& device_dirs) const;
  absl::Status Serves(const std::string& name, pid_t pid,
                      const std::function<bool()>& interrupted) const;

  std::vector<std::string> ControllerCommand() const;

  std::string run_dir_;
  TlsFlags tls_;
};

}  // namespace bfly::control

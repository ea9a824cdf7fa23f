// SPDX-License-Identifier: Apache-2.0
// A fabric that a bench starts for itself.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "bfly/v1/topology.pb.h"
#include "control/cli/daemon.h"
#include "control/cli/terminal.h"
#include "control/cli/verb.h"

namespace bfly::control {

// A new directory /tmp/bfly-bench-fabric-..., which the destructor removes with all that is in it.
class BenchRunDir {
 public:
  // PERMISSION_DENIED: it cannot be made.
  static absl::StatusOr<BenchRunDir> Make();
  BenchRunDir(BenchRunDir&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  ~BenchRunDir();
  const std::string& path() const { return path_; }

 private:
  explicit BenchRunDir(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// A controller and the data planes of a topology, in a run directory of their own. The destructor
// stops the processes.
class ServedFabric {
 public:
  // The two-fold butterfly of `rows` rows, all of it on one worker of a data plane dp0, no ports.
  static v1::Topology OneWorker(const std::string& name, uint32_t rows, uint64_t seed, int lcore);

  static absl::StatusOr<std::unique_ptr<ServedFabric>> Start(const v1::Topology& topology,
                                                             SignalReader& signals);
  ~ServedFabric();
  const Common& common() const { return common_; }
  // Of the controller, or of a data plane, by its name.
  pid_t pid(const std::string& name) const;

 private:
  explicit ServedFabric(BenchRunDir directory);

  const BenchRunDir directory_;
  Common common_;
};

}  // namespace bfly::control

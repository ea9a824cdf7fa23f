// SPDX-License-Identifier: Apache-2.0
// A fabric that a bench starts for itself.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "bfly/v1/topology.pb.h"
#include "control/cli/daemon.h"
#include "control/cli/terminal.h"
#include "control/cli/verb.h"
#include "dataplane/bench/bench_frames.h"

namespace bfly::control {

// The stages of a two-fold butterfly of `rows` rows, a power of two.
inline int StagesOfTwoFold(uint32_t rows) { return 2 * std::countr_zero(rows); }

// A controller and the data planes of a topology, in a run directory of their own. The destructor
// stops the processes.
class ServedFabric {
 public:
  // The two-fold butterfly of `rows` rows, all of it on one worker of a data plane dp0, no ports.
  static v1::Topology OneWorker(const std::string& name, uint32_t rows, uint64_t seed, int lcore);

  // PERMISSION_DENIED: the directory cannot be made. Other errors are those of `bfly up`.
  static absl::StatusOr<std::unique_ptr<ServedFabric>> Start(const v1::Topology& topology,
                                                             SignalReader& signals);
  ~ServedFabric();
  const Common& common() const { return common_; }
  // Returns the process of the controller, or of the data plane of that name.
  pid_t pid(const std::string& name) const;

 private:
  ServedFabric() { common_.run_dir = directory_.path(); }

  const dataplane::BenchDirectory directory_;
  Common common_;
};

}  // namespace bfly::control

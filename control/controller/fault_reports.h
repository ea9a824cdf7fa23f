// SPDX-License-Identifier: Apache-2.0
// What the faults of the loaded fabric make unreachable. Status and Describe ask for it often, and
// the answer changes only with the faults.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "bfly/v1/fabric.pb.h"
#include "topologies/fault_set.h"

namespace bfly::control {

// Thread-safe. Callers with the same faults wait for one of them.
class FaultReports {
 public:
  // `network` is that of `faults`.
  v1::FaultReport Of(const std::shared_ptr<const Network>& network, const FaultSet& faults);

 private:
  std::mutex mutex_;  // guards what follows
  std::shared_ptr<const Network> network_;
  std::vector<Fault> down_;
  v1::FaultReport last_;
};

}  // namespace bfly::control

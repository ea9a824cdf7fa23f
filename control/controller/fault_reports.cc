// SPDX-License-Identifier: Apache-2.0
#include "control/controller/fault_reports.h"

#include "control/topology_file/fault_report.h"

namespace bfly::control {

v1::FaultReport FaultReports::Of(const std::shared_ptr<const Network>& network,
                                 const FaultSet& faults) {
  std::vector<Fault> down = faults.down();
  const std::lock_guard lock(mutex_);
  if (network != network_ || down != down_) {
    last_ = ReportFaults(faults);
    network_ = network;
    down_ = std::move(down);
  }
  return last_;
}

}  // namespace bfly::control

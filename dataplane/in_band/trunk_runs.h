// SPDX-License-Identifier: Apache-2.0
// Numbers the runs of a fabric that trunks split, on the data plane of the inputs.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "dataplane/in_band/program_post.h"

namespace bfly::dataplane {

// One control thread at a time may call it.
class TrunkRuns {
 public:
  // `post` must outlive the object.
  explicit TrunkRuns(ProgramPost& post);

  // Sends a pass without messages through all data planes. It drives the messages of earlier runs
  // out, and each data plane says whether it took part in the previous run. If a data plane did
  // not, or a run was broken, another pass makes all links and disks forget the circuits that they
  // count. Returns whether they forgot. The errors are ProgramPost's.
  absl::StatusOr<bool> Begin();
  // Notes that the run has not ended as it should, so that it is not known what the links count.
  void MarkBroken() { known_ = false; }

 private:
  absl::Status RunPass(const Pass& pass);

  ProgramPost& post_;
  uint64_t run_;        // the run that began last
  bool known_ = false;  // whether what the links of all data planes count is known
};

}  // namespace bfly::dataplane

// SPDX-License-Identifier: Apache-2.0
// The runs of a fabric that trunks split, as the data plane of the inputs numbers them.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "dataplane/in_band/program_post.h"

namespace bfly::dataplane {

// One control thread at a time.
class TrunkRuns {
 public:
  // `post` outlives the object.
  explicit TrunkRuns(ProgramPost& post);

  // Sends a pass without messages through all data planes. What is on its way of earlier runs is
  // dropped behind it, and each data plane says whether it took part in the run before. If one did
  // not, or a run was broken, another pass has all links and disks forget the circuits that they
  // count. Returns whether they forgot. The errors are ProgramPost's.
  absl::StatusOr<bool> Begin();
  // The run has not ended as it should. What links count is not known.
  void Broke() { known_ = false; }

 private:
  absl::Status RunPass(const Pass& pass);

  ProgramPost& post_;
  uint64_t run_;        // that began last
  bool known_ = false;  // what the links of all data planes count
};

}  // namespace bfly::dataplane

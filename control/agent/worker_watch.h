// SPDX-License-Identifier: Apache-2.0
// Whether the workers of a data plane go on with their work.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "dataplane/core/snapshot.h"

namespace bfly::control {

class WorkerWatch {
 public:
  // Returns whether every worker has begun a pass since the last call. Returns true while no fabric
  // is loaded (`workers` is empty), and in the first call after the number of workers has changed.
  bool AllMove(const std::vector<dataplane::WorkerCounters>& workers) {
    bool all = true;
    std::vector<uint64_t> passes;
    for (size_t i = 0; i < workers.size(); ++i) {
      passes.push_back(workers[i].passes);
      all &= last_.size() != workers.size() || passes[i] != last_[i];
    }
    last_ = std::move(passes);
    return all;
  }

 private:
  std::vector<uint64_t> last_;  // the passes of each worker at the last call
};

}  // namespace bfly::control

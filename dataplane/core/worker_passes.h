// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace bfly::dataplane {

// How many passes each worker has begun, with the lcore of the worker.
using WorkerPasses = std::vector<std::pair<int, uint64_t>>;

}  // namespace bfly::dataplane

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace bfly::dataplane {

// How often each worker has begun a pass, by lcore.
using WorkerPasses = std::vector<std::pair<int, uint64_t>>;

}  // namespace bfly::dataplane

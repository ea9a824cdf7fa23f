// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bfly::control {

// "1 to 20" for seeds that follow each other, or else all of them: "1, 7, 3".
std::string SeedsInWords(const std::vector<uint64_t>& seeds);

}  // namespace bfly::control

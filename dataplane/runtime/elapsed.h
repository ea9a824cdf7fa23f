// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace bfly::dataplane {

inline double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace bfly::dataplane

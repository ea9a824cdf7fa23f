// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace bfly::control {

// "45 s", "3 min 20 s", "1 h 5 min".
std::string DurationText(double seconds);

}  // namespace bfly::control

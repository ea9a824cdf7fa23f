// SPDX-License-Identifier: Apache-2.0
// An event in one line of plain words.
#pragma once

#include <string>

#include "bfly/v1/events.pb.h"

namespace bfly::control {

// "fabric demo loaded", "3 circuits set up (17, 18, 19)", "data plane dp0 cannot be reached: ...".
std::string WordsOf(const v1::Event& event);

}  // namespace bfly::control

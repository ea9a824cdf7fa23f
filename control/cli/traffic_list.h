// SPDX-License-Identifier: Apache-2.0
// bfly traffic list|latency: what the built-in sources have sent, and how long it took.
#pragma once

#include "control/cli/verb.h"

namespace bfly::control {

void AddTrafficList(CLI::App& group, Invocation& invocation);

}  // namespace bfly::control

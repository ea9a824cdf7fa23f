// SPDX-License-Identifier: Apache-2.0
// bfly traffic list|latency: how many packets the built-in sources have sent, and their latency.
#pragma once

#include "control/cli/verb.h"

namespace bfly::control {

void AddTrafficList(CLI::App& group, Invocation& invocation);

}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "control/cli/verb.h"

namespace bfly::control {

// bfly events.
void AddEvents(CLI::App& app, Invocation& invocation);

}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "control/cli/verb.h"

namespace bfly::control {

// bfly data-server place|request|release|status, on a running fabric.
void AddObjectVerbs(CLI::App& group, Invocation& invocation);

}  // namespace bfly::control

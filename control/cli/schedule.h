// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "control/cli/verb.h"

namespace bfly::control {

// bfly circuit schedule.
void AddSchedule(CLI::App& circuit, Invocation& invocation);

}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
// A command in the network namespace of a host.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "control/lab/net_namespace.h"

namespace bfly::control {

// Becomes the command, in the namespace and with a view of /sys that fits it. Returns only if it
// cannot. NotFound: there is no such command; PermissionDenied: it cannot be run.
absl::Status ExecIn(const NetNamespace& where, const std::vector<std::string>& command);

}  // namespace bfly::control

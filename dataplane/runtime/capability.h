// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "absl/status/status.h"

namespace bfly::dataplane {

// PermissionDenied "`field`: net_tap needs CAP_NET_ADMIN, which this process lacks; run it as root
// or ..." if a device of this kind cannot be opened with the capabilities this process has.
absl::Status CheckDeviceCapability(const std::string& field, const std::string& device);

}  // namespace bfly::dataplane

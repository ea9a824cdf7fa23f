// SPDX-License-Identifier: Apache-2.0
// Features of a network device: work that the kernel leaves to the device, as `ethtool -k` lists
// it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "control/lab/net_namespace.h"

namespace bfly::control {

// Switches features off by the kernel's names of them, such as "tx-vlan-hw-insert". Names that this
// kernel does not have are passed over. FailedPrecondition: the device keeps one of them on.
absl::Status SwitchFeaturesOff(const NetNamespace& where, const std::string& interface,
                               std::span<const std::string_view> names);

}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "absl/status/status.h"
#include "dataplane/core/config.h"
#include "topologies/network.h"

namespace bfly::dataplane {

// Checks ports[index] as Fabric::Verify does, also against the other ports and the trunks, and
// returns its errors as one, each beginning with "ports[index]". `network` is that of the config.
absl::Status VerifyPort(const FabricConfig& config, const Network& network, size_t index);

}  // namespace bfly::dataplane

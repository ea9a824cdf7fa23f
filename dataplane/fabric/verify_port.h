// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "absl/status/status.h"
#include "dataplane/core/config.h"
#include "topologies/network.h"

namespace bfly::dataplane {

// Checks ports[index] as Fabric::Verify does, also against the other ports and the trunks. Returns
// its errors as one error, in which each begins with "ports[index]". `network` is the network of
// the config.
absl::Status VerifyPort(const FabricConfig& config, const Network& network, size_t index);

}  // namespace bfly::dataplane

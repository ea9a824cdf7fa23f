// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "absl/status/status.h"
#include "bfly/v1/circuits.grpc.pb.h"
#include "control/cli/verb.h"

namespace bfly::control {

// Prints the standing circuits and then every change, until a signal asks to end or the stream
// ends. In the latter case it returns the stream's error.
absl::Status WatchCircuits(const v1::WatchRequest& request, const Common& common);

}  // namespace bfly::control

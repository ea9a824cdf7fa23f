// SPDX-License-Identifier: Apache-2.0
// Every circuit that stands, page by page.
#pragma once

#include "absl/status/statusor.h"
#include "bfly/v1/circuits.grpc.pb.h"
#include "control/cli/client.h"

namespace bfly::control {

// Returns the circuits that match the filters of `request`. This function sets the request's page
// fields.
absl::StatusOr<v1::ListResponse> ListCircuits(v1::ListRequest request, const Common& common);

}  // namespace bfly::control

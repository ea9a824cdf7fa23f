// SPDX-License-Identifier: Apache-2.0
// What is asked to be placed, as the plain values FabricState works on.
#pragma once

#include "absl/status/statusor.h"
#include "bfly/v1/data_server.pb.h"
#include "control/intent/fabric_state.h"

namespace bfly::control {

// INVALID_ARGUMENT names every field; RESOURCE_EXHAUSTED: with the objects `placed` already there
// would be more than `most`. Disks are checked against the network by FabricState.
absl::StatusOr<PlaceOrder> ToOrder(const v1::PlaceRequest& request, Row rows, uint64_t placed,
                                   uint64_t most);

// The order of a record that such an order had.
absl::StatusOr<PlaceOrder> OrderOfRecord(const std::string& record, Row rows, uint64_t placed,
                                         uint64_t most);

}  // namespace bfly::control

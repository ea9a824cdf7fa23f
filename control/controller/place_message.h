// SPDX-License-Identifier: Apache-2.0
// Requests to place objects, as the plain values that FabricState works on.
#pragma once

#include "absl/status/statusor.h"
#include "bfly/v1/data_server.pb.h"
#include "control/intent/fabric_state.h"

namespace bfly::control {

// INVALID_ARGUMENT names every field. RESOURCE_EXHAUSTED: together with the `placed` objects there
// would be more than `most`. FabricState checks disks against the network.
absl::StatusOr<PlaceOrder> ToOrder(const v1::PlaceRequest& request, Row rows, uint64_t placed,
                                   uint64_t most);

// Makes the order again from the record that it left.
absl::StatusOr<PlaceOrder> OrderOfRecord(const std::string& record, Row rows, uint64_t placed,
                                         uint64_t most);

}  // namespace bfly::control

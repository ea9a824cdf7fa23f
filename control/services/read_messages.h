// SPDX-License-Identifier: Apache-2.0
// Reads of the data server, to and from the messages of bfly.v1.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bfly/v1/data_server.pb.h"
#include "control/controller/resources.h"
#include "control/intent/fabric_state.h"

namespace bfly::control {

// INVALID_ARGUMENT as for circuits (circuit_messages.h).
absl::StatusOr<Order> ToOrder(const v1::ObjectRequest& request);
absl::StatusOr<Order> ToOrder(const v1::ReleaseObjectRequest& request);
// INVALID_ARGUMENT names options of random placement that this placement does not take, or `first`
// where random objects would lie on the disks of others. What an older controller let pass may
// still be placed from its record, which is not checked.
absl::Status CheckPlace(const v1::PlaceRequest& request);
// Checks what can be checked without the network. RESOURCE_EXHAUSTED: too many reads in one
// message.
absl::Status CheckBatch(const v1::ObjectBatchRequest& request, Resource& batch);
absl::Status CheckBatch(const v1::ReleaseObjectsRequest& request, Resource& batch);
ReadBatchOrder ToReadOrder(const v1::ObjectBatchRequest& request);
void FillObjectPath(const Network& network, const StandingCircuit& circuit, v1::ObjectPath* out);

}  // namespace bfly::control

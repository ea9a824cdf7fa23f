// SPDX-License-Identifier: Apache-2.0
// The one place where absl::Status becomes a gRPC status and back.
#pragma once

#include <grpcpp/support/status.h>

#include "absl/status/status.h"

namespace bfly::control {

// Keeps code and message. The fields that the status names go into grpc-status-details-bin as a
// google.rpc.Status with a google.rpc.BadRequest, which clients of any language can read. If there
// are very many fields, the first ones and their total number are sent, so that everything fits the
// trailers that every client takes.
grpc::Status ToGrpc(const absl::Status& status);

// Converts back; FieldErrorsOf() finds the fields again.
absl::Status FromGrpc(const grpc::Status& status);

}  // namespace bfly::control

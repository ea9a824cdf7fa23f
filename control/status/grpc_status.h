// SPDX-License-Identifier: Apache-2.0
// The one place where absl::Status becomes a gRPC status and back.
#pragma once

#include <grpcpp/support/status.h>

#include "absl/status/status.h"

namespace bfly::control {

// Same code, same message. The fields the status names go into grpc-status-details-bin as a
// google.rpc.Status with a google.rpc.BadRequest, which clients of any language can read. Of a
// great many fields the first are told, with how many there are, so that the whole fits the
// trailers every client takes.
grpc::Status ToGrpc(const absl::Status& status);

// What a client gets back; FieldErrorsOf() finds the fields again.
absl::Status FromGrpc(const grpc::Status& status);

}  // namespace bfly::control

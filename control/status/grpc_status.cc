// SPDX-License-Identifier: Apache-2.0
#include "control/status/grpc_status.h"

#include <string>

#include "absl/strings/cord.h"
#include "control/status/field_errors.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace bfly::control {

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  // The numbers of absl::StatusCode are those of google.rpc.Code and of grpc::StatusCode.
  const auto code = static_cast<grpc::StatusCode>(status.code());
  const std::string message(status.message());
  google::rpc::Status details;
  details.set_code(code);
  details.set_message(message);
  google::rpc::BadRequest bad_request;
  for (const FieldError& error : FieldErrorsOf(status)) {
    auto* violation = bad_request.add_field_violations();
    violation->set_field(error.field);
    violation->set_description(error.description);
  }
  if (bad_request.field_violations_size() > 0) details.add_details()->PackFrom(bad_request);
  return grpc::Status(code, message, details.SerializeAsString());
}

absl::Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  absl::Status result(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
  google::rpc::Status details;
  if (!details.ParseFromString(status.error_details())) return result;
  for (const google::protobuf::Any& any : details.details()) {
    if (any.Is<google::rpc::BadRequest>())
      result.SetPayload(any.type_url(), absl::Cord(any.value()));
  }
  return result;
}

}  // namespace bfly::control

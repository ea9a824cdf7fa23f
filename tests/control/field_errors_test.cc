// SPDX-License-Identifier: Apache-2.0
#include "control/status/field_errors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/status/grpc_status.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace bfly::control {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(FieldErrors, AllErrorsOfARequestAreToldAtOnce) {
  FieldErrors errors;
  EXPECT_TRUE(errors.ToStatus().ok());
  errors.Add("input", "16 is outside 0..15");
  errors.Add(OutOfRange("output", 99, 0, 15));
  const absl::Status status = errors.ToStatus();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(status.message()),
            "input: 16 is outside 0..15; output: 99 is outside 0..15");
  EXPECT_THAT(FieldErrorsOf(status), ElementsAre(FieldError{"input", "16 is outside 0..15"},
                                                 FieldError{"output", "99 is outside 0..15"}));
}

TEST(FieldErrors, AMessageThatStartsWithAFieldNamesIt) {
  EXPECT_THAT(FieldErrorsOf(absl::InvalidArgumentError("placement[1].lcore: 9 is no CPU")),
              ElementsAre(FieldError{"placement[1].lcore", "9 is no CPU"}));
  EXPECT_THAT(FieldErrorsOf(absl::InternalError("Cannot open: no such device")), IsEmpty());
  EXPECT_THAT(FieldErrorsOf(absl::InternalError("no colon")), IsEmpty());
  EXPECT_THAT(FieldErrorsOf(absl::InternalError(": nothing before it")), IsEmpty());
}

TEST(FieldErrors, APrefixGoesBeforeEveryField) {
  const absl::Status status = WithPrefix(OutOfRange("input", 16, 0, 15), "requests[3]");
  EXPECT_EQ(std::string(status.message()), "requests[3].input: 16 is outside 0..15");
  EXPECT_EQ(FieldErrorsOf(status)[0].field, "requests[3].input");
  EXPECT_EQ(FieldErrorsOf(WithPrefix(absl::InternalError("Broken"), "requests[3]"))[0].field,
            "requests[3]");
  EXPECT_TRUE(WithPrefix(absl::OkStatus(), "requests[3]").ok());
}

TEST(GrpcStatus, DetailsAreAGoogleRpcStatusWithABadRequest) {
  const grpc::Status status = ToGrpc(OutOfRange("input", 16, 0, 15));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  google::rpc::Status details;
  ASSERT_TRUE(details.ParseFromString(status.error_details()));
  EXPECT_EQ(details.code(), 3);  // google.rpc.Code.INVALID_ARGUMENT
  EXPECT_EQ(details.message(), "input: 16 is outside 0..15");
  ASSERT_EQ(details.details_size(), 1);
  google::rpc::BadRequest bad_request;
  ASSERT_TRUE(details.details(0).UnpackTo(&bad_request));
  ASSERT_EQ(bad_request.field_violations_size(), 1);
  EXPECT_EQ(bad_request.field_violations(0).field(), "input");
  EXPECT_EQ(bad_request.field_violations(0).description(), "16 is outside 0..15");
}

TEST(GrpcStatus, EveryCodeKeepsItsNumberThereAndBack) {
  for (int code = 0; code <= 16; ++code) {
    const absl::Status status(static_cast<absl::StatusCode>(code), code == 0 ? "" : "why");
    EXPECT_EQ(ToGrpc(status).error_code(), code);
    EXPECT_EQ(FromGrpc(ToGrpc(status)), status);
  }
  const absl::Status fields = OutOfRange("input", 16, 0, 15);
  EXPECT_EQ(FieldErrorsOf(FromGrpc(ToGrpc(fields))), FieldErrorsOf(fields));
}

}  // namespace
}  // namespace bfly::control

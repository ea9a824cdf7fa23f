// SPDX-License-Identifier: Apache-2.0
// Reads whose requests name links that no path may cross. Stage 0 of a randomly-wired butterfly
// leads user u to the first half of the disks over link s0 ru p0 and to the second half over s0 ru
// p1, so the avoided link decides which copy is read.
#include <gmock/gmock.h>

#include "tests/control/data_server_fixture.h"

namespace bfly::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Stub = v1::DataServer::Stub;

class DataServerAvoidTest : public DataServerServiceTest {
 protected:
  // Object 1 on disks 0 and 8, object 2 on disks 1 and 9, object 3 on disk 6 alone.
  void SetUp() override {
    Start();
    ASSERT_TRUE(PlaceAt(1, {0, 8}).ok());
    ASSERT_TRUE(PlaceAt(2, {1, 9}).ok());
    ASSERT_TRUE(PlaceAt(3, {6}).ok());
  }
  template <class Request>
  static void Avoid(uint32_t user, uint32_t port, Request* request) {
    v1::LinkRef* link = request->add_avoid();
    link->set_row(user);
    link->set_port(port);
  }
  static v1::ObjectRequest One(uint32_t user, uint64_t object) {
    v1::ObjectRequest request;
    request.set_user(user);
    request.set_object(object);
    return request;
  }
  absl::StatusOr<v1::ObjectResponse> Send(const v1::ObjectRequest& request) {
    return Call(*controller_->data_server, &Stub::Request, request);
  }
  absl::StatusOr<v1::ObjectBatchResponse> Send(const v1::ObjectBatchRequest& request) {
    return Call(*controller_->data_server, &Stub::RequestBatch, request);
  }
};

TEST_F(DataServerAvoidTest, ARequestReadsTheCopyThatItsLinksLeave) {
  v1::ObjectRequest request = One(3, 1);
  Avoid(3, 0, &request);
  const auto around = Send(request);
  ASSERT_TRUE(around.ok()) << around.status();
  EXPECT_EQ(around->path().output(), 8u);
  EXPECT_EQ(around->path().choice(), "p_prime");
  ASSERT_TRUE(EndRead(3).ok());
  // Only that request avoids the link.
  EXPECT_EQ(Ask(3, 1)->path().output(), 0u);
  ASSERT_TRUE(EndRead(3).ok());

  Avoid(3, 1, &request);
  const absl::Status refused = Send(request).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(FieldsOf(refused), ElementsAre("link"));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("s0 r3 p0 is to be avoided"));
  request = One(3, 3);
  Avoid(3, 0, &request);
  EXPECT_EQ(Send(request).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(Status().reads(), 0u);
  ExpectCountsEqualRecount(*controller_, agent_.get());
}

// A move has no field `output`.
TEST_F(DataServerAvoidTest, AMoveToADiskThatIsHeldIsRefusedAsARequestIs) {
  ASSERT_EQ(Ask(3, 1)->path().output(), 0u);
  const auto circuit = SetUpCircuit(*controller_, 9, 8);
  ASSERT_TRUE(circuit.ok()) << circuit.status();
  v1::MoveRequest move;
  move.set_input(3);
  Avoid(3, 0, &move);
  const absl::Status moved = Call(*controller_->circuits, &v1::Circuits::Stub::Move, move).status();
  EXPECT_EQ(Status().reads(), 1u);
  ASSERT_TRUE(EndRead(3).ok());
  v1::ObjectRequest request = One(3, 1);
  Avoid(3, 0, &request);
  const absl::Status asked = Send(request).status();
  for (const absl::Status& refused : {moved, asked}) {
    EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(FieldsOf(refused), ElementsAre("object"));
    EXPECT_THAT(std::string(refused.message()), HasSubstr("(9 -> 8); release it first"));
  }
  EXPECT_EQ(moved.message(), asked.message());
  ExpectCountsEqualRecount(*controller_, agent_.get());
}

TEST_F(DataServerAvoidTest, AStreamCarriesTheWishToo) {
  grpc::ClientContext context;
  SetDeadline(context);
  const auto stream = controller_->data_server->Stream(&context);
  v1::ObjectOperation operation;
  *operation.mutable_request() = One(3, 1);
  Avoid(3, 0, operation.mutable_request());
  ASSERT_TRUE(stream->Write(operation));
  v1::ObjectResult result;
  ASSERT_TRUE(stream->Read(&result));
  EXPECT_EQ(result.code(), 0) << result.message();
  EXPECT_EQ(result.path().output(), 8u);
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(DataServerAvoidTest, ABatchReadsTheCopiesThatItsLinksLeave) {
  for (const std::string protocol : {"collision", "minimum"}) {
    v1::ObjectBatchRequest batch;
    batch.set_protocol(protocol);
    for (const uint32_t user : {4u, 5u}) {
      batch.add_users(user);
      batch.add_objects(user - 3);
    }
    Avoid(4, 0, &batch);
    Avoid(5, 1, &batch);
    for (const bool dry_run : {true, false}) {
      batch.set_dry_run(dry_run);
      const auto served = Send(batch);
      ASSERT_TRUE(served.ok()) << protocol << served.status();
      ASSERT_EQ(served->paths_size(), 2);
      EXPECT_EQ(served->paths(0).output(), 8u) << protocol;
      EXPECT_EQ(served->paths(1).output(), 1u) << protocol;
    }
    ASSERT_TRUE(EndRead(4).ok() && EndRead(5).ok());
    Avoid(5, 0, &batch);
    for (const bool dry_run : {true, false}) {
      batch.set_dry_run(dry_run);
      const absl::Status refused = Send(batch).status();
      EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable) << protocol;
      EXPECT_THAT(FieldsOf(refused), ElementsAre("users[1].link")) << protocol;
    }
  }
  v1::ObjectBatchRequest single;
  single.add_users(7);
  single.add_objects(3);
  Avoid(7, 0, &single);
  EXPECT_THAT(FieldsOf(Send(single).status()), ElementsAre("users[0].link"));
  EXPECT_EQ(Status().reads(), 0u);
  ExpectCountsEqualRecount(*controller_, agent_.get());
}

TEST_F(DataServerAvoidTest, AKeyIsOfOneWishAlone) {
  v1::ObjectRequest request = One(3, 1);
  request.set_idempotency_key("key");
  Avoid(3, 0, &request);
  ASSERT_TRUE(Send(request).ok());
  EXPECT_EQ(Send(request)->path().output(), 8u);
  request.clear_avoid();
  EXPECT_THAT(FieldsOf(Send(request).status()), ElementsAre("idempotency_key"));

  v1::ObjectBatchRequest batch;
  batch.add_users(4);
  batch.add_objects(2);
  batch.set_idempotency_key("batch");
  Avoid(4, 0, &batch);
  ASSERT_TRUE(Send(batch).ok());
  EXPECT_EQ(Send(batch)->paths(0).output(), 9u);
  batch.mutable_avoid(0)->set_port(1);
  EXPECT_THAT(FieldsOf(Send(batch).status()), ElementsAre("idempotency_key"));
}

TEST_F(DataServerAvoidTest, WhatCannotBeAvoidedIsRefusedByField) {
  v1::ObjectRequest request = One(3, 1);
  Avoid(3, 0, &request);
  Avoid(16, 0, &request);
  EXPECT_THAT(FieldsOf(Send(request).status()), ElementsAre("avoid[1].row"));
  v1::ObjectBatchRequest batch;
  batch.add_users(3);
  batch.add_objects(1);
  batch.add_avoid()->set_stage(4);
  for (const bool dry_run : {true, false}) {
    batch.set_dry_run(dry_run);
    EXPECT_THAT(FieldsOf(Send(batch).status()), ElementsAre("avoid[0].stage"));
  }
  batch.set_protocol("minimum");
  batch.set_best_effort(true);
  EXPECT_THAT(FieldsOf(Send(batch).status()), ElementsAre("avoid"));
  batch.set_best_effort(false);
  batch.set_in_band(true);
  request.set_in_band(true);
  EXPECT_THAT(FieldsOf(Send(batch).status()), ElementsAre("avoid"));
  EXPECT_THAT(FieldsOf(Send(request).status()), ElementsAre("avoid"));
  EXPECT_EQ(Status().reads(), 0u);
}

}  // namespace
}  // namespace bfly::control

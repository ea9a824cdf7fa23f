// SPDX-License-Identifier: Apache-2.0
// Many reads at a time: streams, best-effort batches, keys, lists.
#include <gmock/gmock.h>

#include "tests/control/data_server_fixture.h"

namespace bfly::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Stub = v1::DataServer::Stub;

v1::ObjectOperation RequestOf(uint64_t tag, uint32_t user, uint64_t object) {
  v1::ObjectOperation operation;
  operation.set_tag(tag);
  operation.mutable_request()->set_user(user);
  operation.mutable_request()->set_object(object);
  return operation;
}

v1::ObjectOperation ReleaseOf(uint64_t tag, uint32_t user) {
  v1::ObjectOperation operation;
  operation.set_tag(tag);
  operation.mutable_release()->set_user(user);
  return operation;
}

TEST_F(DataServerServiceTest, AStreamAnswersEveryOperationInOrder) {
  Start();
  ASSERT_TRUE(PlaceAt(1, {0, 8}).ok());
  ASSERT_TRUE(PlaceAt(2, {0, 9}).ok());
  grpc::ClientContext context;
  SetDeadline(context);
  const auto stream = controller_->data_server->Stream(&context);
  v1::ObjectOperation batch;
  batch.set_tag(14);
  *batch.mutable_batch()->add_operations() = RequestOf(1, 5, 1);
  *batch.mutable_batch()->add_operations() = RequestOf(2, 16, 2);
  *batch.mutable_batch()->add_operations() = RequestOf(3, 4, 2);
  ASSERT_TRUE(stream->Write(RequestOf(11, 3, 1)));
  ASSERT_TRUE(stream->Write(RequestOf(12, 4, 1)));
  ASSERT_TRUE(stream->Write(ReleaseOf(13, 3)));
  ASSERT_TRUE(stream->Write(batch));
  ASSERT_TRUE(stream->Write(v1::ObjectOperation()));
  stream->WritesDone();

  v1::ObjectResult result;
  ASSERT_TRUE(stream->Read(&result));
  EXPECT_EQ(result.tag(), 11u);
  EXPECT_EQ(result.code(), 0) << result.message();
  EXPECT_EQ(result.path().output(), 0u);
  ASSERT_TRUE(stream->Read(&result));
  EXPECT_EQ(result.tag(), 12u);
  EXPECT_EQ(result.code(), 9);  // FAILED_PRECONDITION: user 3 reads it
  EXPECT_THAT(result.message(), HasSubstr("is read by user 3"));
  ASSERT_TRUE(stream->Read(&result));
  EXPECT_EQ(result.tag(), 13u);
  EXPECT_EQ(result.code(), 0) << result.message();
  EXPECT_EQ(result.path().object(), 1u);
  ASSERT_TRUE(stream->Read(&result));
  EXPECT_EQ(result.tag(), 14u);
  ASSERT_EQ(result.results_size(), 3);
  EXPECT_EQ(result.results(0).path().output(), 0u);
  EXPECT_EQ(result.results(1).code(), 3);  // INVALID_ARGUMENT: there are users 0 to 15
  // Disk 0 has a reader by now, so the second copy serves.
  EXPECT_EQ(result.results(2).path().output(), 9u);
  ASSERT_TRUE(stream->Read(&result));
  EXPECT_EQ(result.code(), 3);
  EXPECT_THAT(result.message(), HasSubstr("set request or release"));
  EXPECT_FALSE(stream->Read(&result));
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(Status().reads(), 2u);
  ExpectCountsEqualRecount(*controller_, agent_.get());
}

TEST_F(DataServerServiceTest, TheSameKeyGetsTheSameAnswerAndChangesNothing) {
  Start();
  ASSERT_TRUE(Place(16, 2).ok());
  v1::ObjectRequest request;
  request.set_user(3);
  request.set_object(1);
  request.set_idempotency_key("r");
  const auto first = Call(*controller_->data_server, &Stub::Request, request);
  const auto second = Call(*controller_->data_server, &Stub::Request, request);
  ASSERT_TRUE(first.ok() && second.ok()) << first.status() << second.status();
  EXPECT_EQ(first->path().circuit(), second->path().circuit());
  EXPECT_EQ(Status().reads(), 1u);
  request.set_object(2);
  const auto other = Call(*controller_->data_server, &Stub::Request, request);
  EXPECT_EQ(other.status().code(), absl::StatusCode::kInvalidArgument);

  v1::ObjectBatchRequest batch;
  for (uint32_t user = 8; user < 16; ++user) {
    batch.add_users(user);
    batch.add_objects(user);
  }
  batch.set_idempotency_key("b");
  const auto all = Call(*controller_->data_server, &Stub::RequestBatch, batch);
  const auto again = Call(*controller_->data_server, &Stub::RequestBatch, batch);
  ASSERT_TRUE(all.ok() && again.ok()) << all.status() << again.status();
  EXPECT_EQ(all->rounds(), again->rounds());
  EXPECT_EQ(Status().reads(), 9u);
  batch.set_in_band(true);
  EXPECT_THAT(FieldsOf(Call(*controller_->data_server, &Stub::RequestBatch, batch).status()),
              ElementsAre("idempotency_key"));
  ExpectCountsEqualRecount(*controller_, agent_.get());
}

// Users 0 to 7 ask for objects `first` to `first` + 7.
v1::ObjectBatchRequest EightReads(const std::string& protocol, uint64_t first,
                                  const std::string& key) {
  v1::ObjectBatchRequest batch;
  for (uint32_t user = 0; user < 8; ++user) {
    batch.add_users(user);
    batch.add_objects(first + user);
  }
  batch.set_protocol(protocol);
  batch.set_idempotency_key(key);
  return batch;
}

TEST_F(DataServerServiceTest, ABatchTellsTheIdsOfItsCircuits) {
  Start();
  ASSERT_TRUE(Place(8, 2).ok());
  ASSERT_TRUE(Place(8, 1, /*first=*/8).ok());
  for (const auto& [protocol, first] :
       {std::pair{"collision", 0u}, {"minimum", 0u}, {"collision", 8u}}) {
    SCOPED_TRACE(testing::Message() << protocol << " from " << first);
    v1::ObjectBatchRequest dry = EightReads(protocol, first, "");
    dry.set_dry_run(true);
    const auto planned = Call(*controller_->data_server, &Stub::RequestBatch, dry);
    ASSERT_TRUE(planned.ok()) << planned.status();
    const v1::ObjectBatchRequest batch = EightReads(protocol, first, absl::StrCat(protocol, first));
    const auto served = Call(*controller_->data_server, &Stub::RequestBatch, batch);
    const auto again = Call(*controller_->data_server, &Stub::RequestBatch, batch);
    ASSERT_TRUE(served.ok() && again.ok()) << served.status() << again.status();
    const auto listed = Call(*controller_->data_server, &Stub::List, v1::ListReadsRequest());
    ASSERT_EQ(listed->reads_size(), 8);
    for (int i = 0; i < 8; ++i) {
      EXPECT_EQ(planned->paths(i).circuit(), 0u);
      EXPECT_NE(listed->reads(i).circuit(), 0u);
      EXPECT_EQ(served->paths(i).circuit(), listed->reads(i).circuit());
      EXPECT_EQ(again->paths(i).circuit(), listed->reads(i).circuit());
    }
    v1::ReleaseObjectsRequest all;
    all.set_all(true);
    ASSERT_TRUE(Call(*controller_->data_server, &Stub::ReleaseBatch, all).ok());
  }
}

// The reads end, and the objects are placed anew in one copy. What was answered stays the same.
TEST_F(DataServerServiceTest, AKeyGetsTheFirstAnswerWhateverHappenedSince) {
  Start();
  ASSERT_TRUE(Place(8, 2).ok());
  const v1::ObjectBatchRequest together = EightReads("collision", 0, "together");
  v1::ObjectBatchRequest each = EightReads("minimum", 0, "each");
  each.set_best_effort(true);
  std::vector<std::string> answers;
  const auto ask = [&](const v1::ObjectBatchRequest& batch) {
    auto answer = Call(*controller_->data_server, &Stub::RequestBatch, batch);
    ASSERT_TRUE(answer.ok()) << answer.status();
    answer->clear_seconds();
    EXPECT_EQ(answer->paths_size(), 8);
    EXPECT_GE(answer->link_congestion(), 1u);
    EXPECT_GE(answer->disk_contention(), 1u);
    EXPECT_EQ(answer->copies(), batch.best_effort() ? 0u : 2u);
    EXPECT_EQ(answer->protocol(), batch.protocol());
    answers.push_back(answer->DebugString());
  };
  v1::ReleaseObjectsRequest all;
  all.set_all(true);
  for (const v1::ObjectBatchRequest& batch : {together, each}) {
    ask(batch);
    ASSERT_TRUE(Call(*controller_->data_server, &Stub::ReleaseBatch, all).ok());
  }
  v1::PlaceRequest anew;
  anew.set_count(8);
  anew.set_copies(1);
  anew.set_replace(true);
  ASSERT_TRUE(Call(*controller_->data_server, &Stub::Place, anew).ok());
  ask(together);
  ask(each);
  ASSERT_EQ(answers.size(), 4u);
  EXPECT_EQ(answers[2], answers[0]);
  EXPECT_EQ(answers[3], answers[1]);
  EXPECT_EQ(Status().reads(), 0u);
  // An empty batch of another kind may have had the key.
  v1::ObjectBatchRequest nothing;
  nothing.set_protocol("minimum");
  nothing.set_best_effort(true);
  nothing.set_idempotency_key("nothing");
  v1::SetUpBatchRequest no_circuits;
  no_circuits.set_idempotency_key("nothing");
  ASSERT_TRUE(Call(*controller_->circuits, &v1::Circuits::Stub::SetUpBatch, no_circuits).ok());
  EXPECT_EQ(Call(*controller_->data_server, &Stub::RequestBatch, nothing).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(DataServerServiceTest, WithBestEffortWhatCanBeServedIs) {
  Start();
  ASSERT_TRUE(Place(16, 2).ok());
  v1::ObjectBatchRequest batch;
  const uint32_t users[] = {1, 99, 2, 1, 3};
  const uint64_t objects[] = {1, 2, 77, 4, 5};
  batch.mutable_users()->Add(std::begin(users), std::end(users));
  batch.mutable_objects()->Add(std::begin(objects), std::end(objects));
  // First all or none.
  batch.set_protocol("minimum");
  EXPECT_FALSE(Call(*controller_->data_server, &Stub::RequestBatch, batch).ok());
  EXPECT_EQ(Status().reads(), 0u);

  batch.set_best_effort(true);
  const auto served = Call(*controller_->data_server, &Stub::RequestBatch, batch);
  ASSERT_TRUE(served.ok()) << served.status();
  EXPECT_EQ(served->circuits(), 2u);
  ASSERT_EQ(served->paths_size(), 2);
  EXPECT_EQ(served->paths(0).object(), 1u);
  EXPECT_EQ(served->paths(1).object(), 5u);
  ASSERT_EQ(served->errors_size(), 3);
  EXPECT_EQ(served->errors(0).index(), 1u);
  EXPECT_EQ(served->errors(0).user(), 99u);
  EXPECT_EQ(served->errors(0).code(), 3);
  EXPECT_EQ(served->errors(1).code(), 5);
  EXPECT_EQ(served->errors(2).code(), 9);
  ExpectCountsEqualRecount(*controller_, agent_.get());

  batch.set_protocol("collision");
  EXPECT_THAT(FieldsOf(Call(*controller_->data_server, &Stub::RequestBatch, batch).status()),
              ElementsAre("best_effort"));
}

TEST_F(DataServerServiceTest, ManyReadsAreReleasedAtOnce) {
  Start();
  ASSERT_TRUE(Place(16, 2).ok());
  ASSERT_TRUE(AskAll(8).ok());
  v1::ReleaseObjectsRequest request;
  request.add_users(2);
  request.add_users(12);
  const auto refused = Call(*controller_->data_server, &Stub::ReleaseBatch, request);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kNotFound) << refused.status();
  EXPECT_THAT(FieldsOf(refused.status()), ElementsAre("users[1]"));
  EXPECT_EQ(Status().reads(), 8u);
  request.set_best_effort(true);
  const auto some = Call(*controller_->data_server, &Stub::ReleaseBatch, request);
  ASSERT_TRUE(some.ok()) << some.status();
  EXPECT_EQ(some->released(), 1u);
  ASSERT_EQ(some->errors_size(), 1);
  EXPECT_EQ(some->errors(0).user(), 12u);
  request.set_all(true);
  EXPECT_THAT(FieldsOf(Call(*controller_->data_server, &Stub::ReleaseBatch, request).status()),
              ElementsAre("users"));
  request.clear_users();
  EXPECT_EQ(Call(*controller_->data_server, &Stub::ReleaseBatch, request)->released(), 7u);
  EXPECT_EQ(Status().reads(), 0u);
  ExpectCountsEqualRecount(*controller_, agent_.get());
}

TEST_F(DataServerServiceTest, ListsReadsByPagesAndFilters) {
  Start();
  ASSERT_TRUE(Place(16, 2).ok());
  const auto served = AskAll(10);
  ASSERT_TRUE(served.ok()) << served.status();
  v1::ListReadsRequest request;
  request.set_page_size(4);
  std::vector<uint32_t> users;
  for (int page = 0; page < 4; ++page) {
    const auto listed = Call(*controller_->data_server, &Stub::List, request);
    ASSERT_TRUE(listed.ok()) << listed.status();
    EXPECT_EQ(listed->total(), 10u);
    for (const v1::ObjectPath& read : listed->reads()) users.push_back(read.input());
    if (listed->next_page_token().empty()) break;
    request.set_page_token(listed->next_page_token());
  }
  EXPECT_THAT(users, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));

  v1::ListReadsRequest by_object;
  by_object.set_object(7);
  const auto one = Call(*controller_->data_server, &Stub::List, by_object);
  ASSERT_EQ(one->reads_size(), 1);
  EXPECT_EQ(one->reads(0).input(), 7u);
  v1::ListReadsRequest by_disk;
  by_disk.set_disk(one->reads(0).output());
  uint64_t at_disk = 0;
  for (const v1::ObjectPath& path : served->paths()) {
    at_disk += path.output() == one->reads(0).output();
  }
  EXPECT_EQ(Call(*controller_->data_server, &Stub::List, by_disk)->total(), at_disk);
  v1::ListReadsRequest wrong;
  wrong.set_user(16);
  wrong.set_page_size(10'001);
  EXPECT_THAT(FieldsOf(Call(*controller_->data_server, &Stub::List, wrong).status()),
              ElementsAre("user", "page_size"));
}

}  // namespace
}  // namespace bfly::control

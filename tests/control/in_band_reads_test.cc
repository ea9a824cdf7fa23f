// SPDX-License-Identifier: Apache-2.0
// Reads of the data server set up in band, end to end: a client asks, the workers choose, the
// controller learns the result, and all of them count the same.
#include <gmock/gmock.h>

#include <map>

#include "tests/control/in_band_fixture.h"

namespace bfly::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Stub = v1::DataServer::Stub;

class InBandReadsTest : public InBandServiceTest {
 protected:
  absl::Status Place(uint32_t count, uint32_t copies, uint64_t first = 0) {
    v1::PlaceRequest request;
    request.set_count(count);
    request.set_copies(copies);
    request.set_first(first);
    request.set_seed(5);
    return Call(*controller_->data_server, &Stub::Place, request).status();
  }
  absl::Status PlaceAt(uint64_t object, std::vector<uint32_t> disks) {
    v1::PlaceRequest request;
    request.add_objects()->set_object(object);
    request.mutable_objects(0)->mutable_disks()->Add(disks.begin(), disks.end());
    return Call(*controller_->data_server, &Stub::Place, request).status();
  }
  // User u asks for object first + u.
  absl::StatusOr<v1::ObjectBatchResponse> AskAll(const std::string& protocol, uint32_t users,
                                                 bool in_band, uint64_t first = 0) {
    v1::ObjectBatchRequest request;
    for (uint32_t user = 0; user < users; ++user) {
      request.add_users(user);
      request.add_objects(first + user);
    }
    request.set_protocol(protocol);
    request.set_in_band(in_band);
    request.set_dry_run(!in_band);
    return Call(*controller_->data_server, &Stub::RequestBatch, request);
  }
  absl::StatusOr<v1::ObjectResponse> Ask(uint32_t user, uint64_t object, bool in_band) {
    v1::ObjectRequest request;
    request.set_user(user);
    request.set_object(object);
    request.set_in_band(in_band);
    return Call(*controller_->data_server, &Stub::Request, request);
  }
  absl::StatusOr<v1::ReleaseObjectResponse> EndRead(uint32_t user, bool in_band) {
    v1::ReleaseObjectRequest request;
    request.set_user(user);
    request.set_in_band(in_band);
    return Call(*controller_->data_server, &Stub::Release, request);
  }
  v1::DataServerStatus Status() {
    v1::DataServerStatusRequest request;
    request.set_reads(true);
    return *Call(*controller_->data_server, &Stub::Status, request);
  }
};

TEST_F(InBandReadsTest, ABatchIsThatOfTheDryRun) {
  for (const uint32_t rows : {8u, 64u}) {
    Start(RandomlyWired(rows));
    ASSERT_TRUE(Place(rows, 2).ok());
    ASSERT_TRUE(Place(rows, 1, rows).ok());
    // Whole batches, and half batches on top of standing reads. The last batch is of single copies.
    for (const auto& [protocol, first] :
         {std::pair{"collision", 0u}, {"minimum", 0u}, {"collision", rows}, {"minimum", rows}}) {
      SCOPED_TRACE(testing::Message() << rows << " rows, " << protocol << ", from " << first);
      for (uint32_t user = rows / 2; user < rows && first == 0; user += 3) {
        ASSERT_TRUE(Ask(user, first + user, /*in_band=*/user % 2 == 0).ok());
      }
      const uint32_t users = first == 0 ? rows / 2 : rows;
      const auto dry = AskAll(protocol, users, /*in_band=*/false, first);
      ASSERT_TRUE(dry.ok()) << dry.status();
      const auto served = AskAll(protocol, users, /*in_band=*/true, first);
      ASSERT_TRUE(served.ok()) << served.status();
      ASSERT_EQ(served->paths_size(), static_cast<int>(users));
      std::map<uint32_t, uint64_t> circuits;  // by input
      for (const v1::Circuit& circuit : List(*controller_)) {
        circuits[circuit.input()] = circuit.id();
      }
      for (int i = 0; i < served->paths_size(); ++i) {
        v1::ObjectPath path = served->paths(i);
        EXPECT_EQ(path.circuit(), circuits.at(path.input()));
        path.set_circuit(0);
        EXPECT_EQ(path.DebugString(), dry->paths(i).DebugString());
      }
      ASSERT_EQ(served->buddies_size(), dry->buddies_size());
      for (int i = 0; i < served->buddies_size(); ++i) {
        EXPECT_EQ(served->buddies(i).DebugString(), dry->buddies(i).DebugString());
      }
      EXPECT_EQ(served->rounds(), dry->rounds());
      EXPECT_THAT(served->left_per_round(), testing::ElementsAreArray(dry->left_per_round()));
      EXPECT_EQ(served->link_congestion(), dry->link_congestion());
      EXPECT_EQ(served->disk_contention(), dry->disk_contention());
      EXPECT_EQ(served->c(), dry->c());
      EXPECT_EQ(served->c_disk(), dry->c_disk());
      EXPECT_EQ(served->copies(), dry->copies());
      EXPECT_EQ(served->protocol(), dry->protocol());
      if (first == 0) {
        EXPECT_EQ(served->messages(), dry->messages());
        EXPECT_EQ(served->steps(), dry->steps());
      }
      EXPECT_EQ(served->in_band().install_messages(), 2u * users);
      const v1::DataServerStatus status = Status();
      EXPECT_EQ(status.disk_contention(), served->disk_contention());
      EXPECT_EQ(status.link_congestion(), served->link_congestion());
      ExpectEverybodyCountsTheSame();
      for (const v1::ObjectPath& path : status.paths()) {
        ASSERT_TRUE(EndRead(path.input(), /*in_band=*/path.input() % 3 != 0).ok());
      }
      EXPECT_EQ(Status().reads(), 0u);
      ExpectEverybodyCountsTheSame();
    }
  }
}

TEST_F(InBandReadsTest, OneByOneTheLessBusyCopyServes) {
  Start(RandomlyWired(16));
  ASSERT_TRUE(PlaceAt(1, {0, 8}).ok());
  ASSERT_TRUE(PlaceAt(2, {0, 9}).ok());
  ASSERT_TRUE(PlaceAt(3, {0}).ok());
  const auto first = Ask(3, 1, true);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->path().output(), 0u);
  EXPECT_EQ(first->path().choice(), "p");
  // Two messages over 4 links each, there and back; and the one that installs.
  EXPECT_EQ(first->in_band().messages(), 4u);
  EXPECT_EQ(first->in_band().forward_steps(), 4u);
  EXPECT_EQ(first->in_band().install_steps(), 8u);
  const auto second = Ask(4, 2, true);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(second->path().output(), 9u);
  EXPECT_EQ(second->path().choice(), "p_prime");
  EXPECT_EQ(second->disk_contention(), 1u);
  const auto third = Ask(5, 3, true);
  ASSERT_TRUE(third.ok()) << third.status();
  EXPECT_EQ(third->path().choice(), "greedy");
  EXPECT_EQ(third->disk_contention(), 2u);
  EXPECT_EQ(third->in_band().messages(), 0u);
  ExpectEverybodyCountsTheSame();
  const auto ended = EndRead(3, true);
  ASSERT_TRUE(ended.ok()) << ended.status();
  EXPECT_EQ(ended->path().object(), 1u);
  EXPECT_EQ(ended->path().circuit(), first->path().circuit());
  EXPECT_EQ(ended->in_band().install_messages(), 2u);
  EXPECT_EQ(EndRead(3, true).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Status().reads(), 2u);
  ExpectEverybodyCountsTheSame();
}

// The data plane knows the objects that are read before the controller sends them again.
TEST_F(InBandReadsTest, AReleaseWithItsKeyIsDoneOnce) {
  Start(RandomlyWired(16));
  ASSERT_TRUE(PlaceAt(1, {0, 8}).ok());
  const auto read = Ask(3, 1, true);
  ASSERT_TRUE(read.ok()) << read.status();
  v1::ReleaseObjectRequest request;
  request.set_user(3);
  request.set_in_band(true);
  request.set_idempotency_key("ended");
  for (int times = 0; times < 2; ++times) {
    const auto ended = Call(*controller_->data_server, &Stub::Release, request);
    ASSERT_TRUE(ended.ok()) << ended.status();
    EXPECT_EQ(ended->path().circuit(), read->path().circuit());
  }
}

TEST_F(InBandReadsTest, AControllerThatRestartsKnowsWhoReadsWhat) {
  Start(RandomlyWired(16));
  ASSERT_TRUE(Place(16, 2).ok());
  ASSERT_TRUE(AskAll("collision", 16, true).ok());
  const v1::DataServerStatus before = Status();
  controller_.reset();
  controller_ = std::make_unique<TestController>(directory_.path());
  EXPECT_EQ(Status().SerializeAsString(), before.SerializeAsString());
  ExpectEverybodyCountsTheSame();
}

TEST_F(InBandReadsTest, RefusesWhatIsWrongAndLeavesNothingBehind) {
  Start(RandomlyWired(16));
  ASSERT_TRUE(PlaceAt(1, {0, 8}).ok());
  ASSERT_TRUE(PlaceAt(2, {3}).ok());
  ASSERT_TRUE(Place(16, 2, 100).ok());
  ASSERT_TRUE(Ask(3, 1, true).ok());
  const auto expect = [&](const absl::Status& status, absl::StatusCode code, const char* field) {
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(FieldsOf(status), ElementsAre(field));
    EXPECT_EQ(Status().reads(), 1u);
  };
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  constexpr auto kPrecondition = absl::StatusCode::kFailedPrecondition;
  expect(Ask(16, 1, true).status(), kInvalid, "user");
  expect(Ask(4, 77, true).status(), absl::StatusCode::kNotFound, "object");
  expect(Ask(3, 2, true).status(), kPrecondition, "user");
  expect(Ask(4, 1, true).status(), kPrecondition, "object");
  expect(EndRead(99, true).status(), kInvalid, "user");
  expect(EndRead(4, true).status(), absl::StatusCode::kNotFound, "user");
  v1::ObjectBatchRequest batch;
  batch.set_in_band(true);
  const auto ask = [&](std::vector<uint32_t> users, std::vector<uint64_t> objects) {
    batch.mutable_users()->Assign(users.begin(), users.end());
    batch.mutable_objects()->Assign(objects.begin(), objects.end());
    return Call(*controller_->data_server, &Stub::RequestBatch, batch).status();
  };
  expect(ask({5, 6}, {100}), kInvalid, "objects");
  expect(ask({5, 5}, {100, 101}), kInvalid, "users[1]");
  expect(ask({5, 3}, {100, 101}), kPrecondition, "users[1]");
  expect(ask({5, 6}, {100, 2}), kInvalid, "objects[1]");
  batch.set_c_disk(255);
  expect(ask({5}, {100}), kInvalid, "c_disk");
  batch.set_c_disk(0);
  batch.set_c(255);
  expect(ask({5}, {100}), kInvalid, "c");
  batch.set_c(0);
  batch.set_protocol("magic");
  expect(ask({5}, {100}), kInvalid, "protocol");
  batch.set_protocol("minimum");
  batch.set_dry_run(true);
  expect(ask({5}, {100}), kInvalid, "dry_run");
  batch.set_dry_run(false);
  // A circuit holds the disk exclusively. Output nodes count whatever ends there.
  const uint32_t disk = 12;
  ASSERT_TRUE(PlaceAt(3, {4, disk}).ok());
  const auto circuit = SetUpCircuit(*controller_, 9, disk);
  ASSERT_TRUE(circuit.ok()) << circuit.status();
  expect(Ask(5, 3, true).status(), kPrecondition, "object");
  expect(ask({6, 5}, {101, 3}), kPrecondition, "objects[1]");
  ExpectEverybodyCountsTheSame();
  ASSERT_TRUE(ReleaseCircuit(*controller_, circuit->circuit().id()).ok());
  EXPECT_TRUE(ask({6, 5}, {101, 3}).ok());
  ExpectEverybodyCountsTheSame();
}

TEST_F(InBandReadsTest, OtherNetworksHaveNoDataServer) {
  Start(16);
  const absl::Status status = AskAll("collision", 1, true).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("randomly_wired_butterfly"));
}

}  // namespace
}  // namespace bfly::control

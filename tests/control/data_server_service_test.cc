// SPDX-License-Identifier: Apache-2.0
// The data server over real gRPC, down to the circuits that the data plane holds.
#include <gmock/gmock.h>

#include <filesystem>
#include <random>

#include "tests/control/data_server_fixture.h"

namespace bfly::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Stub = v1::DataServer::Stub;
TEST_F(DataServerServiceTest, ABatchIsThatOfTheDryRunAndStandsInTheDataPlane) {
  Start(64);
  ASSERT_EQ(Place(64, 2)->objects(), 64u);
  const auto served = AskAll(64);
  ASSERT_TRUE(served.ok()) << served.status();
  // The plain functions give the same.
  const Network rb =
      Network::Make({.kind = NetworkKind::kRandomlyWiredButterfly, .rows = 64, .seed = 7}).value();
  const std::vector<Copies> placed = PlaceInTwoCopies(64, 64, 5);
  std::vector<DataServerRequest> requests;
  for (Row user = 0; user < 64; ++user) requests.push_back({user, placed[user]});
  const DataServerResult expected = RouteDataServerCollision(rb, requests).value();
  EXPECT_EQ(served->link_congestion(), expected.route.congestion);
  EXPECT_EQ(served->disk_contention(), expected.disk_contention);
  ASSERT_EQ(served->paths_size(), 64);
  std::map<uint32_t, uint32_t> readers;
  for (int i = 0; i < 64; ++i) {
    EXPECT_EQ(served->paths(i).output(), expected.route.paths[i].output);
    EXPECT_EQ(served->paths(i).object(), static_cast<uint64_t>(i));
    ++readers[served->paths(i).output()];
  }
  const v1::DataServerStatus status = Status();
  EXPECT_EQ(status.reads(), 64u);
  EXPECT_EQ(status.disk_contention(), served->disk_contention());
  EXPECT_EQ(status.link_congestion(), served->link_congestion());
  EXPECT_EQ(status.disks_with(0), 64 - readers.size());
  ExpectCountsEqualRecount(*controller_, agent_.get());
}

TEST_F(DataServerServiceTest, OneByOneTheLessBusyCopyServes) {
  Start();
  // Both objects have their first copy on disk 0, so the second user is sent to the other half.
  ASSERT_TRUE(PlaceAt(1, {0, 8}).ok());
  ASSERT_TRUE(PlaceAt(2, {0, 9}).ok());
  const auto first = Ask(3, 1);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->path().output(), 0u);
  EXPECT_EQ(first->path().choice(), "p");
  const auto second = Ask(4, 2);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(second->path().output(), 9u);
  EXPECT_EQ(second->path().choice(), "p_prime");
  EXPECT_EQ(second->disk_contention(), 1u);
  ExpectCountsEqualRecount(*controller_, agent_.get());
  EXPECT_TRUE(EndRead(3).ok());
  EXPECT_EQ(EndRead(3).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Status().reads(), 1u);
  ExpectCountsEqualRecount(*controller_, agent_.get());
}

TEST_F(DataServerServiceTest, SingleCopiesMayMeetAtADisk) {
  Start();
  ASSERT_TRUE(PlaceAt(1, {6}).ok());
  ASSERT_TRUE(PlaceAt(2, {6}).ok());
  ASSERT_TRUE(Ask(3, 1).ok());
  EXPECT_EQ(Ask(4, 2)->disk_contention(), 2u);
  // No circuit can hold the disk exclusively.
  const auto circuit = SetUpCircuit(*controller_, 9, 6);
  EXPECT_EQ(circuit.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(FieldsOf(circuit.status()), ElementsAre("output"));
  ASSERT_TRUE(SetUpCircuit(*controller_, 9, 5).ok());
  ASSERT_TRUE(PlaceAt(3, {5}).ok());
  const auto asked = [this] { return controller_->controller().view(false)->blocking.asked; };
  const uint64_t before = asked();
  const absl::Status held = Ask(10, 3).status();
  EXPECT_EQ(held.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(FieldsOf(held), ElementsAre("object"));
  EXPECT_THAT(std::string(held.message()), HasSubstr("(9 -> 5); release it first"));
  EXPECT_EQ(asked(), before) << "what is busy does not count as asked";
  ExpectCountsEqualRecount(*controller_, agent_.get());
}

// Three reads of disk 6 come over the two links into its node, so one of these has two or more. The
// path to a disk of the other half shares no link with them.
TEST_F(DataServerServiceTest, ABestEffortBatchReportsTheCongestionOfAllThatStands) {
  Start();
  for (uint32_t object = 1; object <= 3; ++object) {
    ASSERT_TRUE(PlaceAt(object, {6}).ok());
    ASSERT_TRUE(Ask(object, object).ok());
  }
  ASSERT_TRUE(PlaceAt(4, {12}).ok());
  v1::ObjectBatchRequest request;
  request.set_protocol("minimum");
  request.set_best_effort(true);
  request.add_users(9);
  request.add_objects(4);
  const auto served = Call(*controller_->data_server, &Stub::RequestBatch, request);
  ASSERT_TRUE(served.ok()) << served.status();
  EXPECT_EQ(served->circuits(), 1u);
  EXPECT_EQ(served->disk_contention(), 3u);
  std::map<std::tuple<int, uint32_t, uint32_t>, uint32_t> load;  // by stage, row and next row
  uint32_t most = 0;
  const v1::DataServerStatus standing = Status();
  for (const v1::ObjectPath& path : standing.paths()) {
    for (int stage = 0; stage + 1 < path.rows_size(); ++stage) {
      most = std::max(most, ++load[{stage, path.rows(stage), path.rows(stage + 1)}]);
    }
  }
  EXPECT_GE(most, 2u);
  EXPECT_EQ(served->link_congestion(), most);
}

TEST_F(DataServerServiceTest, RefusesWhatIsWrongAndLeavesNothingBehind) {
  Start();
  ASSERT_TRUE(PlaceAt(1, {0, 8}).ok());
  ASSERT_TRUE(PlaceAt(2, {3}).ok());
  EXPECT_EQ(PlaceAt(1, {1, 9}).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(PlaceAt(5, {0, 8}, 1).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(FieldsOf(PlaceAt(5, {8, 9})), ElementsAre("objects[0].disks[0]"));
  EXPECT_EQ(Place(0, 2).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(FieldsOf(Place(4, 3).status()), ElementsAre("copies"));
  v1::PlaceRequest given;
  given.add_objects()->set_object(9);
  given.mutable_objects(0)->add_disks(3);
  *given.add_objects() = given.objects(0);
  const auto twice = Call(*controller_->data_server, &Stub::Place, given);
  EXPECT_EQ(twice.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(FieldsOf(twice.status()), ElementsAre("objects[1].object"));
  given.set_first(1);
  given.set_seed(1);
  EXPECT_THAT(FieldsOf(Call(*controller_->data_server, &Stub::Place, given).status()),
              ElementsAre("first", "seed"));
  // Object 2^63 + k would lie on the disks of object k.
  constexpr uint64_t kHalf = uint64_t{1} << 63;
  EXPECT_THAT(FieldsOf(Place(2, 2, kHalf - 1).status()), ElementsAre("first"));
  EXPECT_TRUE(Place(2, 2, kHalf - 2).ok());
  EXPECT_TRUE(Place(2, 1, kHalf).ok());
  EXPECT_EQ(Ask(3, 77).status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(FieldsOf(Ask(16, 1).status()), ElementsAre("user"));
  ASSERT_TRUE(Ask(3, 1).ok());
  EXPECT_THAT(FieldsOf(Ask(3, 2).status()), ElementsAre("user"));
  const auto taken = Ask(4, 1);
  EXPECT_EQ(taken.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(FieldsOf(taken.status()), ElementsAre("object"));
  EXPECT_EQ(EndRead(99).code(), absl::StatusCode::kInvalidArgument);
  v1::ReleaseObjectsRequest release;
  for (const uint32_t user : {3, 3}) release.add_users(user);
  const auto released = Call(*controller_->data_server, &Stub::ReleaseBatch, release);
  EXPECT_EQ(released.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(FieldsOf(released.status()), ElementsAre("users[1]"));

  v1::ObjectBatchRequest batch;
  const auto fields = [&](std::vector<uint32_t> users, std::vector<uint64_t> objects) {
    batch.mutable_users()->Assign(users.begin(), users.end());
    batch.mutable_objects()->Assign(objects.begin(), objects.end());
    return FieldsOf(Call(*controller_->data_server, &Stub::RequestBatch, batch).status());
  };
  ASSERT_TRUE(Place(8, 2, 100).ok());
  EXPECT_THAT(fields({5, 6}, {100}), ElementsAre("objects"));
  EXPECT_THAT(fields({5, 5}, {100, 101}), ElementsAre("users[1]"));
  EXPECT_THAT(fields({5, 6}, {100, 100}), ElementsAre("objects[1]"));
  EXPECT_THAT(fields({5, 3}, {100, 101}), ElementsAre("users[1]"));
  EXPECT_THAT(fields({5, 6}, {100, 99}), ElementsAre("objects[1]"));
  EXPECT_THAT(fields({5, 6}, {100, 2}), ElementsAre("objects[1]"));
  batch.set_protocol("magic");
  EXPECT_THAT(fields({5}, {100}), ElementsAre("protocol"));
  batch.set_protocol("collision");
  batch.set_c_disk(255);
  EXPECT_THAT(fields({5}, {100}), ElementsAre("c_disk"));
  // Thresholds choose nothing for protocol minimum, nor for objects in one copy.
  using Setter = void (v1::ObjectBatchRequest::*)(uint32_t);
  for (const auto& [field, set] :
       {std::pair<const char*, Setter>{"c", &v1::ObjectBatchRequest::set_c},
        {"c_disk", &v1::ObjectBatchRequest::set_c_disk},
        {"max_rounds", &v1::ObjectBatchRequest::set_max_rounds}}) {
    for (const bool best_effort : {false, true}) {
      batch.Clear();
      (batch.*set)(3);
      batch.set_protocol("minimum");
      batch.set_best_effort(best_effort);
      EXPECT_THAT(fields({5}, {100}), ElementsAre(field));
    }
    batch.Clear();
    (batch.*set)(3);
    EXPECT_THAT(fields({5}, {2}), ElementsAre(field)) << "in one copy";
  }
  EXPECT_EQ(Status().reads(), 1u);
  ExpectCountsEqualRecount(*controller_, agent_.get());
}

// Two links lead to each of the disks 0 and 8, and a link carries one circuit: five reads of
// objects there are one too many.
TEST_F(DataServerServiceTest, ADryRunRefusesWhatTheRunWouldRefuse) {
  Start(16, /*capacity=*/1);
  for (uint64_t object = 0; object < 5; ++object) ASSERT_TRUE(PlaceAt(object, {0, 8}).ok());
  const auto refusal = [this](const std::vector<uint64_t>& objects) {
    v1::ObjectBatchRequest batch;
    batch.set_protocol("minimum");
    for (uint32_t user = 0; user < objects.size(); ++user) {
      batch.add_users(user);
      batch.add_objects(objects[user]);
    }
    batch.set_dry_run(true);
    const absl::Status dry = Call(*controller_->data_server, &Stub::RequestBatch, batch).status();
    batch.set_dry_run(false);
    const absl::Status real = Call(*controller_->data_server, &Stub::RequestBatch, batch).status();
    EXPECT_EQ(dry.message(), real.message()) << objects.size() << " users";
    EXPECT_EQ(dry.code(), real.code());
    EXPECT_EQ(FieldsOf(dry), FieldsOf(real));
    v1::ReleaseObjectsRequest all;
    all.set_all(true);
    EXPECT_TRUE(Call(*controller_->data_server, &Stub::ReleaseBatch, all).ok());
    return dry;
  };
  std::vector<uint64_t> objects;
  for (uint64_t object = 0; object < 5; ++object) {
    objects.push_back(object);
    const absl::Status refused = refusal(objects);
    if (object == 0) {
      EXPECT_TRUE(refused.ok()) << refused;
    }
  }
  EXPECT_EQ(refusal(objects).code(), absl::StatusCode::kResourceExhausted);
  // A circuit holds the disk of object 5, and the two links to disk 6 have no room for three.
  ASSERT_TRUE(SetUpCircuit(*controller_, 9, 2).ok());
  ASSERT_TRUE(PlaceAt(5, {2}).ok());
  for (uint64_t object = 6; object < 9; ++object) ASSERT_TRUE(PlaceAt(object, {6}).ok());
  EXPECT_EQ(refusal({6, 5, 7, 8}).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(FieldsOf(refusal({6, 5, 7, 8})), ElementsAre("objects[1]"));
  EXPECT_EQ(refusal({6, 7, 8, 5}).code(), absl::StatusCode::kResourceExhausted);
}

// Data planes keep circuits but do not know objects. The run directory keeps the objects.
TEST_F(DataServerServiceTest, AControllerThatRestartsKnowsTheObjectsAndWhoReadsThem) {
  Start();
  ASSERT_TRUE(Place(8, 2).ok());
  ASSERT_TRUE(PlaceAt(100, {3}).ok());
  ASSERT_TRUE(PlaceAt(101, {3}).ok());
  ASSERT_TRUE(Ask(5, 100).ok());
  ASSERT_TRUE(Ask(6, 101).ok());
  ASSERT_TRUE(Ask(7, 2).ok());
  const v1::DataServerStatus before = Status();
  controller_.reset();
  controller_ = std::make_unique<TestController>(directory_.path());
  EXPECT_EQ(Status().SerializeAsString(), before.SerializeAsString());
  EXPECT_EQ(Status().objects(), 10u);
  ExpectCountsEqualRecount(*controller_, agent_.get());
  // Reads go on, placed objects stay placed, and the reads end as usual.
  EXPECT_EQ(FieldsOf(Ask(9, 100).status()), std::vector<std::string>{"object"});
  EXPECT_EQ(PlaceAt(100, {4}).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_TRUE(EndRead(5).ok());
  EXPECT_TRUE(Ask(9, 100).ok());
  ExpectCountsEqualRecount(*controller_, agent_.get());

  // Placements after the restart also hold, and so does one that replaces all before.
  for (const uint32_t user : {6, 7, 9}) ASSERT_TRUE(EndRead(user).ok());
  v1::PlaceRequest anew;
  anew.set_count(3);
  anew.set_replace(true);
  ASSERT_TRUE(Call(*controller_->data_server, &Stub::Place, anew).ok());
  ASSERT_TRUE(PlaceAt(200, {1}).ok());
  controller_.reset();
  controller_ = std::make_unique<TestController>(directory_.path());
  EXPECT_EQ(Status().objects(), 4u);
  EXPECT_TRUE(Ask(1, 200).ok());
  // Objects do not go over to another fabric.
  ASSERT_TRUE(Load(*controller_, RandomlyWired(16), /*replace=*/true).ok());
  EXPECT_EQ(Status().objects(), 0u);
  controller_.reset();
  controller_ = std::make_unique<TestController>(directory_.path());
  EXPECT_EQ(Status().objects(), 0u);
  ASSERT_TRUE(Call(*controller_->fabric, &v1::Fabric::Stub::Unload, v1::UnloadRequest()).ok());
  EXPECT_FALSE(std::filesystem::exists(directory_.path() + "/intent.db")) << "nothing to keep";
  EXPECT_TRUE(std::filesystem::exists(directory_.path() + "/intent.db.before"));
}

TEST_F(DataServerServiceTest, WhatCannotBeKeptIsNotPlaced) {
  // A directory stands in the file's place, so nothing can be written there.
  std::filesystem::create_directories(directory_.path() + "/intent.db/in");
  Start();
  const absl::Status status = PlaceAt(1, {3});
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr("intent.db"));
  EXPECT_EQ(Status().objects(), 0u);
  EXPECT_TRUE(SetUpCircuit(*controller_, 3, 5).ok());
}

TEST_F(DataServerServiceTest, AStoreThatCannotBeReadIsSaidAndNotTakenForAnEmptyOne) {
  Start();
  const std::string store = directory_.path() + "/intent.db";
  ASSERT_TRUE(Place(8, 2).ok());
  EXPECT_EQ(StatusOf(*controller_).store_problem(), "");
  controller_.reset();
  std::filesystem::copy_file(store, directory_.path() + "/copy");
  std::filesystem::resize_file(store, 5'000);
  std::filesystem::remove(store + "-wal");
  controller_ = std::make_unique<TestController>(directory_.path());
  EXPECT_TRUE(controller_->Logged("intent.db"));
  EXPECT_THAT(StatusOf(*controller_).store_problem(),
              testing::AllOf(HasSubstr("intent.db"), HasSubstr("is damaged"),
                             HasSubstr("put back a copy")));
  EXPECT_EQ(PlaceAt(1, {3}).code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(Status().objects(), 0u);
  EXPECT_EQ(std::filesystem::file_size(store), 5'000u) << "it is left alone";
  // A copy is put back.
  controller_.reset();
  std::filesystem::rename(directory_.path() + "/copy", store);
  controller_ = std::make_unique<TestController>(directory_.path());
  EXPECT_EQ(StatusOf(*controller_).store_problem(), "");
  EXPECT_EQ(Status().objects(), 8u);
  // Or it is moved away, and objects are placed again.
  controller_.reset();
  std::filesystem::resize_file(store, 5'000);
  controller_ = std::make_unique<TestController>(directory_.path());
  EXPECT_THAT(StatusOf(*controller_).store_problem(), HasSubstr("is damaged"));
  std::filesystem::remove(store);
  ASSERT_TRUE(PlaceAt(1, {3}).ok());
  EXPECT_EQ(StatusOf(*controller_).store_problem(), "");
  EXPECT_EQ(Status().objects(), 1u);
}

TEST_F(DataServerServiceTest, OtherNetworksHaveNoDataServer) {
  Start();
  ASSERT_TRUE(Load(*controller_, SmallTopology(), /*replace=*/true).ok());
  EXPECT_EQ(Place(4, 2).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(AskAll(1).status().message()), HasSubstr("randomly_wired_butterfly"));
  v1::ReleaseObjectsRequest release;
  release.add_users(3);
  const auto released = Call(*controller_->data_server, &Stub::ReleaseBatch, release);
  EXPECT_EQ(released.status().code(), absl::StatusCode::kFailedPrecondition) << released.status();
  EXPECT_THAT(std::string(released.status().message()), HasSubstr("randomly_wired_butterfly"));
}

// After random sequences of all operations, including ones that the data plane cannot carry out and
// ones for which links have no room, the counts equal a recount, and the data plane holds the
// listed circuits.
TEST_F(DataServerServiceTest, AfterRandomSequencesOfEverythingTheCountsEqualARecount) {
  for (const uint32_t capacity : {0u, 2u}) {
    controller_.reset();
    agent_.reset();
    Start(16, capacity);
    ASSERT_TRUE(Place(24, 2).ok());
    ASSERT_TRUE(Place(24, 1, 24).ok());
    uint64_t reads = 0;
    for (uint32_t seed = 1; seed <= 4; ++seed) {
      std::mt19937 random(seed);
      for (int step = 0; step < 60; ++step) {
        board_.RefuseInputs(random() % 5 == 0 ? std::set<Row>{Row(random() % 16)}
                                              : std::set<Row>{});
        switch (random() % 6) {
          case 0:
          case 1:
            Ask(random() % 17, random() % 50).status().IgnoreError();
            break;
          case 2:
            EndRead(random() % 17).IgnoreError();
            break;
          case 3:
            AskAll(random() % 6, random() % 40).status().IgnoreError();
            break;
          case 4:
            SetUpCircuit(*controller_, random() % 16, random() % 16).status().IgnoreError();
            break;
          case 5:
            for (const v1::Circuit& circuit : List(*controller_)) {
              if (random() % 2 == 0)
                ReleaseCircuit(*controller_, circuit.id()).status().IgnoreError();
            }
            break;
        }
        ExpectCountsEqualRecount(*controller_, agent_.get());
        const v1::DataServerStatus status = Status();
        EXPECT_EQ(status.reads(), static_cast<uint64_t>(status.paths_size()));
        reads += status.reads();
        std::map<uint32_t, uint32_t> readers;
        uint32_t most = 0;
        std::set<uint64_t> objects;
        for (const v1::ObjectPath& path : status.paths()) {
          most = std::max(most, ++readers[path.output()]);
          EXPECT_TRUE(objects.insert(path.object()).second);
        }
        EXPECT_EQ(status.disk_contention(), most);
        EXPECT_TRUE(capacity == 0 || status.link_congestion() <= capacity);
        if (HasFailure()) {
          FAIL() << "seed " << seed << " step " << step;
        }
      }
    }
    EXPECT_GT(reads, 240u) << "more than one a step on average";
  }
}

}  // namespace
}  // namespace bfly::control

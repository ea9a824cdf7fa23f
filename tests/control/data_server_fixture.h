// SPDX-License-Identifier: Apache-2.0
// A controller with one data plane and a small randomly-wired butterfly, and short calls for
// objects.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/control/service_fixture.h"

namespace bfly::control {

class DataServerServiceTest : public testing::Test {
 protected:
  void Start(uint32_t rows = 16, uint32_t capacity = 0) {
    agent_ = std::make_unique<TestAgent>(directory_.path(), "dp0", FakeBackend(board_, "dp0"));
    controller_ = std::make_unique<TestController>(directory_.path());
    v1::Topology topology = RandomlyWired(rows);
    topology.mutable_circuits()->set_capacity(capacity);
    ASSERT_TRUE(Load(*controller_, topology).ok());
  }
  absl::StatusOr<v1::PlaceResponse> Place(uint32_t count, uint32_t copies, uint64_t first = 0) {
    v1::PlaceRequest request;
    request.set_count(count);
    request.set_copies(copies);
    request.set_first(first);
    request.set_seed(5);
    return Call(*controller_->data_server, &v1::DataServer::Stub::Place, request);
  }
  absl::Status PlaceAt(uint64_t object, std::vector<uint32_t> disks, uint32_t room = 0) {
    v1::PlaceRequest request;
    request.add_objects()->set_object(object);
    request.mutable_objects(0)->mutable_disks()->Add(disks.begin(), disks.end());
    request.set_room(room);
    return Call(*controller_->data_server, &v1::DataServer::Stub::Place, request).status();
  }
  absl::StatusOr<v1::ObjectResponse> Ask(uint32_t user, uint64_t object) {
    v1::ObjectRequest request;
    request.set_user(user);
    request.set_object(object);
    return Call(*controller_->data_server, &v1::DataServer::Stub::Request, request);
  }
  absl::Status EndRead(uint32_t user) {
    v1::ReleaseObjectRequest request;
    request.set_user(user);
    return Call(*controller_->data_server, &v1::DataServer::Stub::Release, request).status();
  }
  absl::StatusOr<v1::ObjectBatchResponse> AskAll(uint32_t users, uint64_t first = 0) {
    v1::ObjectBatchRequest request;
    for (uint32_t user = 0; user < users; ++user) {
      request.add_users(user);
      request.add_objects(first + user);
    }
    return Call(*controller_->data_server, &v1::DataServer::Stub::RequestBatch, request);
  }
  v1::DataServerStatus Status() {
    v1::DataServerStatusRequest request;
    request.set_reads(true);
    return *Call(*controller_->data_server, &v1::DataServer::Stub::Status, request);
  }

  FakeBoard board_;
  TemporaryFolder directory_;
  std::unique_ptr<TestAgent> agent_;
  std::unique_ptr<TestController> controller_;
};

}  // namespace bfly::control

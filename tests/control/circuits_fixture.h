// SPDX-License-Identifier: Apache-2.0
// A controller with one data plane and a small loaded fabric, and short calls for circuits.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "tests/control/service_fixture.h"

namespace bfly::control {

class CircuitsServiceTest : public testing::Test {
 protected:
  void Start(uint32_t rows = 16, int watch_interval_ms = 20) {
    agent_ = std::make_unique<TestAgent>(directory_.path(), "dp0", FakeBackend(board_, "dp0"));
    controller_ = std::make_unique<TestController>(directory_.path(), watch_interval_ms);
    ASSERT_TRUE(Load(*controller_, SmallTopology(false, rows)).ok());
  }
  absl::StatusOr<v1::SetUpResponse> Ask(const v1::SetUpRequest& request) {
    return Call(*controller_->circuits, &v1::Circuits::Stub::SetUp, request);
  }
  absl::StatusOr<v1::SetUpBatchResponse> Ask(const v1::SetUpBatchRequest& request) {
    return Call(*controller_->circuits, &v1::Circuits::Stub::SetUpBatch, request);
  }
  absl::StatusOr<v1::RoutePermutationResponse> Ask(const v1::RoutePermutationRequest& request) {
    return Call(*controller_->circuits, &v1::Circuits::Stub::RoutePermutation, request);
  }
  absl::StatusOr<v1::ListResponse> Ask(const v1::ListRequest& request) {
    return Call(*controller_->circuits, &v1::Circuits::Stub::List, request);
  }

  FakeBoard board_;
  TemporaryFolder directory_;
  std::unique_ptr<TestAgent> agent_;
  std::unique_ptr<TestController> controller_;
};

}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
// A whole control plane over a fabric of real workers, and all who count its circuits.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "dataplane/runtime/cpus.h"
#include "tests/control/service_fixture.h"

namespace bfly::control {

class InBandServiceTest : public testing::Test {
 protected:
  void Start(uint32_t rows) { Start(SmallTopology(false, rows)); }
  void Start(v1::Topology topology) {
    controller_.reset();
    agent_.reset();
    agent_ = std::make_unique<TestAgent>(
        directory_.path(), "dp0",
        FabricBackend{.verify = dataplane::Fabric::Verify, .load = dataplane::Fabric::Load});
    controller_ = std::make_unique<TestController>(directory_.path());
    topology.mutable_placement(0)->set_lcore(dataplane::UsableCpus().front());
    ASSERT_TRUE(Load(*controller_, topology).ok());
  }
  absl::StatusOr<v1::RoutePermutationResponse> Route(const v1::RoutePermutationRequest& request) {
    return Call(*controller_->circuits, &v1::Circuits::Stub::RoutePermutation, request);
  }
  absl::StatusOr<v1::SetUpResponse> SetUpInBand(Row input, Row output) {
    v1::SetUpRequest request;
    request.set_input(input);
    request.set_output(output);
    request.set_in_band(true);
    return Call(*controller_->circuits, &v1::Circuits::Stub::SetUp, request);
  }
  absl::StatusOr<v1::ReleaseResponse> Release(uint64_t id) {
    v1::ReleaseRequest request;
    request.set_id(id);
    request.set_in_band(true);
    return Call(*controller_->circuits, &v1::Circuits::Stub::Release, request);
  }
  // List, telemetry, the agent, and the workers' own counts.
  void ExpectEverybodyCountsTheSame() {
    ExpectCountsEqualRecount(*controller_, agent_.get());
    // A request for nothing, as the owner of the data plane.
    InBandTask nothing;
    nothing.link_circuits = true;
    const auto answer = agent_->host().ExchangeInBand(nothing);
    ASSERT_TRUE(answer.ok()) << answer.status();
    const auto counters =
        Call(*controller_->telemetry, &v1::Telemetry::Stub::GetCounters, v1::GetCountersRequest());
    ASSERT_TRUE(counters.ok()) << counters.status();
    ASSERT_EQ(answer->link_circuits.size(), static_cast<size_t>(counters->links_size()));
    for (int i = 0; i < counters->links_size(); ++i) {
      ASSERT_EQ(answer->link_circuits[i], counters->links(i).circuits()) << "link " << i;
    }
  }

  TemporaryFolder directory_;
  std::unique_ptr<TestAgent> agent_;
  std::unique_ptr<TestController> controller_;
};

}  // namespace bfly::control

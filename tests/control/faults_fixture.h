// SPDX-License-Identifier: Apache-2.0
// A fabric whose links and nodes are taken down, and short ways to ask for what became of its
// circuits.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/control/circuits_fixture.h"

namespace bfly::control {

// Link `stage` of a circuit's path. Port b is the link whose head has bit b at the position the
// stage touches, the leftmost one first in each of the two copies.
inline v1::LinkRef LinkOf(const v1::Circuit& circuit, int stage, int dimension = 4) {
  v1::LinkRef link;
  link.set_stage(static_cast<uint32_t>(stage));
  link.set_row(circuit.rows(stage));
  link.set_port(circuit.rows(stage + 1) >> (dimension - 1 - stage % dimension) & 1);
  return link;
}

inline std::string NameOf(const v1::LinkRef& link) {
  return "s" + std::to_string(link.stage()) + " r" + std::to_string(link.row()) + " p" +
         std::to_string(link.port());
}

inline absl::Status SetNode(TestController& controller, uint32_t level, Row row, bool up) {
  v1::SetNodeStateRequest request;
  request.set_level(level);
  request.set_row(row);
  request.set_up(up);
  return Call(*controller.fabric, &v1::Fabric::Stub::SetNodeState, request).status();
}

class FaultsTest : public CircuitsServiceTest {
 protected:
  void StartWith(v1::CircuitPolicy::OnFailure on_failure, uint32_t rows = 16) {
    agent_ = std::make_unique<TestAgent>(directory_.path(), "dp0", FakeBackend(board_, "dp0"));
    controller_ = std::make_unique<TestController>(directory_.path(), 20);
    v1::Topology topology = SmallTopology(false, rows);
    topology.mutable_circuits()->set_on_failure(on_failure);
    ASSERT_TRUE(Load(*controller_, topology).ok());
  }
  absl::Status SetLink(const v1::LinkRef& link, bool up) {
    v1::SetLinkStateRequest request;
    request.set_stage(link.stage());
    request.set_row(link.row());
    request.set_port(link.port());
    request.set_up(up);
    return Call(*controller_->fabric, &v1::Fabric::Stub::SetLinkState, request).status();
  }
  v1::Circuit SetUpOne(Row input, Row output) {
    const auto response = SetUpCircuit(*controller_, input, output);
    EXPECT_TRUE(response.ok()) << response.status();
    return response.ok() ? response->circuit() : v1::Circuit();
  }
  absl::StatusOr<v1::Circuit> Move(const v1::MoveRequest& request) {
    const auto response = Call(*controller_->circuits, &v1::Circuits::Stub::Move, request);
    if (!response.ok()) return response.status();
    return response->circuit();
  }
  std::vector<v1::Circuit> Broken(bool broken = true) {
    v1::ListRequest request;
    request.set_broken(broken);
    const auto response = Ask(request);
    EXPECT_TRUE(response.ok()) << response.status();
    return {response->circuits().begin(), response->circuits().end()};
  }
  uint64_t BrokenInTelemetry() {
    return Call(*controller_->telemetry, &v1::Telemetry::Stub::GetCounters,
                v1::GetCountersRequest())
        ->circuits()
        .broken();
  }
  // The changes of the data plane's route tables since the last call.
  std::vector<std::string> TakeRouteLog() {
    std::vector<std::string> routes;
    for (const std::string& line : board_.TakeLog()) {
      if (line.find("install") == 0 || line.find("remove") == 0) routes.push_back(line);
    }
    return routes;
  }
};

}  // namespace bfly::control

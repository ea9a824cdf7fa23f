// SPDX-License-Identifier: Apache-2.0
// A fabric with something of everything that is kept, and controllers that end and begin over it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/control/service_fixture.h"

namespace bfly::control {

class ResumeTest : public testing::Test {
 protected:
  ResumeTest() { Start(); }
  void Start() { controller_ = std::make_unique<TestController>(directory_.path()); }
  std::unique_ptr<TestAgent> Agent(const std::string& name) {
    return std::make_unique<TestAgent>(directory_.path(), name, FakeBackend(board_, name));
  }
  absl::StatusOr<v1::LoadResponse> Resume(const v1::Topology& topology, bool replace = false) {
    v1::LoadRequest request;
    *request.mutable_topology() = topology;
    request.set_resume(true);
    request.set_replace(replace);
    return Call(*controller_->fabric, &v1::Fabric::Stub::Load, request);
  }
  // A controller that is to resume by itself.
  std::unique_ptr<Controller> Resuming() {
    return std::make_unique<Controller>(
        ControllerOptions{.run_directory = directory_.path(),
                          .resume = true,
                          .agents = {},
                          .watch_interval = std::chrono::milliseconds(20)});
  }
  v1::UnloadResponse Unload() {
    const auto last = Call(*controller_->fabric, &v1::Fabric::Stub::Unload, v1::UnloadRequest());
    EXPECT_TRUE(last.ok()) << last.status();
    return last.value_or(v1::UnloadResponse());
  }
  void SetUpSomething() {
    for (const Row row : {1, 2, 3}) ASSERT_TRUE(SetUpCircuit(*controller_, row, row).ok());
    v1::SetLinkStateRequest link;
    link.set_stage(2);
    link.set_row(5);
    ASSERT_TRUE(Call(*controller_->fabric, &v1::Fabric::Stub::SetLinkState, link).ok());
    v1::SetLinksRequest links;
    links.add_changes()->set_stages("1");
    links.mutable_changes(0)->set_delay("50us");
    ASSERT_TRUE(Call(*controller_->fabric, &v1::Fabric::Stub::SetLinks, links).ok());
    v1::StartTrafficRequest traffic;
    traffic.add_sources()->set_name("steady");
    ASSERT_TRUE(Call(*controller_->traffic, &v1::Traffic::Stub::Start, traffic).ok());
  }
  void ExpectSomething(const v1::KeptIntent& kept) {
    EXPECT_EQ(kept.name(), "test");
    EXPECT_EQ(kept.circuits(), 3u);
    EXPECT_EQ(kept.link_changes(), 1u);
    EXPECT_EQ(kept.down_links(), 1u);
    EXPECT_EQ(kept.sources(), 1u);
    EXPECT_EQ(kept.path(), directory_.path() + "/intent.db");
  }
  std::vector<uint64_t> Ids() {
    std::vector<uint64_t> ids;
    for (const v1::Circuit& circuit : List(*controller_)) ids.push_back(circuit.id());
    return ids;
  }

  FakeBoard board_;
  TemporaryFolder directory_;
  std::unique_ptr<TestAgent> agent_ = Agent("dp0");
  std::unique_ptr<TestController> controller_;
};

}  // namespace bfly::control

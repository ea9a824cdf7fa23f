// SPDX-License-Identifier: Apache-2.0
// The programs that an agent has its workers run, each named by a field of the request.
#include <gmock/gmock.h>

#include "control/controller/agent_client.h"
#include "dataplane/programs/registry.h"
#include "dataplane/runtime/cpus.h"
#include "tests/control/service_fixture.h"

namespace bfly::control {
namespace {

using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class AgentProgramsTest : public testing::Test {
 protected:
  void SetUp() override {
    v1::AgentFabricRequest load;
    *load.mutable_topology() = SmallTopology();
    load.mutable_topology()->mutable_placement(0)->set_lcore(dataplane::UsableCpus().front());
    load.set_data_plane("dp0");
    const auto loaded = client_.Load(load);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
  }
  static v1::AgentInBandRequest OneCircuit(Row input, Row output) {
    v1::AgentInBandRequest request;
    request.add_inputs(input);
    request.add_outputs(output);
    return request;
  }
  std::vector<HeldCircuit> Circuits() { return agent_.host().held(/*full=*/true).circuits; }

  TemporaryFolder directory_;
  TestAgent agent_{
      directory_.path(), "dp0",
      FabricBackend{.verify = dataplane::Fabric::Verify, .load = dataplane::Fabric::Load}};
  AgentClient client_{SocketAddress(directory_.path(), "dp0"), AgentCaller()};
};

TEST_F(AgentProgramsTest, ARequestHasAFieldForEveryProgramOfTheRegistry) {
  const auto* programs = v1::AgentInBandRequest::descriptor()->FindOneofByName("program");
  ASSERT_NE(programs, nullptr);
  std::vector<std::string> fields;
  for (int i = 0; i < programs->field_count(); ++i) fields.push_back(programs->field(i)->name());
  EXPECT_THAT(fields, ElementsAreArray(dataplane::ProgramNames()));
}

TEST_F(AgentProgramsTest, ARequestThatNamesNoProgramChangesNothing) {
  v1::AgentInBandRequest request = OneCircuit(3, 5);
  request.mutable_minimum();
  ASSERT_TRUE(client_.ExchangeInBand(request).ok());
  v1::AgentInBandRequest nameless = OneCircuit(4, 6);
  nameless.add_release(3);
  const absl::Status status = client_.ExchangeInBand(nameless).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("program"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("collision or minimum"));
  ASSERT_THAT(Circuits(), SizeIs(1));
  EXPECT_EQ(Circuits()[0].input, 3u);
}

TEST_F(AgentProgramsTest, AReleaseNeedsNoProgram) {
  v1::AgentInBandRequest request = OneCircuit(3, 5);
  request.mutable_minimum();
  ASSERT_TRUE(client_.ExchangeInBand(request).ok());
  v1::AgentInBandRequest release;
  release.add_release(3);
  const auto released = client_.ExchangeInBand(release);
  ASSERT_TRUE(released.ok()) << released.status();
  EXPECT_THAT(Circuits(), IsEmpty());
}

TEST_F(AgentProgramsTest, TheParametersOfTheProgramThatIsNamedCount) {
  v1::AgentInBandRequest request = OneCircuit(3, 5);
  request.mutable_collision()->set_c(255);
  const absl::Status status = client_.ExchangeInBand(request).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("c: 255 is outside 1..254"));
  request.mutable_collision()->set_c(1);
  const auto set_up = client_.ExchangeInBand(request);
  ASSERT_TRUE(set_up.ok()) << set_up.status();
  // Rounds of collision leave a figure each; minimum leaves none.
  EXPECT_THAT(set_up->left_per_round(), SizeIs(1));
  EXPECT_THAT(Circuits(), SizeIs(1));
}

}  // namespace
}  // namespace bfly::control

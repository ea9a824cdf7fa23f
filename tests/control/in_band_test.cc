// SPDX-License-Identifier: Apache-2.0
// Circuits set up in band, end to end: a client asks, the workers choose, the controller learns the
// result, and all of them count the same circuits on every link.
#include <gmock/gmock.h>

#include <random>

#include "tests/control/in_band_fixture.h"

namespace bfly::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(InBandServiceTest, APermutationGetsThePathsTheControllerWouldChoose) {
  Start(64);
  for (const char* protocol : {"collision", "minimum"}) {
    for (const char* permutation : {"random", "bitrev"}) {
      SCOPED_TRACE(testing::Message() << protocol << " " << permutation);
      v1::RoutePermutationRequest request;
      request.set_protocol(protocol);
      request.set_permutation(permutation);
      request.set_seed(5);
      request.set_replace(true);
      request.set_dry_run(true);
      const auto dry = Route(request);
      ASSERT_TRUE(dry.ok()) << dry.status();
      request.set_dry_run(false);
      request.set_in_band(true);
      const auto routed = Route(request);
      ASSERT_TRUE(routed.ok()) << routed.status();
      ASSERT_EQ(routed->paths_size(), 64);
      for (int i = 0; i < 64; ++i) {
        EXPECT_EQ(routed->paths(i).DebugString(), dry->paths(i).DebugString());
        EXPECT_EQ(routed->buddies(i).DebugString(), dry->buddies(i).DebugString());
      }
      EXPECT_EQ(routed->rounds(), dry->rounds());
      EXPECT_EQ(routed->messages(), dry->messages());
      EXPECT_EQ(routed->congestion(), dry->congestion());
      EXPECT_EQ(routed->steps(), dry->steps());
      EXPECT_EQ(routed->c(), dry->c());
      EXPECT_EQ(routed->in_band().install_messages(), 128u);
      EXPECT_GT(routed->in_band().forward_seconds(), 0);
      EXPECT_GT(routed->in_band().install_seconds(), 0);
      EXPECT_EQ(List(*controller_).size(), 64u);
      ExpectEverybodyCountsTheSame();
    }
  }
}

TEST_F(InBandServiceTest, SingleCircuitsComeAndGoBesideThoseOfTheController) {
  Start(16);
  for (uint32_t step = 0; step < 60; ++step) {
    const Row input = (step * 7) % 16;
    const Row output = (input * 5 + 3) % 16;
    uint64_t id = 0;
    for (const v1::Circuit& circuit : List(*controller_)) {
      if (circuit.input() == input) id = circuit.id();
    }
    const bool in_band = step % 3 != 0;
    if (id != 0) {
      const auto released = in_band ? Release(id) : ReleaseCircuit(*controller_, id);
      ASSERT_TRUE(released.ok()) << released.status();
      EXPECT_EQ(released->circuit().id(), id);
      EXPECT_EQ(released->circuit().input(), input);
    } else {
      const auto set_up =
          in_band ? SetUpInBand(input, output) : SetUpCircuit(*controller_, input, output);
      ASSERT_TRUE(set_up.ok()) << set_up.status();
      EXPECT_EQ(set_up->circuit().input(), input);
      EXPECT_EQ(set_up->circuit().output(), output);
      if (in_band) {
        // Both messages forward and back, no link shared; one install and its acknowledgement.
        EXPECT_EQ(set_up->in_band().forward_steps(), 8u);
        EXPECT_EQ(set_up->in_band().backward_steps(), 8u);
        EXPECT_EQ(set_up->in_band().install_steps(), 16u);
        EXPECT_EQ(set_up->in_band().messages(), 4u);
        EXPECT_GT(set_up->in_band().set_up_p50_seconds(), 0);
      }
    }
    if (step % 10 == 9) ExpectEverybodyCountsTheSame();
  }
}

// Workers and controller set circuits up in turn, and many requests are refused.
TEST_F(InBandServiceTest, AfterRandomSequencesOfBothKindsEverybodyCountsTheSame) {
  Start(16);
  std::mt19937 random(11);
  std::vector<uint64_t> ids = {0};
  int done = 0;
  int refused = 0;
  const auto note = [&](const auto& answer) {
    ++(answer.ok() ? done : refused);
    return answer.ok();
  };
  for (int step = 0; step < 150; ++step) {
    const Row input = random() % 17;
    const Row output = random() % 17;
    const uint64_t id = ids[random() % ids.size()];
    switch (random() % 6) {
      case 0:
        if (const auto up = SetUpInBand(input, output); note(up)) {
          ids.push_back(up->circuit().id());
        }
        break;
      case 1:
        if (const auto up = SetUpCircuit(*controller_, input, output); note(up)) {
          ids.push_back(up->circuit().id());
        }
        break;
      case 2:
        note(Release(id));
        break;
      case 3:
        note(ReleaseCircuit(*controller_, id));
        break;
      default: {
        v1::RoutePermutationRequest request;
        request.set_protocol(random() % 2 ? "collision" : "minimum");
        request.set_in_band(random() % 3 != 0);
        request.set_replace(random() % 2);
        for (int i = 0; i < 4; ++i) {
          request.add_inputs(random() % 16);
          request.add_outputs(random() % 16);
        }
        note(Route(request));
        break;
      }
    }
    if (step % 5 == 4) ExpectEverybodyCountsTheSame();
  }
  EXPECT_GT(done, 20);
  EXPECT_GT(refused, 20);
}

TEST_F(InBandServiceTest, RefusesWhatCannotBeAndChangesNothing) {
  Start(16);
  const auto standing = SetUpInBand(3, 12);
  ASSERT_TRUE(standing.ok()) << standing.status();
  const auto expect = [&](const absl::Status& status, absl::StatusCode code, const char* field) {
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(FieldsOf(status), ElementsAre(field));
    EXPECT_EQ(List(*controller_).size(), 1u);
  };
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  constexpr auto kPrecondition = absl::StatusCode::kFailedPrecondition;
  expect(SetUpInBand(16, 0).status(), kInvalid, "input");
  expect(SetUpInBand(0, 16).status(), kInvalid, "output");
  expect(SetUpInBand(3, 1).status(), kPrecondition, "input");
  expect(SetUpInBand(1, 12).status(), kPrecondition, "output");
  expect(Release(standing->circuit().id() + 1).status(), absl::StatusCode::kNotFound, "id");
  v1::SetUpRequest one;
  one.set_in_band(true);
  one.add_rows(0);
  expect(Call(*controller_->circuits, &v1::Circuits::Stub::SetUp, one).status(), kInvalid, "rows");

  v1::RoutePermutationRequest request;
  request.set_in_band(true);
  request.set_protocol("collision");
  const auto pairs = [&](std::vector<uint32_t> inputs, std::vector<uint32_t> outputs) {
    request.mutable_inputs()->Assign(inputs.begin(), inputs.end());
    request.mutable_outputs()->Assign(outputs.begin(), outputs.end());
  };
  // While anything else is wrong the circuit that was to be replaced stands.
  request.set_replace(true);
  pairs({3, 3}, {12, 1});
  expect(Route(request).status(), kInvalid, "inputs[1]");
  pairs({3, 1}, {1, 1});
  expect(Route(request).status(), kInvalid, "outputs[1]");
  pairs({3}, {16});
  expect(Route(request).status(), kInvalid, "outputs[0]");
  pairs({3}, {1});
  request.set_c(255);
  expect(Route(request).status(), kInvalid, "c");
  request.set_c(0);
  request.set_protocol("valiant");
  expect(Route(request).status(), kPrecondition, "protocol");
  request.set_protocol("collision");
  request.set_replace(false);
  expect(Route(request).status(), kPrecondition, "inputs[0]");
  request.set_dry_run(true);
  expect(Route(request).status(), kInvalid, "dry_run");
  ExpectEverybodyCountsTheSame();
}

TEST_F(InBandServiceTest, NeedsATwoFoldButterfly) {
  FakeBoard board;
  TestAgent only(directory_.path(), "dp0", FakeBackend(board, "dp0"));
  controller_ = std::make_unique<TestController>(directory_.path());
  v1::Topology butterfly;
  butterfly.set_name("b");
  butterfly.mutable_network()->set_kind(v1::BUTTERFLY);
  butterfly.mutable_network()->set_rows(4);
  butterfly.add_data_planes()->set_name("dp0");
  butterfly.add_placement()->set_stages("0-1");
  butterfly.mutable_placement(0)->set_data_plane("dp0");
  ASSERT_TRUE(Load(*controller_, butterfly).ok());
  const absl::Status status = SetUpInBand(1, 2).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("two_fold_butterfly"));
  EXPECT_TRUE(List(*controller_).empty());
}

}  // namespace
}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
// Circuits set up in band on a fabric that a trunk splits over two data planes, end to end.
#include <gmock/gmock.h>

#include "dataplane/runtime/cpus.h"
#include "tests/control/service_fixture.h"
#include "tests/packet/trunk_cable.h"

namespace bfly::control {
namespace {

using dataplane::TrunkCable;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using Fate = TrunkCable::Fate;

class InBandSplitServiceTest : public testing::Test {
 protected:
  InBandSplitServiceTest() {
    Start(0);
    Start(1);
    controller_ = std::make_unique<TestController>(directory_.path());
    v1::Topology topology = SmallTopology(/*split=*/true, 64);
    for (int p = 0; p < 2; ++p) {
      topology.mutable_placement(p)->set_lcore(dataplane::UsableCpus().at(static_cast<size_t>(p)));
    }
    topology.mutable_trunks(0)->set_from_device(cable_.device(0));
    topology.mutable_trunks(0)->set_to_device(cable_.device(1));
    const absl::Status loaded = Load(*controller_, topology);
    EXPECT_TRUE(loaded.ok()) << loaded;
  }
  ~InBandSplitServiceTest() override {
    EXPECT_TRUE(Call(*controller_->fabric, &v1::Fabric::Stub::Unload, v1::UnloadRequest()).ok());
    controller_.reset();
    cable_.Empty();
  }
  void Start(size_t agent) {
    agents_[agent] = std::make_unique<TestAgent>(
        directory_.path(), absl::StrCat("dp", agent),
        FabricBackend{.verify = dataplane::Fabric::Verify, .load = dataplane::Fabric::Load});
  }
  absl::StatusOr<v1::RoutePermutationResponse> Route(const std::string& protocol, bool in_band) {
    v1::RoutePermutationRequest request;
    request.set_protocol(protocol);
    request.set_permutation("random");
    request.set_seed(5);
    request.set_replace(true);
    request.set_in_band(in_band);
    request.set_dry_run(!in_band);
    return Call(*controller_->circuits, &v1::Circuits::Stub::RoutePermutation, request);
  }
  absl::Status SetUpInBand(Row input, Row output) {
    v1::SetUpRequest request;
    request.set_input(input);
    request.set_output(output);
    request.set_in_band(true);
    return Call(*controller_->circuits, &v1::Circuits::Stub::SetUp, request).status();
  }
  void ExpectThePathsOfTheController(const std::string& protocol) {
    const auto dry = Route(protocol, /*in_band=*/false);
    ASSERT_TRUE(dry.ok()) << dry.status();
    const auto routed = Route(protocol, /*in_band=*/true);
    ASSERT_TRUE(routed.ok()) << routed.status();
    ASSERT_EQ(routed->paths_size(), 64);
    for (int i = 0; i < 64; ++i) {
      EXPECT_EQ(routed->paths(i).DebugString(), dry->paths(i).DebugString());
    }
    EXPECT_EQ(routed->rounds(), dry->rounds());
    EXPECT_EQ(routed->messages(), dry->messages());
    EXPECT_EQ(routed->congestion(), dry->congestion());
    EXPECT_EQ(routed->steps(), dry->steps());
    EXPECT_THAT(List(*controller_), SizeIs(64));
    ExpectCountsEqualRecount(*controller_, agents_[0].get());
  }

  TemporaryFolder directory_;
  TrunkCable cable_;
  std::unique_ptr<TestAgent> agents_[2];
  std::unique_ptr<TestController> controller_;
};

TEST_F(InBandSplitServiceTest, APermutationGetsThePathsTheControllerWouldChoose) {
  ExpectThePathsOfTheController("collision");
  ExpectThePathsOfTheController("minimum");
}

TEST_F(InBandSplitServiceTest, APeerThatDiesBetweenTwoPassesGivesUnavailableAndNothingIsLeft) {
  ASSERT_TRUE(SetUpInBand(3, 12).ok());
  const std::vector<v1::Circuit> before = List(*controller_);
  const auto expect_unavailable = [&](const absl::Status& status) {
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    const std::vector<v1::Circuit> now = List(*controller_);
    ASSERT_THAT(now, SizeIs(1));
    EXPECT_EQ(now[0].SerializeAsString(), before[0].SerializeAsString());
    ExpectCountsEqualRecount(*controller_, agents_[0].get());
  };
  // It takes part in the opening pass, and nobody hears of it again.
  cable_.Treat([](bool back, int n) { return !back && n == 1 ? Fate::kCut : Fate::kPass; });
  const absl::Status missed = Route("collision", /*in_band=*/true).status();
  EXPECT_THAT(FieldsOf(missed), ElementsAre("in_band"));
  EXPECT_THAT(std::string(missed.message()), HasSubstr("trunk t0, after stage 5"));
  expect_unavailable(missed);
  agents_[1].reset();
  EXPECT_TRUE(Eventually(
      [&] { return absl::IsUnavailable(Route("collision", /*in_band=*/true).status()); }));
  expect_unavailable(Route("collision", /*in_band=*/true).status());
  // It comes back, knowing of no circuit.
  cable_.Treat({});
  Start(1);
  EXPECT_TRUE(Eventually([&] { return SetUpInBand(4, 13).ok(); }));
  EXPECT_THAT(List(*controller_), SizeIs(2));
  ExpectThePathsOfTheController("collision");
  ExpectThePathsOfTheController("minimum");
}

// The data plane of the inputs is not thought to be gone when messages are lost on its trunk.
TEST_F(InBandSplitServiceTest, AfterALossTheNextCallIsServedAtOnce) {
  cable_.Treat([](bool back, int n) { return back && n == 1 ? Fate::kDrop : Fate::kPass; });
  const absl::Status lost = Route("collision", /*in_band=*/true).status();
  EXPECT_EQ(lost.code(), absl::StatusCode::kUnavailable) << lost;
  EXPECT_THAT(std::string(lost.message()), HasSubstr("messages were lost on trunk t0"));
  cable_.Treat({});
  ExpectThePathsOfTheController("collision");
}

}  // namespace
}  // namespace bfly::control

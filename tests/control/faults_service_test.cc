// SPDX-License-Identifier: Apache-2.0
// Links that are down: circuits are set up around them, break, and become whole again.
#include <gmock/gmock.h>

#include "tests/control/faults_fixture.h"

namespace bfly::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST_F(FaultsTest, ASetUpTakesTheOtherPathAroundALinkThatIsDown) {
  Start();
  const v1::Circuit free = SetUpOne(0, 7);
  ASSERT_EQ(free.choice(), "p");
  ASSERT_TRUE(ReleaseCircuit(*controller_, free.id()).ok());
  ASSERT_TRUE(SetLink(LinkOf(free, 1), false).ok());
  const v1::Circuit around = SetUpOne(0, 7);
  EXPECT_EQ(around.choice(), "p_prime");
  EXPECT_THAT(around.broken(), IsEmpty());
  ASSERT_TRUE(ReleaseCircuit(*controller_, around.id()).ok());
  // When the link is back the paths are as before.
  ASSERT_TRUE(SetLink(LinkOf(free, 1), true).ok());
  EXPECT_EQ(SetUpOne(0, 7).choice(), "p");
}

TEST_F(FaultsTest, WithoutAWholePathASetUpIsUnavailableAndNamesTheLink) {
  Start();
  const v1::Circuit p = SetUpOne(0, 7);
  ASSERT_TRUE(ReleaseCircuit(*controller_, p.id()).ok());
  ASSERT_TRUE(SetLink(LinkOf(p, 2), false).ok());
  const v1::Circuit other = SetUpOne(0, 7);
  ASSERT_TRUE(ReleaseCircuit(*controller_, other.id()).ok());
  ASSERT_TRUE(SetLink(LinkOf(other, 5), false).ok());
  const absl::Status refused = SetUpCircuit(*controller_, 0, 7).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(FieldsOf(refused), ElementsAre("link"));
  EXPECT_THAT(std::string(refused.message()), HasSubstr(NameOf(LinkOf(p, 2)) + " is down"));
  // A given path that crosses one of the links is refused.
  v1::SetUpRequest given;
  given.set_input(0);
  given.set_output(7);
  *given.mutable_rows() = other.rows();
  EXPECT_THAT(std::string(Ask(given).status().message()), HasSubstr(NameOf(LinkOf(other, 5))));
  // A batch and a permutation.
  v1::SetUpBatchRequest batch;
  batch.set_all_or_nothing(true);
  *batch.add_requests() = given;
  EXPECT_THAT(FieldsOf(Ask(batch).status()), ElementsAre("requests[0].link"));
  for (const bool dry_run : {false, true}) {
    for (const std::string protocol : {"minimum", "collision", "one_choice", "greedy"}) {
      if (protocol == "greedy") {
        // Its one path goes straight through the first copy.
        ASSERT_TRUE(SetLink(LinkOf(p, 2), true).ok());
        v1::LinkRef straight;
        straight.set_stage(2);
        ASSERT_TRUE(SetLink(straight, false).ok());
      }
      v1::RoutePermutationRequest request;
      request.set_protocol(protocol);
      request.add_inputs(9);
      request.add_outputs(9);
      request.add_inputs(0);
      request.add_outputs(7);
      request.set_dry_run(dry_run);
      const absl::Status status = Ask(request).status();
      EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << protocol << status;
      EXPECT_THAT(FieldsOf(status), ElementsAre("paths[1].link")) << protocol;
      if (protocol == "greedy") {
        v1::LinkRef straight;
        straight.set_stage(2);
        ASSERT_TRUE(SetLink(straight, true).ok());
        ASSERT_TRUE(SetLink(LinkOf(p, 2), false).ok());
      }
    }
  }
  EXPECT_THAT(List(*controller_), IsEmpty());
  ExpectCountsEqualRecount(*controller_, agent_.get());
}

TEST_F(FaultsTest, LinksToAvoidAreAvoidedByThatRequestAlone) {
  Start();
  const v1::Circuit p = SetUpOne(0, 7);
  ASSERT_TRUE(ReleaseCircuit(*controller_, p.id()).ok());
  v1::SetUpRequest request;
  request.set_input(0);
  request.set_output(7);
  *request.add_avoid() = LinkOf(p, 3);
  const auto around = Ask(request);
  ASSERT_TRUE(around.ok()) << around.status();
  EXPECT_EQ(around->circuit().choice(), "p_prime");
  ASSERT_TRUE(ReleaseCircuit(*controller_, around->circuit().id()).ok());
  *request.add_avoid() = LinkOf(around->circuit(), 4);
  const absl::Status refused = Ask(request).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr(NameOf(LinkOf(p, 3)) + " is to be avoided"));
  request.mutable_avoid(1)->set_row(16);
  EXPECT_THAT(FieldsOf(Ask(request).status()), ElementsAre("avoid[1].row"));
  EXPECT_EQ(SetUpOne(0, 7).choice(), "p");
  // A permutation too.
  v1::RoutePermutationRequest permutation;
  permutation.set_protocol("minimum");
  permutation.add_inputs(0);
  permutation.add_outputs(7);
  permutation.set_replace(true);
  *permutation.add_avoid() = LinkOf(p, 3);
  const auto routed = Ask(permutation);
  ASSERT_TRUE(routed.ok()) << routed.status();
  EXPECT_EQ(routed->paths(0).choice(), "p_prime");
}

TEST_F(FaultsTest, CircuitsOverALinkThatGoesDownAreBrokenUntilItIsBack) {
  Start();
  const v1::Circuit broken = SetUpOne(0, 7);
  const v1::Circuit whole = SetUpOne(9, 2);
  TakeRouteLog();
  ASSERT_TRUE(SetLink(LinkOf(broken, 3), false).ok());
  ASSERT_TRUE(SetLink(LinkOf(broken, 1), false).ok());
  ASSERT_THAT(Broken(), SizeIs(1));
  const v1::Circuit listed = Broken()[0];
  EXPECT_EQ(listed.id(), broken.id());
  ASSERT_EQ(listed.broken_size(), 2);
  EXPECT_EQ(listed.broken(0).DebugString(), LinkOf(broken, 1).DebugString());
  EXPECT_EQ(listed.broken(1).DebugString(), LinkOf(broken, 3).DebugString());
  ASSERT_THAT(Broken(false), SizeIs(1));
  EXPECT_EQ(Broken(false)[0].id(), whole.id());
  EXPECT_EQ(StatusOf(*controller_).broken_circuits(), 1u);
  EXPECT_EQ(BrokenInTelemetry(), 1u);
  // Taking a link down twice changes nothing, and bringing one of the two links back is not enough.
  ASSERT_TRUE(SetLink(LinkOf(broken, 1), false).ok());
  ASSERT_TRUE(SetLink(LinkOf(broken, 1), true).ok());
  EXPECT_THAT(Broken(), SizeIs(1));
  ASSERT_TRUE(SetLink(LinkOf(broken, 3), true).ok());
  EXPECT_THAT(Broken(), IsEmpty());
  EXPECT_EQ(StatusOf(*controller_).broken_circuits(), 0u);
  EXPECT_EQ(BrokenInTelemetry(), 0u);
  // Nothing was moved.
  EXPECT_THAT(TakeRouteLog(), IsEmpty());
  EXPECT_THAT(List(*controller_), SizeIs(2));
}

TEST_F(FaultsTest, AControllerThatComesBackKnowsWhatIsBroken) {
  Start();
  const v1::Circuit broken = SetUpOne(0, 7);
  SetUpOne(9, 2);
  ASSERT_TRUE(SetLink(LinkOf(broken, 3), false).ok());
  controller_.reset();
  controller_ = std::make_unique<TestController>(directory_.path(), 20);
  ASSERT_TRUE(Eventually([&] { return List(*controller_).size() == 2 && !Broken().empty(); }));
  EXPECT_EQ(Broken()[0].id(), broken.id());
  EXPECT_EQ(Broken()[0].broken_size(), 1);
  EXPECT_THAT(Broken(), SizeIs(1));
  // A new circuit goes around it.
  ASSERT_TRUE(ReleaseCircuit(*controller_, broken.id()).ok());
  EXPECT_NE(SetUpOne(0, 7).choice(), broken.choice());
}

TEST_F(FaultsTest, AWatchTellsWhatBreaksIsWholeAgainAndMoves) {
  Start();
  const v1::Circuit circuit = SetUpOne(0, 7);
  grpc::ClientContext context, broken_context;
  SetDeadline(context);
  SetDeadline(broken_context);
  v1::WatchRequest only_broken;
  only_broken.set_broken(true);
  const auto watch = controller_->circuits->Watch(&context, v1::WatchRequest());
  const auto broken = controller_->circuits->Watch(&broken_context, only_broken);
  v1::WatchResponse news;
  ASSERT_TRUE(watch->Read(&news));
  EXPECT_EQ(news.added_size(), 1);
  ASSERT_TRUE(broken->Read(&news));
  EXPECT_EQ(news.added_size(), 0);
  EXPECT_TRUE(news.complete());

  ASSERT_TRUE(SetLink(LinkOf(circuit, 2), false).ok());
  ASSERT_TRUE(watch->Read(&news));
  ASSERT_EQ(news.changed_size(), 1);
  EXPECT_EQ(news.added_size() + news.removed_size(), 0);
  EXPECT_EQ(news.changed(0).id(), circuit.id());
  EXPECT_EQ(news.changed(0).broken_size(), 1);
  ASSERT_TRUE(broken->Read(&news));
  ASSERT_EQ(news.added_size(), 1);
  EXPECT_EQ(news.added(0).id(), circuit.id());

  v1::MoveRequest move;
  move.set_id(circuit.id());
  const auto moved = Move(move);
  ASSERT_TRUE(moved.ok()) << moved.status();
  ASSERT_TRUE(watch->Read(&news));
  ASSERT_EQ(news.changed_size(), 1);
  EXPECT_EQ(news.changed(0).DebugString(), moved->DebugString());
  ASSERT_TRUE(broken->Read(&news));
  ASSERT_EQ(news.removed_size(), 1);
  EXPECT_EQ(news.removed(0).id(), circuit.id());
  context.TryCancel();
  broken_context.TryCancel();
}

}  // namespace
}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
// Circuits that move to another path, because a client asks or because a link failed and the
// topology says that circuits are repaired.
#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "tests/control/faults_fixture.h"

namespace bfly::control {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST_F(FaultsTest, AMoveReplacesThePathInOneStepAndKeepsTheId) {
  Start();
  const v1::Circuit before = SetUpOne(3, 9);
  const v1::Circuit other = SetUpOne(5, 6);
  TakeRouteLog();
  v1::MoveRequest request;
  request.set_input(3);
  *request.add_avoid() = LinkOf(before, 4);
  const auto moved = Move(request);
  ASSERT_TRUE(moved.ok()) << moved.status();
  EXPECT_EQ(moved->id(), before.id());
  EXPECT_NE(moved->choice(), before.choice());
  EXPECT_EQ(moved->output(), before.output());
  // One word of the route table was overwritten; nothing was removed.
  EXPECT_THAT(TakeRouteLog(), ElementsAre("install 3"));
  ExpectCountsEqualRecount(*controller_, agent_.get());
  // Moves it back by naming the path.
  v1::MoveRequest back;
  back.set_id(before.id());
  *back.mutable_rows() = before.rows();
  EXPECT_EQ(Move(back)->choice(), "given");
  // Moves it by another protocol.
  v1::MoveRequest valiant;
  valiant.set_id(before.id());
  valiant.set_protocol("valiant");
  valiant.set_seed(4);
  EXPECT_EQ(Move(valiant)->choice(), "random");
  ExpectCountsEqualRecount(*controller_, agent_.get());
  EXPECT_THAT(List(*controller_), SizeIs(2));
  EXPECT_EQ(List(*controller_)[1].DebugString(), other.DebugString());
}

TEST_F(FaultsTest, AMoveThatFailsLeavesTheOldPath) {
  Start();
  const v1::Circuit before = SetUpOne(3, 9);
  TakeRouteLog();
  const auto expect_as_before = [&] {
    ASSERT_THAT(List(*controller_), SizeIs(1));
    EXPECT_EQ(List(*controller_)[0].DebugString(), before.DebugString());
    ExpectCountsEqualRecount(*controller_, agent_.get());
  };
  v1::MoveRequest request;
  EXPECT_THAT(FieldsOf(Move(request).status()), ElementsAre("id"));
  request.set_id(before.id() + 1);
  EXPECT_EQ(Move(request).status().code(), absl::StatusCode::kNotFound);
  request.set_id(0);
  request.set_input(4);
  EXPECT_THAT(FieldsOf(Move(request).status()), ElementsAre("input"));
  request.set_input(3);
  request.set_protocol("nonesuch");
  EXPECT_EQ(Move(request).status().code(), absl::StatusCode::kInvalidArgument);
  request.clear_protocol();
  request.add_rows(3);
  EXPECT_EQ(Move(request).status().code(), absl::StatusCode::kInvalidArgument);
  request.clear_rows();
  // Neither path is left.
  *request.add_avoid() = LinkOf(before, 0);
  v1::LinkRef other = LinkOf(before, 0);
  other.set_port(1 - other.port());
  *request.add_avoid() = other;
  EXPECT_EQ(Move(request).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(TakeRouteLog(), IsEmpty());
  expect_as_before();
  // The data plane refuses.
  request.mutable_avoid()->RemoveLast();
  board_.RefuseInputs({3});
  EXPECT_FALSE(Move(request).ok());
  board_.RefuseInputs({});
  expect_as_before();
  EXPECT_TRUE(Move(request).ok());
}

TEST_F(FaultsTest, AMoveDoesNotStandInItsOwnWay) {
  v1::Topology topology = SmallTopology();
  topology.mutable_circuits()->set_capacity(1);
  agent_ = std::make_unique<TestAgent>(directory_.path(), "dp0", FakeBackend(board_, "dp0"));
  controller_ = std::make_unique<TestController>(directory_.path(), 20);
  ASSERT_TRUE(Load(*controller_, topology).ok());
  const v1::Circuit before = SetUpOne(3, 9);
  // The last links of Valiant's path are also on the old path, which the circuit itself fills.
  v1::MoveRequest request;
  request.set_id(before.id());
  request.set_protocol("valiant");
  for (uint64_t seed = 0; seed < 8; ++seed) {
    request.set_seed(seed);
    EXPECT_TRUE(Move(request).ok());
  }
  ExpectCountsEqualRecount(*controller_, agent_.get());
}

TEST_F(FaultsTest, ByRepairCircuitsAreMovedBeforeTheirLinkGoesDown) {
  StartWith(v1::CircuitPolicy::REPAIR);
  const v1::Circuit before = SetUpOne(0, 7);
  board_.TakeLog();
  const v1::LinkRef link = LinkOf(before, 3);
  ASSERT_TRUE(SetLink(link, false).ok());
  ASSERT_THAT(List(*controller_), SizeIs(1));
  const v1::Circuit after = List(*controller_)[0];
  EXPECT_EQ(after.id(), before.id());
  EXPECT_NE(after.choice(), before.choice());
  EXPECT_THAT(Broken(), IsEmpty());
  const std::vector<std::string> log = board_.TakeLog();
  const std::string down =
      "link " + std::to_string((link.stage() * 16 + link.row()) * 2 + link.port()) + " down";
  const auto installed = std::find(log.begin(), log.end(), "install 0");
  const auto taken_down = std::find(log.begin(), log.end(), down);
  ASSERT_NE(installed, log.end());
  ASSERT_NE(taken_down, log.end());
  EXPECT_LT(installed, taken_down);
  EXPECT_EQ(std::count(log.begin(), log.end(), "remove 0"), 0);
  ExpectCountsEqualRecount(*controller_, agent_.get());
  // While no path is left the circuit stays broken. It is moved when a path comes back.
  const v1::LinkRef second = LinkOf(after, 3);
  ASSERT_TRUE(SetLink(second, false).ok());
  EXPECT_THAT(Broken(), SizeIs(1));
  ASSERT_TRUE(SetLink(link, true).ok());
  EXPECT_THAT(Broken(), IsEmpty());
  EXPECT_EQ(List(*controller_)[0].choice(), before.choice());
  ExpectCountsEqualRecount(*controller_, agent_.get());
}

TEST_F(FaultsTest, OneCircuitThatCannotBeMovedDoesNotKeepTheOthers) {
  StartWith(v1::CircuitPolicy::REPAIR);
  const v1::Circuit first = SetUpOne(0, 7);
  // The other input that shares the second link: it differs in the position that stage 0 sets.
  v1::SetUpRequest given;
  given.set_input(8);
  given.set_output(3);
  std::vector<uint32_t> rows = {8, first.rows(1), first.rows(2)};
  for (int stage = 2; stage < 8; ++stage) {
    const uint32_t mask = 8u >> stage % 4;
    rows.push_back(stage < 4 ? rows.back() : (rows.back() & ~mask) | (3 & mask));
  }
  given.mutable_rows()->Add(rows.begin(), rows.end());
  const auto second = Ask(given);
  ASSERT_TRUE(second.ok()) << second.status();
  board_.RefuseInputs({0});
  ASSERT_TRUE(SetLink(LinkOf(first, 1), false).ok());
  board_.RefuseInputs({});
  ASSERT_THAT(Broken(), SizeIs(1));
  EXPECT_EQ(Broken()[0].id(), first.id());
  ExpectCountsEqualRecount(*controller_, agent_.get());
}

TEST_F(FaultsTest, ByReleaseCircuitsOverALinkThatGoesDownAreReleased) {
  StartWith(v1::CircuitPolicy::RELEASE);
  const v1::Circuit broken = SetUpOne(0, 7);
  const v1::Circuit whole = SetUpOne(9, 2);
  ASSERT_TRUE(SetLink(LinkOf(broken, 3), false).ok());
  ASSERT_THAT(List(*controller_), SizeIs(1));
  EXPECT_EQ(List(*controller_)[0].id(), whole.id());
  ExpectCountsEqualRecount(*controller_, agent_.get());
}

// A link of the middle of a fabric of 2,048 rows can carry 1,024 circuits.
TEST_F(FaultsTest, AThousandCircuitsAreRepairedAtOnce) {
  constexpr uint32_t kRows = 2048;
  StartWith(v1::CircuitPolicy::REPAIR, kRows);
  v1::SetUpBatchRequest batch;
  batch.set_all_or_nothing(true);
  // Straight to row 5 in the middle, and from there over the link that leaves it by port 0.
  for (uint32_t i = 0; i < kRows / 2; ++i) {
    v1::SetUpRequest* request = batch.add_requests();
    request->set_input(2 * i + i % 2);
    request->set_output(i);
    uint32_t row = request->input();
    request->add_rows(row);
    for (int stage = 0; stage < 22; ++stage) {
      const uint32_t mask = (kRows / 2) >> stage % 11;
      row = (row & ~mask) | ((stage < 11 ? 5u : request->output()) & mask);
      request->add_rows(row);
    }
  }
  ASSERT_TRUE(Ask(batch).ok()) << Ask(batch).status();
  v1::LinkRef link;
  link.set_stage(11);
  link.set_row(5);
  const auto start = std::chrono::steady_clock::now();
  ASSERT_TRUE(SetLink(link, false).ok());
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  printf("1,024 circuits repaired in %.2f ms, the call that took the link down included\n",
         took.count());
  EXPECT_THAT(Broken(), IsEmpty());
  const std::vector<v1::Circuit> moved = List(*controller_);
  ASSERT_THAT(moved, SizeIs(kRows / 2));
  for (const v1::Circuit& circuit : moved) EXPECT_NE(circuit.choice(), "given");
  ExpectCountsEqualRecount(*controller_, agent_.get());
}

}  // namespace
}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "control/intent/execute.h"
#include "control/status/field_errors.h"

namespace bfly::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::shared_ptr<const Network> TwoFold(uint32_t rows) {
  return std::make_shared<const Network>(
      *Network::Make({.kind = NetworkKind::kTwoFoldButterfly, .rows = rows, .seed = 7}));
}

Order SetUpOf(Row input, Row output, std::vector<Row> rows = {}, std::string key = "") {
  return {SetUpOrder{input, output, std::move(rows)}, std::move(key)};
}
Order ReleaseOf(uint64_t id, std::string key = "") { return {ReleaseOrder{id}, std::move(key)}; }

std::vector<std::string> FieldsOf(const absl::Status& status) {
  std::vector<std::string> fields;
  for (const FieldError& error : FieldErrorsOf(status)) fields.push_back(error.field);
  return fields;
}

uint64_t TotalLoad(const FabricState& state) {
  uint64_t sum = 0;
  for (uint32_t count : state.load().counts()) sum += count;
  return sum;
}

TEST(FabricState, ASetUpCircuitLoadsEveryLinkOfItsPathOnce) {
  FabricState state(TwoFold(16), 0);
  const Outcome circuit = Execute(state, SetUpOf(3, 5));
  ASSERT_TRUE(circuit.ok()) << circuit.status();
  EXPECT_EQ(WalkTag(state.network(), 3, circuit->path.tag).back(), 5u);
  EXPECT_EQ(TotalLoad(state), 8u);  // 2 log2(16) links
  EXPECT_EQ(state.load().MaxOnPath(3, circuit->path.tag), 1u);
}

TEST(FabricState, ANetworkOfOnePathTakesItWhateverTheLoad) {
  auto network =
      std::make_shared<const Network>(*Network::Make({.kind = NetworkKind::kButterfly, .rows = 8}));
  FabricState state(network, 0);
  const Outcome circuit = Execute(state, SetUpOf(1, 6));
  ASSERT_TRUE(circuit.ok()) << circuit.status();
  EXPECT_EQ(circuit->path.tag, 6u);  // the tag of a butterfly is the destination
}

// A batch that is told to stop half way, on a network with a row for each.
TEST(FabricState, ALargeBatchThatIsInterruptedIsUndoneOrSaysWhatWasDone) {
  constexpr Row kRows = 1 << 17;
  FabricState state(std::make_shared<const Network>(
                        *Network::Make({.kind = NetworkKind::kButterfly, .rows = kRows})),
                    0);
  std::vector<Order> orders;
  for (Row row = 0; row < kRows; ++row) orders.push_back(SetUpOf(row, row));
  int looks = 0;
  const Interrupt half_way = [&looks] {
    return ++looks > 256 ? absl::CancelledError("enough") : absl::OkStatus();
  };
  const auto none = ExecuteBatch(state, orders, /*all_or_nothing=*/true, "", half_way);
  EXPECT_EQ(none.status(), absl::CancelledError("enough"));
  EXPECT_EQ(state.size(), 0u);
  EXPECT_EQ(TotalLoad(state), 0u);
  EXPECT_TRUE(state.change().empty());

  looks = 0;
  const auto some = ExecuteBatch(state, orders, /*all_or_nothing=*/false, "", half_way);
  ASSERT_TRUE(some.ok());
  ASSERT_EQ(some->size(), kRows);
  size_t done = 0;
  for (const Outcome& outcome : *some) {
    done += outcome.ok();
    ASSERT_TRUE(outcome.ok() || outcome.status() == absl::CancelledError("enough"));
  }
  EXPECT_GT(done, 0u);
  EXPECT_LT(done, kRows);
  EXPECT_EQ(state.size(), done);
  EXPECT_EQ(TotalLoad(state), 17 * done);
  EXPECT_EQ(state.changed_circuits().install.size(), done);
}

TEST(FabricState, BusyEndsAreRefusedAndNamedBoth) {
  FabricState state(TwoFold(16), 0);
  ASSERT_TRUE(Execute(state, SetUpOf(3, 5)).ok());
  EXPECT_EQ(Execute(state, SetUpOf(3, 6)).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(FieldsOf(Execute(state, SetUpOf(3, 6)).status()), ElementsAre("input"));
  EXPECT_THAT(FieldsOf(Execute(state, SetUpOf(4, 5)).status()), ElementsAre("output"));
  EXPECT_THAT(FieldsOf(Execute(state, SetUpOf(3, 5)).status()), ElementsAre("input", "output"));
  EXPECT_EQ(TotalLoad(state), 8u);
}

TEST(FabricState, RowsOutsideTheNetworkAreRefusedWithTheirRange) {
  FabricState state(TwoFold(16), 0);
  const absl::Status status = Execute(state, SetUpOf(16, 99)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(FieldsOf(status), ElementsAre("input", "output"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("16 is outside 0..15"));
}

TEST(FabricState, AGivenPathIsTakenIfItIsOne) {
  FabricState state(TwoFold(4), 0);
  // Transitions touch positions 1, 2, 1, 2, so bits 2, 1, 2, 1: 0 -> 2 -> 3 -> 1 -> 1.
  const Outcome circuit = Execute(state, SetUpOf(0, 1, {0, 2, 3, 1, 1}));
  ASSERT_TRUE(circuit.ok()) << circuit.status();
  EXPECT_EQ(circuit->path.choice, PathChoice::kGiven);
  EXPECT_THAT(WalkTag(state.network(), 0, circuit->path.tag), ElementsAre(0, 2, 3, 1, 1));
}

TEST(FabricState, AGivenPathThatIsNotAPathIsRefusedWhereItGoesWrong) {
  FabricState state(TwoFold(4), 0);
  const auto field = [&](Row input, Row output, std::vector<Row> rows) {
    const absl::Status status = Execute(state, SetUpOf(input, output, std::move(rows))).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    return FieldsOf(status);
  };
  EXPECT_THAT(field(0, 1, {0, 1, 1, 1, 1}), ElementsAre("rows[1]"));  // bit 1 is not for stage 0
  EXPECT_THAT(field(0, 1, {0, 2, 3, 1}), ElementsAre("rows"));        // too short
  EXPECT_THAT(field(2, 1, {0, 2, 3, 1, 1}), ElementsAre("rows[0]"));
  EXPECT_THAT(field(0, 2, {0, 2, 3, 1, 1}), ElementsAre("rows[4]"));
  EXPECT_THAT(field(0, 1, {0, 2, 9, 1, 1}), ElementsAre("rows[2]"));
  EXPECT_EQ(TotalLoad(state), 0u);
}

TEST(FabricState, AReleasedCircuitIsGoneAndItsIdNeverComesBack) {
  FabricState state(TwoFold(16), 0);
  const uint64_t id = Execute(state, SetUpOf(3, 5))->id;
  ASSERT_TRUE(Execute(state, ReleaseOf(id)).ok());
  EXPECT_EQ(TotalLoad(state), 0u);
  const absl::Status again = Execute(state, ReleaseOf(id)).status();
  EXPECT_EQ(again.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(FieldsOf(again), ElementsAre("id"));
  EXPECT_NE(Execute(state, SetUpOf(3, 5))->id, id);
}

TEST(FabricState, IdsOfAnEarlierFabricMeanNothingInALaterOne) {
  FabricState large(TwoFold(64), 0);
  uint64_t last = 0;
  for (Row input = 0; input < 64; ++input) last = Execute(large, SetUpOf(input, input))->id;
  FabricState small(TwoFold(4), large.last_id());
  ASSERT_GE(large.last_id(), last);
  for (Row input = 0; input < 4; ++input)
    EXPECT_GT(Execute(small, SetUpOf(input, input))->id, last);
  for (uint64_t id = 0; id <= last; ++id) {
    EXPECT_EQ(Execute(small, ReleaseOf(id)).status().code(), absl::StatusCode::kNotFound);
  }
}

TEST(FabricState, TheSameKeyWithTheSameRequestGetsTheSameAnswerAndSetsUpNothing) {
  FabricState state(TwoFold(16), 0);
  const Outcome first = Execute(state, SetUpOf(3, 5, {}, "k"));
  ASSERT_TRUE(first.ok());
  const Outcome second = Execute(state, SetUpOf(3, 5, {}, "k"));
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(second->id, first->id);
  EXPECT_EQ(state.size(), 1u);

  const Outcome released = Execute(state, ReleaseOf(first->id, "r"));
  ASSERT_TRUE(released.ok());
  EXPECT_TRUE(Execute(state, ReleaseOf(first->id, "r")).ok());
}

TEST(FabricState, TheSameKeyWithAnotherRequestIsRefused) {
  FabricState state(TwoFold(16), 0);
  const uint64_t id = Execute(state, SetUpOf(3, 5, {}, "k"))->id;
  for (const Order& other : {SetUpOf(3, 6, {}, "k"), SetUpOf(4, 5, {}, "k"), ReleaseOf(id, "k")}) {
    const absl::Status status = Execute(state, other).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(FieldsOf(status), ElementsAre("idempotency_key"));
  }
  EXPECT_EQ(state.size(), 1u);
}

TEST(FabricState, AKeyOfARefusedRequestMayBeSentAgain) {
  FabricState state(TwoFold(16), 0);
  const uint64_t id = Execute(state, SetUpOf(3, 5))->id;
  EXPECT_FALSE(Execute(state, SetUpOf(3, 6, {}, "k")).ok());
  ASSERT_TRUE(Execute(state, ReleaseOf(id)).ok());
  EXPECT_TRUE(Execute(state, SetUpOf(3, 6, {}, "k")).ok());
}

TEST(FabricState, ABatchIsAllOrNothingOrEachForItself) {
  const std::vector<Order> orders = {SetUpOf(0, 1), SetUpOf(2, 1), SetUpOf(4, 5)};
  FabricState state(TwoFold(16), 0);
  const auto all = ExecuteBatch(state, orders, true, "");
  EXPECT_EQ(all.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(FieldsOf(all.status()), ElementsAre("requests[1].output"));
  EXPECT_EQ(state.size(), 0u);
  EXPECT_EQ(TotalLoad(state), 0u);

  const auto each = ExecuteBatch(state, orders, false, "");
  ASSERT_TRUE(each.ok()) << each.status();
  EXPECT_TRUE((*each)[0].ok());
  EXPECT_EQ((*each)[1].status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE((*each)[2].ok());
  EXPECT_EQ(state.size(), 2u);
}

TEST(FabricState, TheChangeToldToTheDataPlaneIsTheNetOne) {
  FabricState state(TwoFold(16), 0);
  const uint64_t stays = Execute(state, SetUpOf(1, 1))->id;
  const uint64_t goes = Execute(state, SetUpOf(2, 2))->id;
  state.Commit();
  EXPECT_TRUE(state.change().empty());

  ASSERT_TRUE(Execute(state, ReleaseOf(goes)).ok());
  ASSERT_TRUE(Execute(state, ReleaseOf(stays)).ok());
  const Outcome other = Execute(state, SetUpOf(1, 9));
  ASSERT_TRUE(Execute(state, SetUpOf(8, 8)).ok());
  ASSERT_TRUE(Execute(state, ReleaseOf(state.AtInput(8)->id)).ok());
  const CircuitChange change = state.changed_circuits();
  ASSERT_EQ(change.install.size(), 1u);
  EXPECT_EQ(change.install[0].id, other->id);
  EXPECT_THAT(change.remove, ElementsAre(2, 8));
}

TEST(FabricState, RollingBackUndoesEverythingSinceTheCommitKeysToo) {
  FabricState state(TwoFold(16), 0);
  const Outcome stays = Execute(state, SetUpOf(1, 1));
  state.Commit();
  ASSERT_TRUE(Execute(state, ReleaseOf(stays->id)).ok());
  ASSERT_TRUE(Execute(state, SetUpOf(1, 2, {}, "k")).ok());
  state.RollBack();
  ASSERT_EQ(state.size(), 1u);
  EXPECT_EQ(state.AtInput(1)->id, stays->id);
  EXPECT_EQ(TotalLoad(state), 8u);
  // The key is free again.
  EXPECT_TRUE(Execute(state, SetUpOf(3, 4, {}, "k")).ok());
}

TEST(FabricState, MoreKeysThanAreKeptAreRolledBackAndLeaveTheOldOnes) {
  FabricState state(TwoFold(16), 0);
  const Outcome stays = Execute(state, SetUpOf(1, 1, {}, "old"));
  state.Commit();
  // 65,536 are kept.
  for (int i = 0; i < 40'000; ++i) {
    const Outcome circuit = Execute(state, SetUpOf(2, 2, {}, absl::StrCat("s", i)));
    ASSERT_TRUE(circuit.ok()) << circuit.status();
    ASSERT_TRUE(Execute(state, ReleaseOf(circuit->id, absl::StrCat("r", i))).ok());
  }
  state.RollBack();
  EXPECT_EQ(state.size(), 1u);
  EXPECT_EQ(Execute(state, SetUpOf(1, 1, {}, "old"))->id, stays->id);
  EXPECT_TRUE(Execute(state, SetUpOf(3, 3, {}, "s39999")).ok());
}

TEST(FabricState, WhatIsWithdrawnForReadersIsThereAgainOnceItIsCommitted) {
  FabricState state(TwoFold(16), 0);
  const Outcome moved = Execute(state, SetUpOf(1, 1));
  const Outcome goes = Execute(state, SetUpOf(2, 2));
  state.Commit();
  EXPECT_FALSE(state.shows_uncommitted());
  ASSERT_TRUE(Execute(state, ReleaseOf(moved->id)).ok());
  ASSERT_TRUE(Execute(state, ReleaseOf(goes->id, "gone")).ok());
  const Outcome later = Execute(state, SetUpOf(1, 9, {}, "later"));
  ASSERT_TRUE(later.ok());
  const std::vector<uint32_t> wanted = state.load().counts();
  EXPECT_TRUE(state.shows_uncommitted());

  state.Withdraw();
  EXPECT_FALSE(state.shows_uncommitted());
  ASSERT_EQ(state.size(), 2u);
  EXPECT_EQ(state.AtInput(1)->id, moved->id);
  EXPECT_EQ(state.AtInput(2)->id, goes->id);
  EXPECT_EQ(TotalLoad(state), 16u);

  state.Commit();
  ASSERT_EQ(state.size(), 1u);
  EXPECT_EQ(state.AtInput(1)->id, later->id);
  EXPECT_EQ(state.AtInput(1)->congestion, later->congestion);
  EXPECT_EQ(state.load().counts(), wanted);
  EXPECT_EQ(Execute(state, SetUpOf(1, 9, {}, "later"))->id, later->id);
}

TEST(FabricState, WhatIsWithdrawnMayBeRolledBack) {
  FabricState state(TwoFold(16), 0);
  ASSERT_TRUE(Execute(state, SetUpOf(1, 1, {}, "k")).ok());
  state.Withdraw();
  state.RollBack();
  EXPECT_EQ(state.size(), 0u);
  state.Commit();
  EXPECT_EQ(state.size(), 0u);
  EXPECT_TRUE(Execute(state, SetUpOf(2, 3, {}, "k")).ok());
}

TEST(FabricState, APermutationReplacesOnlyIfAsked) {
  FabricState state(TwoFold(4), 0);
  ASSERT_TRUE(Execute(state, SetUpOf(0, 3)).ok());
  PermutationOrder order{"minimum", {{0, 1}, {1, 2}, {2, 3}, {3, 0}}, {}, false};
  const auto refused = Execute(state, order, "");
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(FieldsOf(refused.status()), ElementsAre("inputs[0]", "outputs[2]"));
  EXPECT_EQ(state.size(), 1u);

  order.replace = true;
  const auto routed = Execute(state, order, "");
  ASSERT_TRUE(routed.ok()) << routed.status();
  EXPECT_EQ(state.size(), 4u);
  EXPECT_EQ(state.AtInput(0)->path.output, 1u);
  EXPECT_EQ(TotalLoad(state), 4u * 4u);
}

TEST(FabricState, ADryRunOfAPermutationChangesNothing) {
  FabricState state(TwoFold(4), 0);
  ASSERT_TRUE(Execute(state, SetUpOf(0, 3)).ok());
  const PermutationOrder order{"greedy", {{0, 1}, {1, 2}, {2, 3}, {3, 0}}, {}, true};
  const auto routed = state.planner().Route(order);
  ASSERT_TRUE(routed.ok()) << routed.status();
  EXPECT_EQ(routed->paths.size(), 4u);
  EXPECT_EQ(state.size(), 1u);
  EXPECT_EQ(TotalLoad(state), 4u);
}

// Row 0 can leave stage 0 by no link, so benes routes its request by itself, and asks before that.
TEST(FabricState, ADryRunOfAPermutationEndsWhenItIsInterrupted) {
  FabricState state(
      std::make_shared<const Network>(*Network::Make({.kind = NetworkKind::kBenes, .rows = 4})), 0);
  const PermutationOrder order{.protocol = "benes",
                               .requests = {{0, 1}, {1, 2}, {2, 3}, {3, 0}},
                               .options = {},
                               .avoid = {{0, 0, 0}, {0, 0, 1}}};
  const auto enough = [] { return absl::CancelledError("enough"); };
  EXPECT_EQ(state.planner().Route(order, enough).status(), enough());
}

TEST(FabricState, BadPermutationsNameWhatIsWrong) {
  FabricState state(TwoFold(4), 0);
  const auto fields = [&](const PermutationOrder& order, absl::StatusCode code) {
    const absl::Status status = Execute(state, order, "").status();
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_EQ(state.size(), 0u);
    return FieldsOf(status);
  };
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(fields({"minimum", {{0, 4}}, {}, false}, kInvalid), ElementsAre("outputs[0]"));
  EXPECT_THAT(fields({"minimum", {{0, 1}, {0, 2}}, {}, false}, kInvalid), ElementsAre("inputs[1]"));
  EXPECT_THAT(fields({"minimum", {{0, 1}, {3, 1}}, {}, false}, kInvalid),
              ElementsAre("outputs[1]"));
  EXPECT_THAT(fields({"magic", {{0, 1}}, {}, false}, kInvalid), ElementsAre("protocol"));
}

TEST(FabricState, AdoptedCircuitsKeepTheirIdAndAreKnownForWhatTheyAre) {
  FabricState before(TwoFold(16), 0);
  const Outcome chosen = Execute(before, SetUpOf(3, 5));
  const Outcome other = Execute(before, SetUpOf(4, 6));
  FabricState after(TwoFold(16), 0);
  ASSERT_TRUE(after.Adopt(3, chosen->path.tag, chosen->id).ok());
  ASSERT_TRUE(after.Adopt(4, other->path.tag, 0).ok());
  EXPECT_EQ(after.AtInput(3)->id, chosen->id);
  EXPECT_EQ(after.AtInput(3)->path, chosen->path);
  EXPECT_NE(after.AtInput(4)->id, 0u);
  EXPECT_TRUE(after.change().empty());
  EXPECT_EQ(after.load().counts(), before.load().counts());
  // Ids go on above the adopted ones.
  EXPECT_GT(Execute(after, SetUpOf(7, 7))->id, chosen->id);
}

TEST(FabricState, ABatchOfReadsThatIsInterruptedLeavesNothing) {
  const auto network = std::make_shared<const Network>(
      Network::Make({.kind = NetworkKind::kRandomlyWiredButterfly, .rows = 1024, .seed = 7})
          .value());
  FabricState state(network, 0);
  PlaceOrder place;
  ReadBatchOrder reads{.users = {}, .objects = {}, .protocol = "collision", .options = {}};
  for (Row user = 0; user < 1024; ++user) {
    place.objects.push_back({user, {user % 512, 512 + user % 512}});
    reads.users.push_back(user);
    reads.objects.push_back(user);
  }
  ASSERT_TRUE(Execute(state, place).ok());
  state.Commit();
  int looks = 0;
  const auto half_way = [&looks] {
    return ++looks == 3 ? absl::DeadlineExceededError("over") : absl::OkStatus();
  };
  EXPECT_EQ(Execute(state, reads, "key", half_way).status().code(),
            absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(state.size(), 0u);
  EXPECT_TRUE(state.change().empty());
  EXPECT_EQ(state.load().Congestion(), 0u);
  // The key was not used up.
  ASSERT_TRUE(Execute(state, reads, "key").ok());
  EXPECT_EQ(state.size(), 1024u);
}

}  // namespace
}  // namespace bfly::control

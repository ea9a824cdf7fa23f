// SPDX-License-Identifier: Apache-2.0
// Requests whose one path is down and whose other path is full.
#include <gtest/gtest.h>

#include "control/intent/execute.h"

namespace bfly::control {
namespace {

std::shared_ptr<const Network> Make(NetworkKind kind) {
  return std::make_shared<const Network>(*Network::Make({.kind = kind, .rows = 16, .seed = 7}));
}

TEST(FabricStateFaults, OneByOneAndTogetherAreRefusedForWantOfRoomOnTheWholePath) {
  constexpr Row kInput = 3, kOutput = 9;
  const auto network = Make(NetworkKind::kTwoFoldButterfly);
  FabricState state(network, 0, LinkCapacity{.every_link = 1, .of_link = {}});
  const auto tags = state.planner().candidates()->tags(kInput, kOutput);
  // Another circuit takes all links of p' but the first and the last: it changes sides there, at
  // the positions that stages 0 and 7 touch.
  const std::vector<Row> p_prime = WalkTag(*network, kInput, tags[1]);
  SetUpOrder beside{kInput ^ 8u, kOutput ^ 1u, p_prime};
  beside.rows.front() = beside.input;
  beside.rows.back() = beside.output;
  const Outcome stands = Execute(state, Order{beside, ""});
  ASSERT_TRUE(stands.ok()) << stands.status();
  state.SetFault(LinkId{0, kInput, PortOfHop(*network, tags[0], 0)}, /*down=*/true);

  const SetUpOrder alone{kInput, kOutput, {}};
  EXPECT_EQ(Execute(state, Order{alone, ""}).status().code(), absl::StatusCode::kResourceExhausted);
  const PermutationOrder together{
      .protocol = "minimum", .requests = {{kInput, kOutput}}, .options = {}};
  EXPECT_EQ(Execute(state, together, "").status().code(), absl::StatusCode::kResourceExhausted);
  state.Commit();
  EXPECT_EQ(state.blocking().asked, 3u);
  EXPECT_EQ(state.blocking().blocked, 2u);
}

// Reads of one copy fill the two links that lead to disk 8, and more readers make the path to disk
// 0, which is down, the protocol's choice.
TEST(FabricStateFaults, AReadIsRefusedForWantOfRoomAloneAndInABatch) {
  constexpr Row kUser = 3;
  FabricState state(Make(NetworkKind::kRandomlyWiredButterfly), 0,
                    LinkCapacity{.every_link = 1, .of_link = {}});
  PlaceOrder place;
  place.objects.push_back({100, {0, 8}});
  for (Row user = 0; user < 16; ++user) place.objects.push_back({user, {8}});
  ASSERT_TRUE(Execute(state, place).ok());
  uint32_t readers = 0;
  for (Row user = 4; user < 16; ++user) {
    readers += Execute(state, Order{ReadOrder{user, user}, ""}).ok();
  }
  ASSERT_EQ(readers, 2u);
  state.SetFault(LinkId{0, kUser, 0}, /*down=*/true);
  EXPECT_EQ(Execute(state, Order{ReadOrder{kUser, 100}, ""}).status().code(),
            absl::StatusCode::kResourceExhausted);
  const ReadBatchOrder batch{
      .users = {kUser}, .objects = {100}, .protocol = "minimum", .options = {}};
  EXPECT_EQ(Execute(state, batch, "").status().code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace bfly::control

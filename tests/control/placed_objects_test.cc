// SPDX-License-Identifier: Apache-2.0
// Objects that are placed, and what a change that is undone leaves of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "control/intent/execute.h"

namespace bfly::control {
namespace {

std::shared_ptr<const Network> DisksBehind(uint32_t rows) {
  return std::make_shared<const Network>(
      *Network::Make({.kind = NetworkKind::kRandomlyWiredButterfly, .rows = rows, .seed = 7}));
}

PlaceOrder PlacesOn(std::vector<Placement> objects, bool replace = false) {
  return {.objects = std::move(objects), .replace = replace, .record = "placed"};
}

TEST(PlacedObjects, AChangeThatIsUndoneLeavesTheObjectsThatWerePlacedBefore) {
  FabricState state(DisksBehind(16), 0);
  ASSERT_TRUE(Execute(state, PlacesOn({{1, {3}}, {2, {3, 9}}})).ok());
  state.Commit();
  const auto expect_before = [&] {
    EXPECT_EQ(state.objects().size(), 2u);
    EXPECT_EQ(state.objects().most_on_disk(), 2u);
    EXPECT_EQ(state.objects().Find(2)->disks, (Copies{3, 9}));
    EXPECT_EQ(state.objects().Find(4), nullptr);
  };
  const auto expect_after = [&] {
    EXPECT_EQ(state.objects().size(), 2u);
    EXPECT_EQ(state.objects().most_on_disk(), 1u);
    EXPECT_EQ(state.objects().Find(4)->disks[0], 5u);
    EXPECT_EQ(state.objects().Find(2), nullptr);
    EXPECT_EQ(state.objects().Find(6)->disks[0], 3u);
  };
  // The first order is refused and changes nothing.
  EXPECT_FALSE(Execute(state, PlacesOn({{4, {3}}, {1, {4}}})).ok());
  EXPECT_TRUE(state.change().empty());
  expect_before();
  for (const bool stands : {false, true}) {
    ASSERT_TRUE(Execute(state, PlacesOn({{4, {3}}})).ok());
    EXPECT_EQ(state.objects().most_on_disk(), 3u);
    ASSERT_TRUE(Execute(state, PlacesOn({{4, {5}}}, /*replace=*/true)).ok());
    ASSERT_TRUE(Execute(state, PlacesOn({{6, {3}}})).ok());
    expect_after();
    state.Withdraw();
    expect_before();
    if (!stands) state.RollBack();
  }
  state.Commit();
  expect_after();
}

// The fewest seconds of several tries to place 32 objects one by one.
double SecondsOfPlacing(FabricState& state) {
  double fewest = 1e9;
  for (int attempt = 0; attempt < 5; ++attempt) {
    const auto start = std::chrono::steady_clock::now();
    for (uint64_t object = 0; object < 32; ++object) {
      EXPECT_TRUE(Execute(state, PlacesOn({{1'000'000 + object, {3}}})).ok());
    }
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    fewest = std::min(fewest, taken.count());
    state.RollBack();
  }
  return fewest;
}

// The second directory holds a thousand times as many objects.
TEST(PlacedObjects, AnObjectIsPlacedInATimeThatDoesNotGrowWithTheOthers) {
  FabricState few(DisksBehind(16), 0), many(DisksBehind(16), 0);
  ASSERT_TRUE(Execute(few, PlacesOn(RandomPlacements(16, 0, 100, 1, 5))).ok());
  ASSERT_TRUE(Execute(many, PlacesOn(RandomPlacements(16, 0, 100'000, 1, 5))).ok());
  few.Commit();
  many.Commit();
  EXPECT_LT(SecondsOfPlacing(many), 50 * SecondsOfPlacing(few));
}

}  // namespace
}  // namespace bfly::control

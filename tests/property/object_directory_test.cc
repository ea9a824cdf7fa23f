// SPDX-License-Identifier: Apache-2.0
#include "control/protocols/object_directory.h"

#include <gtest/gtest.h>

namespace bfly::control {
namespace {

TEST(ObjectDirectory, PlacesAllOrNone) {
  ObjectDirectory directory(8);
  ASSERT_TRUE(directory.Place({{7, {1, 6}}, {9, {5}}}, 0).ok());
  EXPECT_EQ(directory.size(), 2u);
  EXPECT_EQ(directory.Find(7)->copies, 2);
  EXPECT_EQ(directory.Find(7)->disks, (Copies{1, 6}));
  EXPECT_EQ(directory.Find(9)->copies, 1);
  EXPECT_EQ(directory.Find(9)->disks[0], 5u);
  EXPECT_EQ(directory.Find(8), nullptr);

  const auto error = [&](const std::vector<Placement>& placements, uint32_t room) {
    const absl::Status status = directory.Place(placements, room);
    EXPECT_EQ(directory.size(), 2u);
    EXPECT_EQ(directory.Find(1), nullptr);
    EXPECT_EQ(directory.most_on_disk(), 1u);
    return std::string(status.message());
  };
  EXPECT_EQ(error({{1, {0, 4}}, {2, {4, 4}}}, 0), "objects[1].disks[0]: 4 is outside 0..3");
  EXPECT_EQ(error({{1, {0, 3}}}, 0), "objects[0].disks[1]: 3 is outside 4..7");
  EXPECT_EQ(error({{1, {8}}}, 0), "objects[0].disks[0]: 8 is outside 0..7");
  EXPECT_EQ(error({{1, {}}}, 0), "objects[0].disks: 0 given; an object is on 1 disk or 2");
  EXPECT_EQ(error({{1, {2}}, {7, {3}}}, 0), "objects[1].object: 7 is placed already");
  EXPECT_EQ(error({{2, {3}}, {1, {2}}, {1, {9}}}, 0),
            "objects[2].object: 1 is there twice, first at [1]");
  EXPECT_EQ(error({{1, {2}}, {2, {6}}}, 1),
            "objects[1].disks[0]: disk 6 has no room, it holds 1 of 1");
}

// One random placement is a pure function of (seed, object), whatever is placed with it.
TEST(ObjectDirectory, RandomPlacementsAreThoseOfTheDryRun) {
  const std::vector<Copies> two = PlaceInTwoCopies(64, 100, 5);
  const std::vector<Row> one = PlaceInOneCopy(64, 100, 5);
  const auto later = RandomPlacements(64, 40, 60, 2, 5);
  const auto single = RandomPlacements(64, 40, 60, 1, 5);
  for (size_t i = 0; i < 60; ++i) {
    EXPECT_EQ(later[i].object, 40 + i);
    EXPECT_EQ(later[i].disks, (std::vector<Row>{two[40 + i][0], two[40 + i][1]}));
    EXPECT_EQ(single[i].disks, std::vector<Row>{one[40 + i]});
  }
}

}  // namespace
}  // namespace bfly::control

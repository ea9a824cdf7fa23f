// SPDX-License-Identifier: Apache-2.0
// Schedule files, and the paths of their slots.
#include "control/topology_file/schedule_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "control/intent/fabric_state.h"
#include "control/intent/slot_paths.h"
#include "tests/temporary_folder.h"
#include "topologies/slot_sequence.h"

namespace bfly::control {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(SlotSequence, EveryPairMeetsOnceACycle) {
  for (const uint32_t rows : {2u, 8u, 64u}) {
    for (const bool rotor : {false, true}) {
      std::set<std::pair<Row, Row>> pairs;
      for (uint32_t k = 0; k < rows - 1; ++k) {
        const Permutation slot = rotor ? RotorSlot(rows, k) : RoundRobinSlot(rows, k);
        ASSERT_TRUE(CheckPermutation(slot, rows).ok());
        for (Row row = 0; row < rows; ++row) {
          EXPECT_NE(slot[row], row);
          if (!rotor) {
            EXPECT_EQ(slot[slot[row]], row) << "both ways at once";
          }
          EXPECT_TRUE(pairs.emplace(row, slot[row]).second);
        }
      }
      EXPECT_EQ(pairs.size(), size_t{rows} * (rows - 1));
    }
  }
  EXPECT_EQ(RotorSlot(4, 1), (Permutation{2, 3, 0, 1}));
  EXPECT_EQ(RoundRobinSlot(4, 2), (Permutation{3, 2, 1, 0}));
}

absl::StatusOr<v1::Schedule> Read(const std::string& text) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/schedule.yaml";
  std::ofstream(path) << text;
  return ReadScheduleFile(path);
}

std::string Refusal(const std::string& text) {
  const auto schedule = Read(text);
  EXPECT_EQ(schedule.status().code(), absl::StatusCode::kInvalidArgument) << text;
  return std::string(schedule.status().message());
}

TEST(ScheduleFile, IsReadWithItsDefaults) {
  const auto rotor = Read("sequence: rotor\n");
  ASSERT_TRUE(rotor.ok()) << rotor.status();
  EXPECT_EQ(rotor->sequence(), v1::Schedule::ROTOR);
  EXPECT_EQ(SlotNsOf(*rotor), 100'000u);
  EXPECT_EQ(GuardNsOf(*rotor), 5'000u);
  EXPECT_EQ(rotor->late(), v1::Schedule::WAIT);
  EXPECT_EQ(rotor->queue(), 256u);
  const auto listed = Read(
      "slot: 50us\nguard: 0s\nlate: drop\nslots:\n  - permutation: bitrev\n  - outputs: [1, 0]\n");
  ASSERT_TRUE(listed.ok()) << listed.status();
  EXPECT_EQ(listed->sequence(), v1::Schedule::SLOTS);
  EXPECT_EQ(listed->slots_size(), 2);
  EXPECT_EQ(listed->slots(1).outputs(1), 0u);
  EXPECT_TRUE(ReadScheduleFile(std::string(getenv("BFLY_SOURCE_ROOT")) +
                               "/topologies/schedules/three-slots.yaml")
                  .ok());
}

TEST(ScheduleFile, SaysWhatIsWrongAndWhere) {
  EXPECT_THAT(Refusal("slot: 50us\n"), HasSubstr("slots"));
  EXPECT_THAT(Refusal("sequence: rotor\nslot: 50\n"), AllOf(HasSubstr(":2"), HasSubstr("unit")));
  EXPECT_THAT(Refusal("sequence: rotor\nslot: 11s\n"), HasSubstr("out of range"));
  EXPECT_THAT(Refusal("sequence: rotor\n\nguard: 100us\n"),
              AllOf(HasSubstr(":3"), HasSubstr("not shorter")));
  EXPECT_THAT(Refusal("sequence: spiral\n"), HasSubstr("round_robin"));
  EXPECT_THAT(Refusal("sequence: rotor\nslots:\n  - permutation: bitrev\n"),
              HasSubstr("of its own"));
  EXPECT_THAT(Refusal("slots:\n  - permutation: bitrev\n  - seed: 3\n"), HasSubstr("slots[1]"));
  EXPECT_THAT(Refusal("slots:\n  - inputs: [1, 2]\n    outputs: [3]\n"),
              HasSubstr("slots[0].inputs"));
  EXPECT_THAT(Refusal("sequence: rotor\nqueue: 5000000\n"), HasSubstr("4194304"));
  EXPECT_EQ(ReadScheduleFile("/nowhere").status().code(), absl::StatusCode::kNotFound);
}

TEST(ScheduleFile, SaysWhichRowsStandTwiceInASlot) {
  const std::string wrong = Refusal(
      "slots:\n  - inputs: [1, 2]\n    outputs: [2, 1]\n  - inputs: [3,\n      1, 3]\n"
      "    outputs: [4, 5, 6]\n  - outputs: [7, 0, 7, 1048576, 1048576]\n");
  EXPECT_THAT(wrong,
              HasSubstr(":5: slots[1].inputs[2]: row 3 is used twice, first by inputs[0]\n"));
  EXPECT_TRUE(wrong.ends_with(":7: slots[2].outputs[2]: row 7 is used twice, first by outputs[0]"))
      << wrong;
  EXPECT_EQ(std::count(wrong.begin(), wrong.end(), '\n'), 1) << wrong;
}

TEST(ScheduleFile, NamesABoundedNumberOfRowsThatStandTwice) {
  v1::Schedule schedule;
  for (int slot = 0; slot < 3; ++slot) {
    v1::ScheduleSlot* const listed = schedule.add_slots();
    for (int i = 0; i < 1'000; ++i) listed->add_outputs(5);
  }
  EXPECT_EQ(CheckSchedule(&schedule).size(), 100u);
}

struct Fixture {
  explicit Fixture(NetworkKind kind, uint32_t rows)
      : state(std::make_shared<const Network>(
                  Network::Make({.kind = kind, .rows = rows, .seed = 1}).value()),
              0) {}
  absl::StatusOr<RoutedSchedule> Route(const std::string& text) const {
    const auto schedule = Read(text);
    EXPECT_TRUE(schedule.ok()) << schedule.status();
    if (!schedule.ok()) return schedule.status();
    return RouteSchedule(*schedule, state);
  }
  FabricState state;
};

TEST(SlotPaths, LeadWhereTheSequenceSays) {
  for (const NetworkKind kind : {NetworkKind::kButterfly, NetworkKind::kTwoFoldButterfly,
                                 NetworkKind::kBenes, NetworkKind::kRandomlyWiredButterfly}) {
    const Fixture fixture(kind, 16);
    const auto routed = fixture.Route("sequence: rotor\n");
    ASSERT_TRUE(routed.ok()) << routed.status();
    ASSERT_EQ(routed->slots.size(), 15u);
    for (uint32_t k = 0; k < 15; ++k) {
      const SlotPaths& slot = routed->slots[k];
      ASSERT_EQ(slot.paths.size(), 16u);
      LinkLoad load(fixture.state.network());
      for (const CircuitPath& path : slot.paths) {
        EXPECT_EQ(path.output, (path.input + k + 1) % 16);
        EXPECT_EQ(WalkTag(fixture.state.network(), path.input, path.tag).back(), path.output);
        load.Add(path.input, path.tag);
      }
      EXPECT_EQ(slot.congestion, load.Congestion());
      // Rotations and exclusive-ors cross a butterfly, and a network that begins or ends with one,
      // without sharing a link.
      if (kind != NetworkKind::kRandomlyWiredButterfly) {
        EXPECT_EQ(slot.congestion, 1u);
      }
    }
  }
}

TEST(SlotPaths, ShareLinksOnlyWhereAProtocolIsNamedOrLinksAreDown) {
  Fixture fixture(NetworkKind::kTwoFoldButterfly, 16);
  for (const char* const sequence : {"sequence: rotor\n", "sequence: round_robin\n"}) {
    auto routed = fixture.Route(sequence);
    ASSERT_TRUE(routed.ok()) << routed.status();
    EXPECT_EQ(routed->protocol, "greedy");
    for (const SlotPaths& slot : routed->slots) EXPECT_EQ(slot.congestion, 1u);
  }
  EXPECT_EQ(fixture.Route("sequence: rotor\nprotocol: minimum\n")->protocol, "minimum");
  // The greedy paths of bit reversal meet in the middle of the network.
  EXPECT_EQ(fixture.Route("slots: [{permutation: bitrev}]\n")->protocol, "minimum");
  fixture.state.SetFault(LinkId{1, 2, 0}, true);
  const auto around = fixture.Route("sequence: rotor\n");
  ASSERT_TRUE(around.ok()) << around.status();
  EXPECT_EQ(around->protocol, "minimum");
}

TEST(SlotPaths, NameTheSlotThatCannotBeRouted) {
  const Fixture fixture(NetworkKind::kButterfly, 8);
  const auto refusal = [&](const std::string& text) {
    return std::string(fixture.Route(text).status().message());
  };
  EXPECT_THAT(refusal("slots: [{permutation: identity}, {permutation: wrong}]\n"),
              HasSubstr("slots[1]"));
  EXPECT_THAT(refusal("slots: [{outputs: [0, 1, 2, 3, 4, 5, 6, 7]}, {outputs: [0, 1]}]\n"),
              AllOf(HasSubstr("slots[1]"), HasSubstr("name the inputs")));
  EXPECT_THAT(refusal("slots: [{inputs: [1, 2], outputs: [3, 9]}]\n"), HasSubstr("slots[0]"));
  EXPECT_THAT(refusal("sequence: rotor\nprotocol: benes\n"), HasSubstr("not defined"));
}

TEST(SlotPaths, GoAroundWhatIsDownOrSayWhichSlotCannot) {
  // On a butterfly a pair has one path.
  Fixture one_path(NetworkKind::kButterfly, 8);
  one_path.state.SetFault(LinkId{0, 3, 0}, true);
  // Row 3 leaves by port 0 to the outputs 0 to 3, which slots 4 to 6 of a rotor do (3 + 5 = 0).
  const auto refused = one_path.Route("sequence: rotor\n");
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(refused.status().message()),
              AllOf(HasSubstr("slots[4]"), HasSubstr("s0 r3 p0 is down")));
  // On a two-fold butterfly there are others.
  Fixture many(NetworkKind::kTwoFoldButterfly, 8);
  auto routed = many.Route("sequence: rotor\n");
  ASSERT_TRUE(routed.ok()) << routed.status();
  const LinkId down{1, 2, 1};  // greedy paths from row 2 keep to it in the first copy
  many.state.SetFault(down, true);
  RoutedSchedule kept = *routed;
  CountBroken(many.state.faults(), kept);
  uint32_t broken = 0, crossing = 0;
  for (size_t i = 0; i < kept.slots.size(); ++i) {
    broken += kept.slots[i].broken;
    EXPECT_EQ(kept.slots[i].paths, routed->slots[i].paths);
    for (const CircuitPath& path : kept.slots[i].paths) {
      ForEachLink(many.state.network(), path.input, path.tag, [&](uint64_t link) {
        crossing += link == many.state.network().link_index(down);
      });
    }
  }
  EXPECT_GT(broken, 0u);
  EXPECT_EQ(broken, crossing);
  CountBroken(many.state.faults(), *routed);
  size_t next = 0;
  EXPECT_TRUE(RepairBroken(many.state, {}, next, *routed));
  EXPECT_EQ(next, routed->slots.size());
  for (const SlotPaths& slot : routed->slots) {
    EXPECT_EQ(slot.broken, 0u);
    for (const CircuitPath& path : slot.paths) {
      EXPECT_TRUE(many.state.faults().IsWhole(path.input, path.tag));
    }
  }
  next = 0;
  EXPECT_FALSE(RepairBroken(many.state, {}, next, *routed)) << "nothing is left to do";
}

}  // namespace
}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
#include "control/services/fabric_account.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bfly::control {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

struct Figures {
  std::string boot_id;
  uint64_t injected = 0, delivered = 0, dropped = 0, held = 0, trunk_in = 0, trunk_out = 0;
};

Picture::Part PartOf(const std::string& plane, const Figures& figures) {
  Picture::Part part;
  part.data_plane = plane;
  part.counters.set_boot_id(figures.boot_id);
  part.counters.mutable_conservation()->set_injected(figures.injected);
  part.counters.mutable_conservation()->set_delivered(figures.delivered);
  part.counters.mutable_conservation()->set_dropped(figures.dropped);
  part.counters.mutable_conservation()->set_in_flight(figures.held);
  part.counters.set_trunk_in(figures.trunk_in);
  part.counters.set_trunk_out(figures.trunk_out);
  if (figures.dropped > 0) {
    v1::DropCount* drop = part.counters.add_drops();
    drop->set_reason("queue_full");
    drop->set_packets(figures.dropped);
  }
  return part;
}

TEST(MemoryProblem, NamesBothPlacesThatDropForWantOfMemory) {
  v1::AgentCounters counters;
  EXPECT_EQ(MemoryProblem(counters), "");
  v1::DropCount* drop = counters.add_drops();
  drop->set_reason("queue_memory");
  drop->set_packets(7);
  EXPECT_THAT(MemoryProblem(counters), AllOf(StartsWith("7 packets were dropped as queue_memory: "),
                                             HasSubstr("raise data_planes[].queue_memory_mb"),
                                             HasSubstr("raise its waiting")));
}

Picture Take(FabricAccount& account, const Figures& dp0, const Figures& dp1) {
  Picture picture;
  picture.parts = {PartOf("dp0", dp0), PartOf("dp1", dp1)};
  account.Take(picture);
  const v1::Conservation& c = picture.conservation;
  EXPECT_EQ(c.injected(), c.delivered() + c.dropped() + c.in_flight());
  EXPECT_THAT(picture.problems, IsEmpty());
  return picture;
}

TEST(FabricAccount, WhatIsOnATrunkIsInFlight) {
  FabricAccount account;
  const Picture picture =
      Take(account, {.boot_id = "a", .injected = 100, .delivered = 20, .held = 5, .trunk_out = 75},
           {.boot_id = "b", .delivered = 60, .dropped = 4, .held = 1, .trunk_in = 65});
  EXPECT_EQ(picture.conservation.in_flight(), 5u + 1u + 10u);
  EXPECT_EQ(picture.drops.at("queue_full"), 4u);
}

TEST(FabricAccount, WhatADeadDataPlaneHeldAndWhatWasOnItsWayIsLostAndCounted) {
  FabricAccount account;
  Take(account, {.boot_id = "a", .injected = 100, .trunk_out = 100},
       {.boot_id = "b", .delivered = 80, .held = 7, .trunk_in = 87});
  // dp1 died. 50 more packets were sent to it before it came back, counting from zero.
  const Picture back =
      Take(account, {.boot_id = "a", .injected = 150, .trunk_out = 150}, {.boot_id = "c"});
  EXPECT_EQ(back.conservation.delivered(), 80u);
  EXPECT_EQ(back.conservation.dropped(), 7u + 63u);
  EXPECT_EQ(back.conservation.in_flight(), 0u);
  EXPECT_EQ(back.drops.at(FabricAccount::kLost), 70u);
  // From then on it counts as usual.
  const Picture later = Take(account, {.boot_id = "a", .injected = 160, .trunk_out = 160},
                             {.boot_id = "c", .delivered = 8, .trunk_in = 8});
  EXPECT_EQ(later.conservation.delivered(), 88u);
  EXPECT_EQ(later.conservation.in_flight(), 2u);
}

TEST(FabricAccount, WhatWasGivenUpAndArrivesAfterAllIsNotLost) {
  FabricAccount account;
  Take(account, {.boot_id = "a", .injected = 10, .trunk_out = 10},
       {.boot_id = "b", .delivered = 10, .trunk_in = 10});
  Take(account, {.boot_id = "a", .injected = 15, .trunk_out = 15}, {.boot_id = "c"});
  const Picture picture = Take(account, {.boot_id = "a", .injected = 15, .trunk_out = 15},
                               {.boot_id = "c", .delivered = 3, .trunk_in = 3});
  EXPECT_EQ(picture.conservation.delivered(), 13u);
  EXPECT_EQ(picture.drops.at(FabricAccount::kLost), 2u);
}

TEST(FabricAccount, WhatADeadDataPlaneSentUnseenItHadTakenIn) {
  FabricAccount account;
  Take(account, {.boot_id = "a", .injected = 100, .trunk_out = 100},
       {.boot_id = "b", .delivered = 90, .trunk_in = 90});
  // dp0 sent 40 more, of which 30 arrived, and died. It comes back and counts from zero.
  const Picture back = Take(account, {.boot_id = "c", .injected = 5, .trunk_out = 5},
                            {.boot_id = "b", .delivered = 133, .trunk_in = 133});
  // 100 that were seen, 5 of the new process and 28 that must have been: 133 - 105.
  EXPECT_EQ(back.conservation.injected(), 133u);
  EXPECT_EQ(back.conservation.delivered(), 133u);
  EXPECT_EQ(back.conservation.in_flight(), 0u);
  // From then on it counts as usual.
  const Picture later = Take(account, {.boot_id = "c", .injected = 20, .trunk_out = 20},
                             {.boot_id = "b", .delivered = 140, .trunk_in = 140});
  EXPECT_EQ(later.conservation.injected(), 148u);
  EXPECT_EQ(later.conservation.in_flight(), 8u);
}

TEST(FabricAccount, AControllerThatComesLaterTakesWhatItFindsForGiven) {
  FabricAccount account;
  const Picture found = Take(account, {.boot_id = "c", .injected = 5, .trunk_out = 5},
                             {.boot_id = "b", .delivered = 133, .trunk_in = 133});
  EXPECT_EQ(found.conservation.injected(), 133u);
}

v1::AgentCounters LastOf(const Figures& figures) { return PartOf("", figures).counters; }

TEST(FabricAccount, TheClosingSumGoesOnOverAProcessThatWasStartedAgainAndSaysWhatItMisses) {
  FabricAccount account;
  Picture before;
  before.parts = {PartOf("dp0", {.boot_id = "a", .injected = 127, .delivered = 120, .held = 7})};
  const auto start = std::chrono::steady_clock::time_point() + std::chrono::hours(1);
  before.parts[0].read = start;
  account.Take(before);
  EXPECT_THAT(account.Unknown(), IsEmpty());
  const v1::Conservation end = account.Close(
      {{.data_plane = "dp0",
        .counters = LastOf({.boot_id = "b", .injected = 40, .delivered = 38, .dropped = 2}),
        .read = start + std::chrono::milliseconds(1500)}});
  EXPECT_EQ(end.injected(), 127u + 40u);
  EXPECT_EQ(end.delivered(), 120u + 38u);
  EXPECT_EQ(end.dropped(), 7u + 2u);
  EXPECT_EQ(end.in_flight(), 0u);
  EXPECT_THAT(account.Unknown(),
              testing::ElementsAre("data plane dp0: 1 of its processes ended without an account; "
                                   "what passed in the 1.5 s since they were last asked is not "
                                   "known"));
}

TEST(FabricAccount, OfADataPlaneThatIsGoneAtTheEndTheLastFiguresCount) {
  FabricAccount account;
  Take(account, {.boot_id = "a", .injected = 310, .delivered = 100, .trunk_out = 210},
       {.boot_id = "b", .delivered = 190, .held = 8, .trunk_in = 198});
  const v1::Conservation end = account.Close(
      {{.data_plane = "dp0",
        .counters = LastOf({.boot_id = "a", .injected = 400, .delivered = 130, .trunk_out = 270}),
        .read = {}},
       {.data_plane = "dp1", .counters = absl::UnavailableError("nobody is there"), .read = {}}});
  EXPECT_EQ(end.injected(), 400u);
  EXPECT_EQ(end.delivered(), 130u + 190u);
  EXPECT_EQ(end.dropped(), 8u + 72u);  // what dp1 held, and 270 - 198 that were on the trunk
  EXPECT_EQ(end.in_flight(), 0u);
  ASSERT_EQ(account.Unknown().size(), 1u);
  EXPECT_THAT(account.Unknown()[0], testing::HasSubstr("data plane dp1: 1 of its processes"));
}

TEST(FabricAccount, ADataPlaneThatWasNeverHeardIsNamed) {
  FabricAccount account;
  const v1::Conservation end = account.Close(
      {{.data_plane = "dp0", .counters = absl::UnavailableError("nobody is there"), .read = {}}});
  EXPECT_EQ(end.injected(), 0u);
  EXPECT_THAT(account.Unknown(), testing::ElementsAre("data plane dp0: nobody is there; its "
                                                      "figures are not known at all"));
}

TEST(FabricAccount, WhatDoesNotBalanceIsAProblemAndSaysWhere) {
  FabricAccount account;
  Picture picture;
  picture.parts = {PartOf("dp0", {.boot_id = "a", .injected = 10, .delivered = 9})};
  account.Take(picture);
  ASSERT_EQ(picture.problems.size(), 1u);
  EXPECT_THAT(picture.problems[0], testing::HasSubstr("data plane dp0"));
  Picture trunks;
  FabricAccount other;
  Take(other, {.boot_id = "a"}, {.boot_id = "b"});
  trunks.parts = {PartOf("dp0", {.boot_id = "a", .delivered = 10, .trunk_in = 10})};
  other.Take(trunks);
  ASSERT_EQ(trunks.problems.size(), 1u);
  EXPECT_THAT(trunks.problems[0], testing::HasSubstr("trunks gave 10"));
}

}  // namespace
}  // namespace bfly::control

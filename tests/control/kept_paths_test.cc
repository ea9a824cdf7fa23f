// SPDX-License-Identifier: Apache-2.0
// The paths with which a schedule that was kept begins again, beside what has changed since.
#include "control/controller/kept_paths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "control/controller/schedule_request.h"
#include "control/intent/execute.h"
#include "tests/control/service_fixture.h"

namespace bfly::control {
namespace {

// A butterfly, so that every pair of rows has one path, whose links carry one circuit each. No two
// paths of a slot of the rotor share a link.
class KeptPathsTest : public testing::Test {
 protected:
  void SetUp() override {
    v1::Topology topology = SmallTopology();
    topology.mutable_network()->set_kind(v1::BUTTERFLY);
    topology.mutable_placement(0)->set_stages("0-3");
    topology.mutable_circuits()->set_capacity(1);
    auto made = MakeIntent(topology, directory_.path(), {}, {}, 0);
    ASSERT_TRUE(made.ok()) << made.status();
    intent_ = *std::move(made);
    intent_->schedule.emplace();
    intent_->schedule->set_sequence(v1::Schedule::ROTOR);
    ASSERT_TRUE(CheckScheduleRequest(&*intent_->schedule).ok());
  }
  static uint32_t Congestion(const RoutedSchedule& routed) {
    uint32_t most = 0;
    for (const SlotPaths& slot : routed.slots) most = std::max(most, slot.congestion);
    return most;
  }

  TemporaryFolder directory_;
  std::unique_ptr<Intent> intent_;
  KeptPaths paths_;
};

TEST_F(KeptPathsTest, LeadOverLinksThatOtherCircuitsHaveFilled) {
  ASSERT_TRUE(Execute(intent_->state, {SetUpOrder{0, 5, {}}, ""}).ok());
  EXPECT_EQ(RouteSchedule(*intent_->schedule, intent_->state).status().code(),
            absl::StatusCode::kResourceExhausted);
  const auto chosen = paths_.PathsFor(*intent_, {});
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  EXPECT_EQ(chosen->routed.slots.size(), 15u);
  EXPECT_EQ(Congestion(chosen->routed), 2u) << "the circuit and one of the slot";
}

TEST_F(KeptPathsTest, LeadOverLinksThatAreDownAndSaySo) {
  intent_->state.SetFault(LinkId{2, 3, 1}, /*down=*/true);
  const auto chosen = paths_.PathsFor(*intent_, {});
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  const Network& network = intent_->state.network();
  uint32_t crossing = 0;  // slots with a path over the link
  for (uint32_t step = 1; step < 16; ++step) {
    for (Row row = 0; row < 16; ++row) {
      ForEachLink(network, row, GreedyTag(network, row, (row + step) % 16), [&](uint64_t link) {
        if (link == network.link_index({2, 3, 1})) ++crossing;
      });
    }
  }
  EXPECT_GT(crossing, 0u);
  EXPECT_EQ(BrokenSlots(chosen->routed), crossing);
  EXPECT_EQ(Congestion(chosen->routed), 1u);
}

TEST_F(KeptPathsTest, AreNoneWhereTheTopologyHasNoRoomForASlotAlone) {
  intent_->schedule->set_sequence(v1::Schedule::SLOTS);
  v1::ScheduleSlot* const slot = intent_->schedule->add_slots();
  // Stage 0 leads both to row 0, and they go on by the same link.
  for (const auto& [input, output] : {std::pair{0u, 0u}, {8u, 1u}}) {
    slot->add_inputs(input);
    slot->add_outputs(output);
  }
  EXPECT_EQ(paths_.PathsFor(*intent_, {}).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(KeptPathsTest, AreChosenOnce) {
  int asked = 0;
  const auto count = [&asked] {
    ++asked;
    return absl::OkStatus();
  };
  ASSERT_TRUE(paths_.PathsFor(*intent_, count).ok());
  EXPECT_EQ(asked, 15) << "once a slot";
  ASSERT_TRUE(paths_.PathsFor(*intent_, count).ok());
  EXPECT_EQ(asked, 15);
  paths_.Forget();
  ASSERT_TRUE(paths_.PathsFor(*intent_, count).ok());
  EXPECT_EQ(asked, 30);
}

TEST_F(KeptPathsTest, AreChosenAheadWhileOthersHaveTheChangeLock) {
  const Arbitration arbitration;
  LoadedIntent loaded(arbitration);
  loaded.Replace(std::move(intent_));
  std::atomic<bool> stops = false;
  std::unique_lock change(loaded.change_lock());
  std::atomic<bool> got_in = false;
  std::thread other([&] {
    const std::lock_guard another(loaded.change_lock());
    got_in = true;
  });
  EXPECT_TRUE(Eventually([&] {
    EXPECT_TRUE(paths_.ChooseAhead(loaded, change, stops).ok());
    return got_in.load();
  }));
  EXPECT_TRUE(change.owns_lock());
  int asked = 0;
  EXPECT_TRUE(paths_
                  .PathsFor(loaded.now(),
                            [&asked] {
                              ++asked;
                              return absl::OkStatus();
                            })
                  .ok());
  EXPECT_EQ(asked, 0);
  change.unlock();
  other.join();
}

TEST_F(KeptPathsTest, AreNotChosenAheadForAControllerThatStops) {
  const Arbitration arbitration;
  LoadedIntent loaded(arbitration);
  loaded.Replace(std::move(intent_));
  const std::atomic<bool> stops = true;
  std::unique_lock change(loaded.change_lock());
  EXPECT_TRUE(paths_.ChooseAhead(loaded, change, stops).ok());
  EXPECT_TRUE(absl::IsCancelled(
      paths_.PathsFor(loaded.now(), [] { return absl::CancelledError("asked"); }).status()));
}

}  // namespace
}  // namespace bfly::control

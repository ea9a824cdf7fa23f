// SPDX-License-Identifier: Apache-2.0
// Programs whose caller no longer waits when the workers end them: nobody was told what they did,
// so nothing of it may be left. The worker is the test's.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "control/protocols/link_load.h"
#include "dataplane/in_band/loaded_in_band.h"
#include "tests/packet/fabric_fixture.h"

namespace bfly::dataplane {
namespace {

using control::LinkLoad;

class GivenUpTest : public testing::Test {
 protected:
  GivenUpTest() { in_band_ = *LoadedInBand::Make(network_, plan_, routes_, capacity_); }

  // What a worker that runs meanwhile makes of the call.
  template <class Call>
  auto Served(Call call) {
    std::atomic<bool> stop{false};
    std::thread lcore([&] {
      while (!stop) in_band_->worker(0)->Run();
    });
    auto result = call();
    stop = true;
    lcore.join();
    return result;
  }
  absl::StatusOr<InBandReport> SetUpOne(Row input, Row output) {
    return in_band_->SetUp({{input, output}}, MinimumParameters{});
  }
  // The worker comes back and ends what it was given.
  void Resume() {
    for (int pass = 0; pass < 100; ++pass) in_band_->worker(0)->Run();
  }
  // Another circuit is set up as if nothing had been, beside the circuits that `load` has.
  void ExpectTheNextFinds(LinkLoad load) {
    const auto next = Served([&] { return SetUpOne(0, 1); });
    ASSERT_TRUE(next.ok()) << next.status();
    load.Add(0, next->paths[0].tag);
    EXPECT_EQ(in_band_->circuits_on_links(), load.counts());
  }

  const FabricConfig config_ = OneWorker(NetworkKind::kTwoFoldButterfly, 8);
  const Network network_ = *Network::Make(config_.network);
  const FabricPlan plan_ = PlanFabric(config_, network_);
  const LinkCapacity capacity_;
  RouteTable routes_{network_, WithoutCircuit::kDrop};
  std::unique_ptr<LoadedInBand> in_band_;
};

TEST_F(GivenUpTest, ACircuitThatWasSetUpTooLateIsTakenBack) {
  EXPECT_EQ(SetUpOne(3, 4).status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(SetUpOne(3, 4).status().code(), absl::StatusCode::kFailedPrecondition);
  Resume();
  ExpectTheNextFinds(LinkLoad(network_));
  EXPECT_EQ(routes_.circuit(3), 0u);
}

TEST_F(GivenUpTest, ACircuitThatWasReleasedTooLateStandsAgain) {
  const auto standing = Served([&] { return SetUpOne(3, 4); });
  ASSERT_TRUE(standing.ok()) << standing.status();
  const WireTag before = routes_.circuit(3);
  LinkLoad load(network_);
  load.Add(3, standing->paths[0].tag);
  EXPECT_EQ(in_band_->Release({3}).status().code(), absl::StatusCode::kDeadlineExceeded);
  Resume();
  ExpectTheNextFinds(load);
  EXPECT_EQ(routes_.circuit(3), before);
}

// A circuit installed by other means is told to the links before the next program runs.
TEST_F(GivenUpTest, ACircuitThatLinksWereToldOfTooLateCountsOnce) {
  const Tag tag = TagThrough(network_, 6, 5);
  routes_.Install(2, tag);
  in_band_->NoteCircuit(2);
  LinkLoad load(network_);
  load.Add(2, tag);
  EXPECT_EQ(SetUpOne(3, 4).status().code(), absl::StatusCode::kDeadlineExceeded);
  Resume();
  ExpectTheNextFinds(load);
  EXPECT_EQ(routes_.circuit(3), 0u);
}

// What control did meanwhile is not undone with it.
TEST_F(GivenUpTest, ACircuitThatControlInstalledMeanwhileStays) {
  EXPECT_EQ(SetUpOne(3, 4).status().code(), absl::StatusCode::kDeadlineExceeded);
  const Tag tag = TagThrough(network_, 1, 7);
  routes_.Install(3, tag);
  in_band_->NoteCircuit(3);
  Resume();
  LinkLoad load(network_);
  load.Add(3, tag);
  ExpectTheNextFinds(load);
  EXPECT_EQ(routes_.circuit(3), ToWire(tag, network_.hops()));
}

}  // namespace
}  // namespace bfly::dataplane

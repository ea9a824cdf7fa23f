// SPDX-License-Identifier: Apache-2.0
// What ends a run of packets with frames in the middle: every buffer comes back.
#include <rte_mempool.h>

#include <atomic>
#include <thread>

#include "tests/packet/slow_inlet.h"
#include "tests/packet/step_frames_fixture.h"

namespace bfly::dataplane {
namespace {

// What ends a run in the middle. 64 packets an input on two workers, of which the one of the upper
// rows is slow, and slower still once packets have been delivered; hosts at a row of each.
class StepFramesInTheMiddle : public testing::Test {
 protected:
  void SetUp() override {
    FabricConfig config = Halves(NetworkKind::kButterfly, 64);
    config.ports = {low_.Config({5}), high_.Config({40})};
    fabric_ = MustLoadWith(config, [this](const Network&, const RouteTable&, RowRange rows) {
      return std::make_unique<SlowInlet>(rows.first == 0 ? unused_ : speed_);
    });
    ASSERT_NE(fabric_, nullptr);
    ASSERT_TRUE(fabric_->step_programs().ok());
    pool_ = fabric_->frame_pool();
    before_ = BuffersInUse(*fabric_);
    speed_.brakes = [this] { return fabric_->summary().conservation.delivered > 400; };
    speed_.slow = true;
    caller_ = std::thread([this] {
      result_ = (*fabric_->step_programs())
                    ->Run("store_and_forward", FaultSet(fabric_->network()),
                          {.relation = *RelationByName("random", 64, 64, 3)}, {.frame_bytes = 200},
                          [this] { return cancel_.load(); });
    });
    WaitUntil(*fabric_, [](const Snapshot& s) { return s.conservation.delivered > 400; });
    EXPECT_GT(BuffersInUse(*fabric_), before_ + 1000);
  }
  void TearDown() override {
    speed_.slow = false;
    if (caller_.joinable()) caller_.join();
    FreeFrames(low_);
    FreeFrames(high_);
  }
  absl::StatusCode Join() {
    caller_.join();
    return result_.status().code();
  }
  // Every frame has left by a port or is freed.
  void ExpectNothingIsLeft(DropReason reason) {
    const Snapshot s =
        WaitUntil(*fabric_, [](const Snapshot& now) { return now.conservation.in_flight == 0; });
    EXPECT_EQ(s.conservation.injected, 4096u);
    EXPECT_GT(DroppedBy(s, reason), 0u);
    EXPECT_EQ(DroppedBy(s, reason), 4096 - s.conservation.delivered);
    EXPECT_GT(low_.left() + high_.left(), 0u);
    EXPECT_EQ(BuffersInUse(*fabric_), before_ + low_.left() + high_.left());
  }

  // DPDK calls it before it destroys a pool.
  static void CountAtTheEnd(rte_mempool_event event, rte_mempool* pool, void* context) {
    auto& test = *static_cast<StepFramesInTheMiddle*>(context);
    if (event != RTE_MEMPOOL_EVENT_DESTROY || pool != test.pool_) return;
    FreeFrames(test.low_);
    FreeFrames(test.high_);
    test.at_the_end_ = rte_mempool_in_use_count(pool);
  }

  RingPort low_, high_;
  SlowInlet::Speed speed_, unused_;
  std::atomic<bool> cancel_{false};
  std::unique_ptr<LoadedFabric> fabric_;
  const rte_mempool* pool_ = nullptr;
  uint32_t before_ = 0;
  uint32_t at_the_end_ = UINT32_MAX;
  std::thread caller_;
  absl::StatusOr<StepRun> result_ = absl::InternalError("not run");
};

TEST_F(StepFramesInTheMiddle, ALinkThatFailsFreesTheFrames) {
  ASSERT_TRUE(fabric_->SetLinkUp({2, 5, 1}, false).ok());
  EXPECT_EQ(Join(), absl::StatusCode::kAborted);
  ExpectNothingIsLeft(DropReason::kLinkDown);
}

TEST_F(StepFramesInTheMiddle, ACallerThatCancelsFreesTheFrames) {
  cancel_ = true;
  EXPECT_EQ(Join(), absl::StatusCode::kCancelled);
  ExpectNothingIsLeft(DropReason::kUnloaded);
}

// The pool ends with the fabric, so its buffers are counted at that moment.
TEST_F(StepFramesInTheMiddle, UnloadingTheFabricFreesTheFrames) {
  ASSERT_EQ(rte_mempool_event_callback_register(CountAtTheEnd, this), 0);
  EXPECT_TRUE(fabric_->Unload().ok());
  rte_mempool_event_callback_unregister(CountAtTheEnd, this);
  EXPECT_EQ(Join(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(at_the_end_, before_);
  EXPECT_EQ(fabric_->summary().conservation.in_flight, 0u);
}

}  // namespace
}  // namespace bfly::dataplane

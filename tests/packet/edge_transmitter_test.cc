// SPDX-License-Identifier: Apache-2.0
// A device that stops for a while, like a peer that the kernel does not schedule: which frames wait
// for it, and how long.
#include <gtest/gtest.h>
#include <rte_cycles.h>

#include <memory>
#include <numeric>
#include <vector>

#include "dataplane/ports/ethdev.h"
#include "dataplane/ports/frame_pool.h"
#include "dataplane/ports/host_transmitter.h"
#include "tests/packet/frame_bytes.h"
#include "tests/packet/ring_peer.h"

namespace bfly::dataplane {
namespace {

constexpr double kAnHour = 3600;
constexpr double kAMillisecond = 1e-3;
// A worker in poll mode makes this many passes in a few milliseconds.
constexpr int kManyPasses = 100'000;
// A ring of 8 holds 7 frames.
constexpr unsigned kRing = 8;
constexpr unsigned kInRing = 7;

class PausedDeviceTest : public testing::Test {
 protected:
  void Build(double patience_seconds) {
    pool_.reset(
        rte_pktmbuf_pool_create("paused", 1023, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY));
    ASSERT_NE(pool_, nullptr);
    auto device = Ethdev::Open(
        {.field = "device", .device = peer_.device(), .pool = pool_.get(), .edge = {}});
    ASSERT_TRUE(device.ok()) << device.status();
    device_ = *std::move(device);
    gate_.Open(device_->id());
    transmitter_ = std::make_unique<HostTransmitter>(&gate_, 0, nullptr, patience_seconds);
  }

  void Push(int first, int count) {
    for (int i = first; i < first + count; ++i) {
      rte_mbuf* frame = rte_pktmbuf_alloc(pool_.get());
      ASSERT_NE(frame, nullptr);
      const Bytes bytes = Number(static_cast<uint64_t>(i), 1) + Zeros(59);
      std::copy(bytes.begin(), bytes.end(), rte_pktmbuf_append(frame, 60));
      Descriptor packet{};
      packet.mbuf = frame;
      packet.bytes = 60;
      transmitter_->Push(
          &packet, 1, [](Row) { return true; }, ledger_);
    }
  }
  // The numbers of the frames that the device got since the last call.
  std::vector<int> Taken() {
    std::vector<int> numbers;
    for (const Bytes& frame : peer_.Take()) numbers.push_back(frame[0]);
    return numbers;
  }
  void Flush(int passes) {
    for (int i = 0; i < passes; ++i) transmitter_->Flush(ledger_);
  }
  uint64_t dropped() const { return ledger_.dropped[static_cast<int>(DropReason::kPortFull)]; }

  FramePool pool_;
  RingPeer peer_{"paused", kRing};
  std::unique_ptr<Ethdev> device_;
  DeviceGate gate_;
  std::unique_ptr<HostTransmitter> transmitter_;
  Ledger ledger_;
};

TEST_F(PausedDeviceTest, LosesNothingWithinThePatienceHoweverManyPassesAreMade) {
  ASSERT_NO_FATAL_FAILURE(Build(kAnHour));
  Push(0, 100);
  Flush(kManyPasses);
  EXPECT_EQ(dropped(), 0u);
  EXPECT_EQ(ledger_.delivered, kInRing);
  EXPECT_EQ(transmitter_->held(), 100 - kInRing);

  std::vector<int> arrived;
  for (int i = 0; i < 100 && arrived.size() < 100; ++i) {
    for (int number : Taken()) arrived.push_back(number);
    Flush(1);
  }
  std::vector<int> sent(100);
  std::iota(sent.begin(), sent.end(), 0);
  EXPECT_EQ(arrived, sent);
  EXPECT_EQ(ledger_.delivered, 100u);
  EXPECT_EQ(transmitter_->held(), 0u);
}

TEST_F(PausedDeviceTest, BeyondThePatienceItsFramesAreDroppedAndCounted) {
  ASSERT_NO_FATAL_FAILURE(Build(kAMillisecond));
  Push(0, 100);
  Flush(1);
  rte_delay_us_sleep(2000);
  Flush(1);
  EXPECT_EQ(dropped(), 100 - kInRing);
  EXPECT_EQ(transmitter_->held(), 0u);
  EXPECT_EQ(transmitter_->counters().drops[static_cast<int>(DropReason::kPortFull)], 100 - kInRing);

  // Later frames do not wait again.
  Push(100, 10);
  Flush(1);
  EXPECT_EQ(dropped(), 100 - kInRing + 10);

  // Once it takes frames again, it has the full patience again.
  EXPECT_EQ(Taken().size(), kInRing);
  Push(200, 3);
  Flush(1);
  EXPECT_EQ(Taken(), (std::vector<int>{200, 201, 202}));
  EXPECT_EQ(ledger_.delivered, kInRing + 3);
  EXPECT_EQ(dropped() + ledger_.delivered, 113u);
}

TEST_F(PausedDeviceTest, AFrameThatWaitsWhenThePortIsRemovedIsDroppedForThatReason) {
  ASSERT_NO_FATAL_FAILURE(Build(kAnHour));
  Push(0, 100);
  Flush(1);
  transmitter_->Leave(ledger_);
  EXPECT_EQ(ledger_.delivered, kInRing);
  EXPECT_EQ(ledger_.dropped[static_cast<int>(DropReason::kPortRemoved)], 100 - kInRing);
  EXPECT_EQ(transmitter_->held(), 0u);
}

}  // namespace
}  // namespace bfly::dataplane

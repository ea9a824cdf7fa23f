// SPDX-License-Identifier: Apache-2.0
// The load of the port bench: its kinds of ports, and when it was the bottleneck.
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "dataplane/bench/bench_frames.h"
#include "dataplane/bench/bench_processes.h"
#include "dataplane/bench/load_port.h"
#include "dataplane/bench/port_bench.h"
#include "dataplane/bench/xdp_load.h"

namespace bfly::dataplane {
namespace {

using Maker = absl::StatusOr<std::unique_ptr<LoadPort>> (*)(const Frames&);

std::unique_ptr<LoadPort> Make(Maker maker, const Frames& frames) {
  auto port = maker(frames);
  EXPECT_TRUE(port.ok()) << port.status();
  return *std::move(port);
}

Frames SomeFrames() { return FramesBetween(ConsecutiveRows(0, 4), ConsecutiveRows(4, 4), 64); }

class PortLoad : public testing::TestWithParam<Maker> {};

TEST_P(PortLoad, OffersAgainWhatTheDeviceTookAndSaysWhatWasLeft) {
  const auto port = Make(GetParam(), SomeFrames());
  EXPECT_EQ(port->TakeAsDevice(1), 0u);  // nothing is offered yet
  EXPECT_EQ(port->Offer().moved, 0u);
  EXPECT_EQ(port->TakeAsDevice(100), 100u);
  const LoadLook some = port->Offer();
  EXPECT_EQ(some.moved, 100u);
  EXPECT_EQ(some.left, kLoadRing - 100);
  EXPECT_EQ(port->TakeAsDevice(2 * kLoadRing), kLoadRing);
  const LoadLook all = port->Offer();
  EXPECT_EQ(all.moved, kLoadRing);
  EXPECT_EQ(all.left, 0u);
  // The positions have 16 bits and come round.
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(port->TakeAsDevice(999), 999u);
    EXPECT_EQ(port->Offer().moved, 999u);
  }
}

TEST_P(PortLoad, GivesTheDeviceItsPlacesBackAndSaysHowManyItHadLeft) {
  const auto port = Make(GetParam(), SomeFrames());
  EXPECT_EQ(port->SendAsDevice(1), 0u);  // there is no place yet
  EXPECT_EQ(port->Collect().moved, 0u);
  EXPECT_EQ(port->SendAsDevice(2 * kLoadRing), kLoadRing);
  EXPECT_EQ(port->SendAsDevice(1), 0u);
  const LoadLook full = port->Collect();
  EXPECT_EQ(full.moved, kLoadRing);
  EXPECT_EQ(full.left, 0u);
  EXPECT_EQ(port->SendAsDevice(7), 7u);
  EXPECT_EQ(port->Collect().left, kLoadRing - 7);
}

INSTANTIATE_TEST_SUITE_P(Kinds, PortLoad, testing::Values(MakeMemifLoad, MakeVhostLoad));

// A memif server writes the frames into the client's buffers, which hold the client's own frames
// until then.
TEST(PortLoadFrames, CountsThoseThatAreForNoRow) {
  const auto rows = Make(MakeMemifLoad, SomeFrames());
  const auto strangers = Make(MakeMemifLoad, Frames(1, std::vector<uint8_t>(64, 0x02)));
  for (const auto& port : {rows.get(), strangers.get()}) {
    port->Collect();
    port->SendAsDevice(10);
    port->Collect();
  }
  EXPECT_EQ(rows->strange(), 0u);
  EXPECT_EQ(strangers->strange(), 10u);
}

TEST(PortLoadConnect, NamesTheSocketWhereNobodyListens) {
  const auto port = Make(MakeVhostLoad, SomeFrames());
  const absl::Status status = port->Connect("/nowhere/vhost0.sock", 0.02);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(std::string(status.message()).find("/nowhere/vhost0.sock"), std::string::npos);
}

// Ten thousand frames are offered in 4 ms. The entrance of the device holds at least 512.
TEST(XdpLoad, KnowsThatFramesWaitedByLossAndShortPauses) {
  const XdpLook look = {
      .seconds = 0.004, .offered = 10'000, .returned = 2'000, .longest_pause = 0.0005};
  EXPECT_TRUE(FramesWaited(look));  // 250 frames came back in as long as the longest pause
  XdpLook other = look;
  other.longest_pause = 0.00052;  // 260 frames
  EXPECT_FALSE(FramesWaited(other));
  other = {.seconds = 0.004, .offered = 10'000, .returned = 8'400, .longest_pause = 0};
  EXPECT_FALSE(FramesWaited(other));  // a device that is little faster would lose nothing
  other = {.seconds = 0.004, .offered = 2'000, .returned = 0, .longest_pause = 0};
  EXPECT_FALSE(FramesWaited(other));
}

// Frames cross one pair of interfaces, where no device loses or sends any.
TEST(XdpLoad, CountsFramesThatArriveAndThoseThatAreForNoRow) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can make a network namespace";
  const BenchDirectory directory;
  for (const bool strangers : {false, true}) {
    ASSERT_TRUE(MakeVethPairs(directory.path()).ok());
    const auto ends =
        MakeXdpLoad(strangers ? Frames(1, std::vector<uint8_t>(64, 0x02)) : SomeFrames(), true);
    ASSERT_TRUE(ends.ok()) << ends.status();
    ASSERT_TRUE(ends->in->Connect("", 1).ok());
    const auto collect = [&ends] {
      while (true) {  // meson ends the test
        if (const uint32_t moved = ends->out->Collect().moved; moved > 0) return moved;
        PauseFor(0.001);
      }
    };
    EXPECT_EQ(collect(), 1u);  // one frame, by which it tries the kernel
    EXPECT_EQ(ends->out->strange(), strangers ? 1u : 0u);
    uint64_t arrived = 1, before = 1;
    while (before < 10'000) {
      ends->in->Offer();
      before = arrived;
      arrived += collect();
    }
    // While the load looks, frames go on to arrive.
    EXPECT_LE(ends->out->strange(), strangers ? arrived : 0u);
    EXPECT_GE(ends->out->strange(), strangers ? before - 1 : 0u);
  }
}

PortBenchRow RowOf(double fed, double drained) {
  const auto always = [](double value) { return RunStatistics{value, value, value}; };
  PortBenchRow row;
  row.pps = always(10e6);
  row.fed = always(fed);
  row.drained = always(drained);
  row.on_cpu = always(0.8);
  return row;
}

TEST(PortBottleneck, IsTheDeviceOnlyIfItWasFedAndDrainedHadItsCpuAndTheLoadAloneIsFaster) {
  EXPECT_TRUE(CheckBottleneck(RowOf(0.95, 0.95), 12e6).ok());
  const auto why = [](const PortBenchRow& row, double alone) {
    const absl::Status status = CheckBottleneck(row, alone);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    return std::string(status.message());
  };
  EXPECT_NE(why(RowOf(0.94, 1), 50e6).find("waited for the device for 94 %"), std::string::npos);
  EXPECT_NE(why(RowOf(1, 0.94), 50e6).find("had room to send for 94 %"), std::string::npos);
  // A share just below the bound is not told as the bound.
  EXPECT_NE(why(RowOf(0.94996, 1), 50e6).find("for 94.99 % of the time, and 95 % are needed"),
            std::string::npos);
  EXPECT_NE(why(RowOf(1, 0.94996), 50e6).find("for 94.99 % of the time, and 95 % are needed"),
            std::string::npos);
  PortBenchRow robbed = RowOf(1, 1);
  robbed.on_cpu.median = 0.79;
  EXPECT_NE(why(robbed, 50e6).find("had its CPU for 79 %"), std::string::npos);
  EXPECT_NE(why(RowOf(1, 1), 11.9e6).find("alone it moved 11.9 M"), std::string::npos);
}

}  // namespace
}  // namespace bfly::dataplane

// SPDX-License-Identifier: Apache-2.0
// Packets of step programs with frames: which frames leave where, what they say, and that every
// buffer comes back.
#include <gmock/gmock.h>

#include <atomic>
#include <set>
#include <thread>

#include "tests/packet/step_frames_fixture.h"

namespace bfly::dataplane {
namespace {

using testing::HasSubstr;

// The frame of a packet on a butterfly of 8 rows, whose tag is the output row.
Bytes FrameOf(Row input, Row output, uint32_t number, size_t bytes) {
  return Ethernet(RowAddress(output), RowAddress(input), 0x88b5,
                  Hex("01 01 20 01") + Number(input, 4) +
                      Number(uint64_t{output} << 61 | uint64_t{1} << 60, 8) + Number(number, 4) +
                      Hex("00 00") + Number(bytes - 46, 2) + Zeros(8) + Zeros(bytes - 46));
}

Row InputOf(const Relation& relation, uint32_t packet) {
  Row input = 0;
  while (relation.first[input + 1] <= packet) ++input;
  return input;
}

// Hosts at the rows 1 and 6 of 8.
class StepFramesOf : public testing::TestWithParam<int> {
 protected:
  FabricConfig Config() const {
    FabricConfig config = GetParam() == 1 ? Halves(NetworkKind::kButterfly, 8)
                                          : OneWorker(NetworkKind::kButterfly, 8);
    config.ports = {one_.Config({1}), six_.Config({6})};
    if (GetParam() == 2) {
      for (HostPortConfig& port : config.ports) port.lcores = {UsableCpus()[OtherCpu()]};
    }
    return config;
  }
  RingPort one_, six_;
};

TEST_P(StepFramesOf, LeaveByThePortOfTheirOutputAndNameTheirPacket) {
  const auto fabric = MustLoadWith(Config());
  ASSERT_NE(fabric, nullptr);
  const uint32_t in_use = BuffersInUse(*fabric);
  const Relation relation = *RelationByName("random", 8, 5, 7);
  std::set<uint32_t> expected[2];
  for (uint32_t packet = 0; packet < 40; ++packet) {
    if (relation.destinations[packet] == 1) expected[0].insert(packet);
    if (relation.destinations[packet] == 6) expected[1].insert(packet);
  }
  for (const uint32_t bytes : {64u, 100u, 1518u}) {
    const Snapshot before = fabric->snapshot();
    const auto run = RunWithFrames(*fabric, {.relation = relation}, bytes);
    ASSERT_TRUE(run.ok()) << run.status();
    const Snapshot s =
        WaitUntil(*fabric, [](const Snapshot& now) { return now.conservation.in_flight == 0; });
    EXPECT_EQ(s.conservation.injected - before.conservation.injected, 40u);
    EXPECT_EQ(s.conservation.delivered - before.conservation.delivered, 40u);
    EXPECT_EQ(s.conservation.dropped, 0u);
    for (size_t link = 0; link < s.links.size(); ++link) {
      EXPECT_EQ(s.links[link].bytes - before.links[link].bytes,
                bytes * (s.links[link].packets - before.links[link].packets));
    }
    ASSERT_TRUE(run->frames.has_value());
    EXPECT_EQ(run->frames->made, 40u);
    EXPECT_EQ(run->frames->without_buffer, 0u);
    EXPECT_EQ(run->frames->to_ports, 10u);
    EXPECT_EQ(run->frames->to_sinks, 30u);
    for (int port = 0; port < 2; ++port) {
      std::set<uint32_t> left = expected[port];
      while (true) {
        const Bytes frame = TakeFrame(port == 0 ? one_ : six_);
        if (frame.empty()) break;
        const uint32_t number = uint32_t{frame[30]} << 24 | uint32_t{frame[31]} << 16 |
                                uint32_t{frame[32]} << 8 | frame[33];
        ASSERT_EQ(left.erase(number), 1u) << number << " at port " << port;
        EXPECT_EQ(frame, FrameOf(InputOf(relation, number), port == 0 ? 1 : 6, number, bytes));
      }
      EXPECT_TRUE(left.empty());
    }
    EXPECT_EQ(BuffersInUse(*fabric), in_use);
  }
}

// One worker; two, with the ports of their rows; and one with ports that another worker polls.
INSTANTIATE_TEST_SUITE_P(Workers, StepFramesOf, testing::Values(0, 1, 2));

TEST(StepFramesEnd, PacketsWithoutFramesLeaveByNoPort) {
  RingPort port;
  FabricConfig config = OneWorker(NetworkKind::kButterfly, 8);
  config.ports = {port.Config(AllRows(8))};
  const auto fabric = MustLoadWith(config);
  ASSERT_NE(fabric, nullptr);
  const auto run = RunWithFrames(*fabric, {.relation = *RelationByName("random", 8, 5, 7)}, 0);
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_FALSE(run->frames.has_value());
  EXPECT_EQ(fabric->summary().conservation.delivered, 40u);
  EXPECT_EQ(port.left(), 0u);
}

// Where rows are read from IPv4 addresses, the fabric does not know the MAC addresses of hosts.
TEST(StepFramesEnd, FramesAreForEverybodyWhereHostsAreKnownByIpv4Address) {
  RingPort port;
  FabricConfig config = OneWorker(NetworkKind::kButterfly, 8);
  config.addressing = {
      .mode = AddressingMode::kIpv4Prefix, .ipv4_base = Ip(10, 77, 0, 16), .ipv4_prefix_len = 28};
  config.ports = {port.Config({3})};
  const auto fabric = MustLoadWith(config);
  ASSERT_NE(fabric, nullptr);
  const auto run = RunWithFrames(*fabric, {.relation = *RelationByName("identity", 8, 1, 7)}, 64);
  ASSERT_TRUE(run.ok()) << run.status();
  WaitUntil(*fabric, [](const Snapshot& now) { return now.conservation.delivered == 8; });
  const Bytes frame = TakeFrame(port);
  ASSERT_EQ(frame.size(), 64u);
  EXPECT_EQ(Bytes(frame.begin(), frame.begin() + 12), kBroadcast + RowAddress(3));
}

// Those that never begin have no frame.
TEST(StepFramesEnd, PacketsThatHaveNotArrivedLoseTheirFrames) {
  RingPort port;
  FabricConfig config = Halves(NetworkKind::kButterfly, 8);
  config.ports = {port.Config(AllRows(8))};
  const auto fabric = MustLoadWith(config);
  ASSERT_NE(fabric, nullptr);
  const uint32_t in_use = BuffersInUse(*fabric);
  const RouteRequest request{
      .relation = *RelationByName("identity", 8, 1, 7), .max_steps = 3, .waves = 4};
  const auto run = RunWithFrames(*fabric, request, 64, "waves");
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_FALSE(run->report.finished);
  ASSERT_TRUE(run->frames.has_value());
  // A wave has two packets of the eight, and needs more than three steps for its three hops.
  EXPECT_EQ(run->frames->made, 2u);
  EXPECT_EQ(run->frames->to_ports, 0u);
  EXPECT_EQ(fabric->summary().conservation.in_flight, 0u);
  EXPECT_EQ(DroppedBy(fabric->summary(), DropReason::kUnloaded), 2u);
  EXPECT_EQ(BuffersInUse(*fabric), in_use);
}

// The host takes a frame in every eighth pass, which is slower than frames arrive at its row, and
// its ring and the buffer of the port hold half of them.
TEST(StepFramesEnd, NoFrameIsLostAtAPortThatIsSlow) {
  class SlowHost final : public Inlet {
   public:
    explicit SlowHost(RingPort& port) : port_(port) {}
    int Receive(Descriptor*, int, Ledger&) override {
      if (++passes_ % 8 != 0) return 0;
      if (rte_mbuf* const frame = port_.Receive(); frame != nullptr) {
        rte_pktmbuf_free(frame);
        ++received;
      }
      return 0;
    }
    std::atomic<uint64_t> received{0};

   private:
    RingPort& port_;
    uint64_t passes_ = 0;
  };
  RingPort port(1, 64);
  FabricConfig config = OneWorker(NetworkKind::kButterfly, 8);
  config.ports = {port.Config({3})};
  SlowHost* host = nullptr;
  const auto fabric = MustLoadWith(config, [&](const Network&, const RouteTable&, RowRange) {
    auto inlet = std::make_unique<SlowHost>(port);
    host = inlet.get();
    return inlet;
  });
  ASSERT_NE(fabric, nullptr);
  const uint32_t in_use = BuffersInUse(*fabric);
  absl::StatusOr<StepRun> run = absl::InternalError("not run");
  std::thread caller([&] { run = RunWithFrames(*fabric, {.relation = AllTo(3, 8, 150)}, 64); });
  // The account balances all the while.
  WaitForDeliveries(*fabric, 1200);
  caller.join();
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->frames->to_ports, 1200u);
  const Snapshot s = WaitUntil(
      *fabric, [&](const Snapshot& now) { return host->received == now.conservation.delivered; });
  EXPECT_EQ(DroppedBy(s, DropReason::kPortFull), 0u);
  EXPECT_EQ(s.conservation.delivered, 1200u);
  EXPECT_EQ(BuffersInUse(*fabric), in_use);
}

TEST(StepFramesEnd, APortThatTakesNothingDropsFramesAndTheRunEnds) {
  RingPort port(1, 64);
  FabricConfig config = OneWorker(NetworkKind::kButterfly, 8);
  config.ports = {port.Config({3})};
  const auto fabric = MustLoadWith(config);
  ASSERT_NE(fabric, nullptr);
  const uint32_t in_use = BuffersInUse(*fabric);
  const auto run = RunWithFrames(*fabric, {.relation = AllTo(3, 8, 100)}, 64);
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->frames->to_ports, 800u);
  const Snapshot s =
      WaitUntil(*fabric, [](const Snapshot& now) { return now.conservation.in_flight == 0; });
  EXPECT_EQ(s.conservation.delivered, 63u);  // a ring of 64 slots holds 63
  EXPECT_EQ(DroppedBy(s, DropReason::kPortFull), 800u - 63);
  EXPECT_EQ(BuffersInUse(*fabric), in_use + 63);
  FreeFrames(port);
}

TEST(StepFramesEnd, FramesThatWaitForAPortAreFreedWhenTheCallerCancels) {
  RingPort port(1, 64);
  FabricConfig config = OneWorker(NetworkKind::kButterfly, 8);
  config.ports = {port.Config({3})};
  // Keeps the worker in a pass from the moment when the port is full until the run is given up.
  class Keeper final : public Inlet {
   public:
    explicit Keeper(const RingPort& port) : port_(port) {}
    int Receive(Descriptor*, int, Ledger&) override {
      const StageCrew* const crew = of.load();
      if (crew == nullptr || port_.left() < 63) return 0;
      full = true;
      while (crew->cause() == StepEndCause::kNone) std::this_thread::yield();
      return 0;
    }
    std::atomic<const StageCrew*> of{nullptr};
    std::atomic<bool> full{false};

   private:
    const RingPort& port_;
  };
  Keeper* keeper = nullptr;
  const auto fabric = MustLoadWith(config, [&](const Network&, const RouteTable&, RowRange) {
    auto inlet = std::make_unique<Keeper>(port);
    keeper = inlet.get();
    return inlet;
  });
  ASSERT_NE(fabric, nullptr);
  const uint32_t in_use = BuffersInUse(*fabric);
  keeper->of = &CrewOf(*fabric);
  const auto run =
      (*fabric->step_programs())
          ->Run("store_and_forward", FaultSet(fabric->network()), {.relation = AllTo(3, 8, 400)},
                {.frame_bytes = 64}, [&] { return keeper->full.load(); });
  EXPECT_EQ(run.status().code(), absl::StatusCode::kCancelled);
  const Snapshot s =
      WaitUntil(*fabric, [](const Snapshot& now) { return now.conservation.in_flight == 0; });
  EXPECT_EQ(s.conservation.injected, 3200u);
  // A port has a buffer of 512 frames. The others waited before it, or were on their way.
  EXPECT_GE(DroppedBy(s, DropReason::kUnloaded), 3200u - 63 - 512);
  EXPECT_EQ(BuffersInUse(*fabric), in_use + 63);
  FreeFrames(port);
}

// Takes all buffers but ten while a program runs, and gives them back when `crew` is null.
class HungryInlet final : public Inlet {
 public:
  struct Hunger {
    std::atomic<StageCrew*> crew{nullptr};
    rte_mempool* pool = nullptr;  // written before `crew`
  };
  explicit HungryInlet(Hunger& hunger) : hunger_(hunger) {}
  int Receive(Descriptor*, int, Ledger&) override {
    StageCrew* const crew = hunger_.crew.load();
    if (crew == nullptr) return Free(taken_.size());
    if (!crew->running() || !taken_.empty()) return 0;
    while (rte_mbuf* const buffer = rte_pktmbuf_alloc(hunger_.pool)) taken_.push_back(buffer);
    return Free(10);
  }

 private:
  int Free(size_t buffers) {
    for (; buffers > 0; --buffers) {
      rte_pktmbuf_free(taken_.back());
      taken_.pop_back();
    }
    return 0;
  }

  Hunger& hunger_;
  std::vector<rte_mbuf*> taken_;
};

TEST(StepFramesEnd, PacketsForWhichNoBufferIsFreeGoOnWithoutAFrame) {
  RingPort port;
  FabricConfig config = OneWorker(NetworkKind::kButterfly, 8);
  config.ports = {port.Config({0, 1, 2, 3})};
  HungryInlet::Hunger hunger;
  const auto fabric = MustLoadWith(config, [&](const Network&, const RouteTable&, RowRange) {
    return std::make_unique<HungryInlet>(hunger);
  });
  ASSERT_NE(fabric, nullptr);
  const uint32_t in_use = BuffersInUse(*fabric);
  hunger.pool = const_cast<rte_mempool*>(fabric->frame_pool());
  hunger.crew = &CrewOf(*fabric);
  const auto run = RunWithFrames(*fabric, {.relation = *RelationByName("random", 8, 4, 7)}, 64);
  hunger.crew = nullptr;
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_TRUE(run->report.finished);
  EXPECT_EQ(run->frames->made, 10u);
  EXPECT_EQ(run->frames->without_buffer, 22u);
  EXPECT_EQ(run->frames->to_ports + run->frames->to_sinks, 10u);
  const Snapshot s = WaitUntil(*fabric, [&](const Snapshot& now) {
    return now.conservation.delivered == 32 && BuffersInUse(*fabric) == in_use + port.left();
  });
  EXPECT_EQ(s.conservation.dropped, 0u);
  EXPECT_EQ(port.left(), run->frames->to_ports);
  FreeFrames(port);
}

TEST(StepFramesEnd, WrongSizesAndTooManyPacketsAreRefusedBeforeTheFirstStep) {
  RingPort port;
  FabricConfig config = OneWorker(NetworkKind::kButterfly, 8);
  config.max_frame_bytes = 1000;
  config.mbufs = 511;
  config.ports = {port.Config({3})};
  const auto fabric = MustLoadWith(config);
  ASSERT_NE(fabric, nullptr);
  const Relation few = AllTo(3, 8, 1);
  for (const uint32_t bytes : {1u, 63u, 1001u, 65535u}) {
    const absl::Status status = RunWithFrames(*fabric, {.relation = few}, bytes).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(absl::StrCat("frame_bytes: ", bytes, " is outside 64..1000")));
  }
  // 255 of 511 buffers; 32 packets an input are 256.
  const absl::Status many = RunWithFrames(*fabric, {.relation = AllTo(3, 8, 32)}, 64).status();
  EXPECT_EQ(many.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(many.message()),
              HasSubstr("frame_bytes: 256 packets may need as many buffers at once, "));
  EXPECT_THAT(std::string(many.message()),
              HasSubstr("half of the 511 buffers that are free, 255; the rest is for data"));
  EXPECT_EQ(fabric->summary().conservation.injected, 0u);
  EXPECT_TRUE(RunWithFrames(*fabric, {.relation = AllTo(3, 8, 31)}, 1000).ok());
  FreeFrames(port);
}

TEST(StepFramesEnd, AFabricWithoutPortsHasNoFrames) {
  const Relation few = AllTo(3, 8, 1);
  const auto bare = MustLoadWith(OneWorker(NetworkKind::kButterfly, 8));
  ASSERT_NE(bare, nullptr);
  const absl::Status no_port = RunWithFrames(*bare, {.relation = few}, 64).status();
  EXPECT_EQ(no_port.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(no_port.message()), HasSubstr("the fabric has no host port"));
  EXPECT_TRUE(RunWithFrames(*bare, {.relation = few}, 0).ok());
}

}  // namespace
}  // namespace bfly::dataplane

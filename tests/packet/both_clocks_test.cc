// SPDX-License-Identifier: Apache-2.0
// The same packets at one link under both clocks: every discipline against a plain simulation and
// against closed forms. One tick is a nanosecond here.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "dataplane/stages/stage.h"
#include "dataplane/stages/timed_links.h"
#include "dataplane/virtual_clock/servers.h"
#include "tests/packet/link_reference.h"

namespace bfly::dataplane {
namespace {

constexpr uint64_t kRate = 1'000'000;               // bits a second
constexpr uint64_t kTicksPerByte = 8000;            // at that rate
constexpr int kBytes = 125;                         // of every packet under the virtual clock
constexpr Ticks kSending = kBytes * kTicksPerByte;  // of such a packet

// When each packet leaves, in the order of `packets`.
using Departures = std::vector<uint64_t>;

Departures OnTheWallClock(Discipline discipline, const std::vector<ReferencePacket>& packets) {
  PacketStore store(size_t{64} << 20);
  LinkCold cold[2];
  const ShapeTable table(
      {.base = {.bits_per_second = kRate, .discipline = discipline}, .rules = {}}, 0, 1, 2, 1e9);
  TimedLinks links(2, 0, &store, cold, 1);
  Ledger ledger;
  links.SetTable(&table, 0);
  Departures left(packets.size());
  const auto release = [&](uint64_t now) {
    Descriptor out[5];
    while (const int count = links.Release(now, out, 5, ledger)) {
      for (int i = 0; i < count; ++i) left[out[i].row] = out[i].arrival;
    }
  };
  for (uint32_t i = 0; i < packets.size(); ++i) {
    const auto arrival = static_cast<uint64_t>(packets[i].arrival);
    // The worker looks at some of the moments.
    if (i % 3 == 0) release(arrival);
    links.Enter({.tag = kWireTagDone,
                 .mbuf = nullptr,
                 .time = arrival,
                 .priority = static_cast<uint64_t>(packets[i].priority) & 7,
                 .row = i,
                 .bytes = static_cast<uint16_t>(packets[i].bytes),
                 .input = 0},
                0, ledger);
  }
  release(UINT64_MAX / 2);
  EXPECT_EQ(links.held() + ledger.dropped_total(), 0u);
  return left;
}

template <typename Server>
Departures InWindows(const std::vector<ReferencePacket>& packets) {
  Server server(kSending);
  std::vector<Job> out;
  size_t next = 0;
  for (Ticks end = 7 * kSending; out.size() < packets.size(); end += 7 * kSending) {
    std::vector<Job> come;
    for (; next < packets.size() && packets[next].arrival < end; ++next) {
      const auto arrival = static_cast<Ticks>(packets[next].arrival);
      come.push_back({arrival, next, 0, 0, static_cast<uint32_t>(7 - packets[next].priority)});
    }
    server.Serve(come, end, out);
  }
  EXPECT_EQ(server.jobs(), 0u);
  Departures left(packets.size());
  for (const Job& job : out) left[job.birth] = job.time;
  return left;
}

Departures UnderTheVirtualClock(Discipline discipline,
                                const std::vector<ReferencePacket>& packets) {
  switch (discipline) {
    case Discipline::kFifo:
      return InWindows<FifoServer>(packets);
    case Discipline::kPriority:
      return InWindows<PriorityServer>(packets);
    case Discipline::kProcessorSharing:
      break;
  }
  return InWindows<SharingServer>(packets);
}

// Poisson arrivals of packets that take `kSending` in the mean, half of them of the higher class.
std::vector<ReferencePacket> Poisson(double load, size_t count, uint32_t seed,
                                     bool exponential_sizes = false) {
  std::mt19937_64 random(seed);
  std::exponential_distribution<double> gap(load / static_cast<double>(kSending));
  std::exponential_distribution<double> size(1. / 2000);
  std::vector<ReferencePacket> packets;
  double now = 0;
  for (size_t i = 0; i < count; ++i) {
    now += gap(random) * (exponential_sizes ? 2000. / kBytes : 1);
    const int bytes =
        exponential_sizes ? 1 + static_cast<int>(std::min(size(random), 65000.)) : kBytes;
    packets.push_back(
        {std::floor(static_cast<long double>(now)), bytes, static_cast<int>(random() % 2)});
  }
  return packets;
}

// In units of kSending.
double MeanDelay(const std::vector<ReferencePacket>& packets, const Departures& left,
                 int priority = -1) {
  double sum = 0, count = 0;
  for (size_t i = 0; i < packets.size(); ++i) {
    if (priority >= 0 && packets[i].priority != priority) continue;
    sum += static_cast<double>(left[i]) - static_cast<double>(packets[i].arrival);
    ++count;
  }
  return sum / count / static_cast<double>(kSending);
}

class BothClocks : public testing::TestWithParam<Discipline> {};

TEST_P(BothClocks, SendAsThePlainSimulationDoesAndNeverEarly) {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    const std::vector<ReferencePacket> packets = Poisson(.5 + .02 * seed, 400, seed);
    const std::vector<long double> expected =
        ReferenceDepartures(packets, GetParam(), static_cast<long double>(kTicksPerByte), 0);
    const Departures wall = OnTheWallClock(GetParam(), packets);
    const Departures virtual_clock = UnderTheVirtualClock(GetParam(), packets);
    ASSERT_EQ(wall, virtual_clock) << "seed " << seed;
    for (size_t i = 0; i < packets.size(); ++i) {
      // The simulation's own rounding is far below a thousandth of a tick.
      ASSERT_GE(static_cast<long double>(wall[i]), expected[i] - .001L) << seed << ' ' << i;
      ASSERT_LT(static_cast<long double>(wall[i]), expected[i] + 1.001L) << seed << ' ' << i;
    }
  }
}

TEST_P(BothClocks, HaveTheMeanDelayOfTheClosedForm) {
  // M/D/1. FIFO and priority: 1 + rho / (2 (1 - rho)) (Pollaczek and Khinchine); the class that
  // goes first waits rho / 2 / (1 - rho / 2), the other one rho / 2 / ((1 - rho / 2) (1 - rho))
  // (Cobham 1954). Processor sharing: 1 / (1 - rho), whatever the sizes.
  for (const double rho : {.3, .6, .8}) {
    const std::vector<ReferencePacket> packets = Poisson(rho, 400'000, 7);
    for (const Departures& left :
         {OnTheWallClock(GetParam(), packets), UnderTheVirtualClock(GetParam(), packets)}) {
      const double mean = MeanDelay(packets, left);
      if (GetParam() == Discipline::kProcessorSharing) {
        EXPECT_NEAR(mean, 1 / (1 - rho), .03 / (1 - rho)) << rho;
        continue;
      }
      const double wait = rho / 2 / (1 - rho);
      EXPECT_NEAR(mean, 1 + wait, .03 * (1 + wait)) << rho;
      if (GetParam() == Discipline::kFifo) continue;
      const double first = rho / 2 / (1 - rho / 2), other = first / (1 - rho);
      EXPECT_NEAR(MeanDelay(packets, left, 1), 1 + first, .02 * (1 + first)) << rho;
      EXPECT_NEAR(MeanDelay(packets, left, 0), 1 + other, .04 * (1 + other)) << rho;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Disciplines, BothClocks,
                         testing::Values(Discipline::kFifo, Discipline::kPriority,
                                         Discipline::kProcessorSharing));

TEST(ProcessorSharing, TakesAPacketOfAnySizeInProportion) {
  // M/M/1-PS: a packet that takes x alone takes x / (1 - rho) in the mean (Kleinrock 1967).
  const double rho = .6;
  const std::vector<ReferencePacket> packets = Poisson(rho, 400'000, 11, true);
  const Departures left = OnTheWallClock(Discipline::kProcessorSharing, packets);
  for (const auto& [least, most] :
       {std::pair(1, 1000), std::pair(1000, 3000), std::pair(3000, 65535)}) {
    double took = 0, alone = 0;
    for (size_t i = 0; i < packets.size(); ++i) {
      if (packets[i].bytes < least || packets[i].bytes >= most) continue;
      took += static_cast<double>(left[i]) - static_cast<double>(packets[i].arrival);
      alone += packets[i].bytes * static_cast<double>(kTicksPerByte);
    }
    EXPECT_NEAR(took / alone, 1 / (1 - rho), .04 / (1 - rho)) << least;
  }
}

// Under the virtual clock all that come in one tick take part in the choice, also in the tick in
// which the link becomes free. On the wall clock a tick is too short for that to matter, and the
// link takes what came before.
TEST(Priority, DiffersInPacketsOfOneTickAlone) {
  const auto half = static_cast<long double>(kSending / 2);
  const std::vector<ReferencePacket> together = {{0, kBytes, 0}, {0, kBytes, 1}};
  EXPECT_EQ(OnTheWallClock(Discipline::kPriority, together), (Departures{kSending, 2 * kSending}));
  EXPECT_EQ(UnderTheVirtualClock(Discipline::kPriority, together),
            (Departures{2 * kSending, kSending}));
  const std::vector<ReferencePacket> as_it_is_free = {
      {0, kBytes, 0}, {half, kBytes, 0}, {2 * half, kBytes, 1}};
  EXPECT_EQ(OnTheWallClock(Discipline::kPriority, as_it_is_free),
            (Departures{kSending, 2 * kSending, 3 * kSending}));
  EXPECT_EQ(UnderTheVirtualClock(Discipline::kPriority, as_it_is_free),
            (Departures{kSending, 3 * kSending, 2 * kSending}));
}

}  // namespace
}  // namespace bfly::dataplane

// SPDX-License-Identifier: Apache-2.0
// Processor sharing and priorities under the virtual clock against hand counts, closed forms and
// plain event-driven simulations.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "dataplane/virtual_clock/link_occupancy.h"
#include "dataplane/virtual_clock/server_network.h"
#include "dataplane/virtual_clock/servers.h"
#include "dataplane/virtual_clock/sharing_lane.h"
#include "dataplane/virtual_clock/virtual_fabric.h"
#include "topologies/random.h"
#include "topologies/tag.h"

namespace bfly::dataplane {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr Ticks kUnit = Ticks{1} << 32;

Network MakeNetwork(NetworkKind kind, uint32_t rows) {
  return *Network::Make({.kind = kind, .rows = rows});
}

Job At(double units, uint32_t priority = 0) {
  const auto time = static_cast<Ticks>(units * static_cast<double>(kUnit));
  return {time, time, 0, 0, priority};
}

template <typename Server>
std::vector<double> Departures(Server server, const std::vector<Job>& arrivals) {
  std::vector<Job> left;
  server.Serve(arrivals, 1000 * kUnit, left);
  std::vector<double> times;
  for (const Job& job : left) {
    times.push_back(static_cast<double>(job.time) / static_cast<double>(kUnit));
  }
  return times;
}

TEST(SharingServer, TwoPacketsAQuarterApartLeaveAtSevenQuartersAndTwo) {
  // Stamoulis & Tsitsiklis, section 3.2; FIFO: 1 and 2.
  EXPECT_THAT(Departures(SharingServer(kUnit), {At(0), At(.25)}), ElementsAre(1.75, 2));
}

TEST(SharingServer, ThreeAtOnceLeaveTogether) {
  EXPECT_THAT(Departures(SharingServer(kUnit), {At(5), At(5), At(5), At(20)}),
              ElementsAre(8, 8, 8, 21));
}

TEST(LinkOccupancy, CountsPacketsOverTheTimeItself) {
  // Two come at 0 and one at 1: they leave at 2.5, 2.5 and 3, after 7 units in all.
  const std::vector<Job> arrivals = {At(0), At(0), At(1)};
  std::vector<Job> left;
  SharingServer(kUnit).Serve(arrivals, 4 * kUnit, left);
  LinkOccupancy whole(1, 0, 4 * kUnit), late(1, kUnit, 2 * kUnit);
  whole.Add(0, arrivals, left);
  late.Add(0, arrivals, left);
  EXPECT_NEAR(whole.MeanPackets(), 7 / 4., 1e-6);
  EXPECT_NEAR(late.MeanPackets(), 3, 1e-6);
}

TEST(PriorityServer, TakesTheMostUrgentThatWaitsAndInterruptsNobody) {
  EXPECT_THAT(Departures(PriorityServer(kUnit), {At(0, 1), At(.1, 1), At(.2, 0), At(3, 1)}),
              ElementsAre(1, 2, 3, 4));
  std::vector<Job> left;
  PriorityServer(kUnit).Serve(std::vector<Job>{At(0, 2), At(.1, 2), At(.2, 1), At(1, 0)}, 9 * kUnit,
                              left);
  std::vector<uint32_t> order;
  for (const Job& job : left) order.push_back(job.priority);
  EXPECT_THAT(order, ElementsAre(2, 0, 1, 2));  // the one that came as the link became free is seen
}

// Poisson arrivals, as ticks.
std::vector<Job> RandomArrivals(uint64_t seed, int packets, int classes = 1, double rate = .9) {
  std::vector<Job> jobs;
  double now = 0;
  for (int i = 0; i < packets; ++i) {
    const PhiloxBlock block = RandomBlock(seed, RandomStream::kTest, i);
    now -= std::log((block[0] + .5) * 0x1p-32) / rate;
    jobs.push_back(At(now, block[1] % classes));
  }
  return jobs;
}

// The same server with the remaining work of every packet, all of which shrink at one rate.
struct SharedPlainly {
  std::vector<long double> departures;
  // For each packet: over the packets that came before it left, and since the link last had fewer
  // than two, the sum of how many they found.
  std::vector<double> found;
};
SharedPlainly SharePlainly(const std::vector<Job>& arrivals) {
  SharedPlainly plain{.departures = std::vector<long double>(arrivals.size()),
                      .found = std::vector<double>(arrivals.size())};
  double found = 0;
  std::map<size_t, long double> remaining;
  long double now = 0;
  const auto advance = [&](long double until) {
    while (!remaining.empty()) {
      const auto least =
          std::min_element(remaining.begin(), remaining.end(),
                           [](const auto& a, const auto& b) { return a.second < b.second; });
      const auto n = static_cast<long double>(remaining.size());
      const long double end = now + least->second * n;
      const long double step = (std::min(end, until) - now) / n;
      for (auto& [i, work] : remaining) work -= step;
      now = std::min(end, until);
      if (end > until) return;
      plain.departures[least->first] = now;
      plain.found[least->first] = found;
      remaining.erase(least);
    }
  };
  for (size_t i = 0; i < arrivals.size(); ++i) {
    advance(static_cast<long double>(arrivals[i].time));
    now = static_cast<long double>(arrivals[i].time);
    found = remaining.size() < 2 ? 0 : found + static_cast<double>(remaining.size());
    remaining[i] = kUnit;
  }
  advance(HUGE_VALL);
  return plain;
}

TEST(SharingServer, IsExactToATickAndNeverEarly) {
  const std::vector<Job> arrivals = RandomArrivals(3, 2000);
  const SharedPlainly plain = SharePlainly(arrivals);
  std::vector<Job> left;
  SharingServer(kUnit).Serve(arrivals, kNever, left);
  ASSERT_EQ(left.size(), arrivals.size());
  // Long double keeps the times to a thousandth of a tick.
  for (size_t i = 0; i < left.size(); ++i) {
    EXPECT_GE(left[i].time - plain.departures[i], -.001L) << i;
    EXPECT_LT(left[i].time - plain.departures[i], 1.001L) << i;
  }
}

// At a high load hundreds of packets are there at once, and the roundings of a run add up: an
// arrival that finds n packets may add n parts of a tick to the work that is left, and a packet is
// late by less than twice what has been added. With 2^12 parts a tick the sum is many ticks, with
// the 2^22 of a run it is not seen beside the rounding to a tick.
TEST(SharingServer, IsLateByTheSumOfItsRoundingsInARun) {
  const std::vector<Job> arrivals = RandomArrivals(3, 10000, 1, .99);
  const SharedPlainly plain = SharePlainly(arrivals);
  for (const int bits : {12, kSharedFractionBits}) {
    std::vector<Job> left;
    SharingServer(kUnit, bits).Serve(arrivals, kNever, left);
    ASSERT_EQ(left.size(), arrivals.size());
    const double one = std::exp2(-bits);
    double latest = 0;
    for (size_t i = 0; i < left.size(); ++i) {
      const auto late = static_cast<double>(left[i].time - plain.departures[i]);
      EXPECT_GE(late, -.1) << i;
      EXPECT_LT(late, 1.1 + 2 * one * plain.found[i]) << i;
      latest = std::max(latest, late);
    }
    if (bits == 12) {
      EXPECT_GT(latest, 10);
    } else {
      EXPECT_LT(latest, 1.1);
    }
  }
}

template <typename Server>
void ExpectWindowsDoNotMatter(const Server& server) {
  const std::vector<Job> arrivals = RandomArrivals(5, 2000, 2);
  std::vector<Job> whole, pieces;
  Server(server).Serve(arrivals, kNever, whole);
  Server windowed = server;
  size_t next = 0;
  for (Ticks end = kUnit / 3; pieces.size() < arrivals.size(); end += kUnit / 3) {
    std::vector<Job> now;
    while (next < arrivals.size() && arrivals[next].time < end) now.push_back(arrivals[next++]);
    windowed.Serve(now, end, pieces);
  }
  for (size_t i = 0; i < whole.size(); ++i) {
    ASSERT_EQ(whole[i].time, pieces[i].time) << i;
    ASSERT_EQ(whole[i].entered, pieces[i].entered) << i;
  }
}

TEST(Servers, GiveTheSameTimesForAnyWindows) {
  ExpectWindowsDoNotMatter(SharingServer(kUnit));
  ExpectWindowsDoNotMatter(PriorityServer(kUnit));
}

// A network whose links share their rate, one event after the other, in floating point: the work
// that remains of every packet everywhere is brought up to date at every event.
std::vector<double> PlainSharingNetwork(const Network& network, const std::vector<Job>& jobs) {
  struct Packet {
    double next = 0, work = 0;  // arrival at `row`, or work left on the link it is on
    Row row = 0;
    int hop = 0;
    int link = -1;
  };
  std::vector<Packet> packets(jobs.size());
  std::vector<double> done(jobs.size());
  for (size_t i = 0; i < jobs.size(); ++i) {
    packets[i].next = static_cast<double>(jobs[i].time) / static_cast<double>(kUnit);
    packets[i].row = static_cast<Row>(i % network.rows());
  }
  std::vector<int> on_link(network.link_count());
  double now = 0;
  for (size_t left = jobs.size(); left > 0;) {
    double soonest = HUGE_VAL;
    size_t who = 0;
    for (size_t i = 0; i < packets.size(); ++i) {
      const Packet& p = packets[i];
      if (p.hop == network.hops()) continue;
      const double event = p.link >= 0 ? now + p.work * on_link[p.link] : p.next;
      if (event < soonest) soonest = event, who = i;
    }
    for (Packet& p : packets) {
      if (p.link >= 0) p.work -= (soonest - now) / on_link[p.link];
    }
    now = soonest;
    Packet& p = packets[who];
    const int port = static_cast<int>(jobs[who].tag << p.hop >> 63);
    const Row to = network.next_row(p.hop, p.row, port);
    const bool free = network.straight_is_free() && to == p.row;
    if (p.link < 0 && !free) {
      p.link = static_cast<int>(network.link_index({p.hop, p.row, port}));
      p.work = 1;
      ++on_link[p.link];
      continue;
    }
    if (p.link >= 0) --on_link[p.link];
    p.link = -1;
    p.row = to;
    p.next = now;
    if (++p.hop == network.hops()) done[who] = now, --left;
  }
  return done;
}

TEST(ServerNetwork, SharesLinksAsAPlainSimulationDoes) {
  for (const NetworkKind kind : {NetworkKind::kButterfly, NetworkKind::kHypercube}) {
    const Network network = MakeNetwork(kind, 8);
    std::vector<std::vector<Job>> nodes(8);
    std::vector<Job> jobs = RandomArrivals(11, 400);
    for (size_t i = 0; i < jobs.size(); ++i) {
      jobs[i].time /= 6;  // about .8 a row and unit
      jobs[i].birth = i;
      const Row to = RandomBelow(12, RandomStream::kTest, i, 8);
      jobs[i].tag = ToWire(GreedyTag(network, i % 8, to), network.hops());
      nodes[i % 8].push_back(jobs[i]);
    }
    const std::vector<double> expected = PlainSharingNetwork(network, jobs);
    ServerNetwork<SharingServer> servers(network, LinkModel::kEdge, SharingServer(kUnit));
    servers.RunWindow(nodes, kNever,
                      [](int, size_t, std::span<const Job>, std::span<const Job>) {});
    size_t delivered = 0;
    for (const std::vector<Job>& list : nodes) {
      for (const Job& job : list) {
        ++delivered;
        EXPECT_NEAR(static_cast<double>(job.time) / static_cast<double>(kUnit), expected[job.birth],
                    1e-6);
      }
    }
    EXPECT_EQ(delivered, jobs.size());
    EXPECT_EQ(servers.jobs(), 0u);
  }
}

VirtualConfig Config(double rate, double duration) {
  VirtualConfig config;
  config.arrivals.rate = rate;
  config.arrivals.seed = 1;
  config.warmup = duration / 10;
  config.duration = duration;
  return config;
}

VirtualResult RunOn(const Network& network, const VirtualConfig& config) {
  auto result = RunVirtual(network, config);
  EXPECT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->injected, result->delivered + result->in_flight);
  EXPECT_EQ(result->unfinished, 0u);
  return *std::move(result);
}

TEST(Discipline, SharedLinksHaveTheDelaysOfTheProductForm) {
  // THEORY.md 1.6: T = d p / (1 - rho) on the cube; the right-hand side of Proposition 17 on the
  // butterfly, here p = 1/4, lambda = .8: 3 (.25 / .8 + .75 / .4) = 6.5625.
  VirtualConfig config = Config(2 * .6, 20000);
  config.discipline = Discipline::kProcessorSharing;
  config.occupancy = true;
  const VirtualResult cube = RunOn(MakeNetwork(NetworkKind::kHypercube, 8), config);
  EXPECT_NEAR(cube.mean_delay, 3 * .5 / .4, .05);
  EXPECT_TRUE(cube.straight_occupancy.empty());
  for (size_t n = 0; n < 6; ++n) {
    EXPECT_NEAR(cube.cross_occupancy[n], .4 * std::pow(.6, n), .004) << n;
  }
  config.arrivals.rate = .8;
  config.flip = .25;
  const VirtualResult fly = RunOn(MakeNetwork(NetworkKind::kButterfly, 8), config);
  EXPECT_NEAR(fly.mean_delay, 6.5625, .08);
  EXPECT_NEAR(fly.cross_occupancy[1], .8 * .2, .003);
  EXPECT_NEAR(fly.straight_occupancy[1], .4 * .6, .003);
}

TEST(Discipline, PrioritiesHaveTheWaitsOfCobham) {
  // One dimension, p = 1: M/D/1 with classes. W0 = rho / 2; the wait of class k is W0 / ((1 -
  // s_{k-1}) (1 - s_k)), s_k the load of classes 0..k (Cobham 1954).
  VirtualConfig config = Config(.8, 300000);
  config.flip = 1;
  config.discipline = Discipline::kPriority;
  config.class_shares = {.25, .25, .5};
  const VirtualResult r = RunOn(MakeNetwork(NetworkKind::kHypercube, 2), config);
  ASSERT_EQ(r.class_delay.size(), 3u);
  EXPECT_NEAR(r.class_delay[0], 1 + .4 / .8, .01);
  EXPECT_NEAR(r.class_delay[1], 1 + .4 / (.8 * .6), .02);
  EXPECT_NEAR(r.class_delay[2], 1 + .4 / (.6 * .2), .1);
  EXPECT_NEAR(r.mean_delay, 1 + .8 / (2 * .2), .05);  // no discipline changes the mean: M/D/1
}

TEST(Discipline, PlainFifoServersGiveTheBitsOfTheFastStages) {
  for (const NetworkKind kind :
       {NetworkKind::kButterfly, NetworkKind::kTwoFoldButterfly, NetworkKind::kHypercube}) {
    const Network network = MakeNetwork(kind, 128);
    VirtualConfig config = Config(1.5, 200);
    const VirtualResult fast = RunOn(network, config);
    config.stage_percentiles = true;
    const VirtualResult plain = RunOn(network, config);
    EXPECT_EQ(plain.mean_delay, fast.mean_delay);
    EXPECT_EQ(plain.p50, fast.p50);
    EXPECT_EQ(plain.p99, fast.p99);
    EXPECT_EQ(plain.max, fast.max);
    if (kind != NetworkKind::kHypercube) {  // where free links are counted by one of them only
      EXPECT_EQ(plain.link_packets, fast.link_packets);
    }
    EXPECT_EQ(plain.mean_population, fast.mean_population);
    EXPECT_EQ(plain.accepted, fast.accepted);
    double hops = 0;
    for (const StageDelay& stage : plain.stages) {
      hops += stage.mean * (kind == NetworkKind::kHypercube ? .5 : 1);
      EXPECT_LE(stage.p50, stage.p99);
    }
    EXPECT_NEAR(hops, plain.mean_delay, .01 * plain.mean_delay);
  }
}

TEST(Discipline, WindowsChangeNothing) {
  const Network network = MakeNetwork(NetworkKind::kButterfly, 32);
  for (const Discipline discipline : {Discipline::kProcessorSharing, Discipline::kPriority}) {
    VirtualConfig config = Config(1.6, 300);
    config.discipline = discipline;
    config.class_shares = {.5, .5};
    const VirtualResult one = RunOn(network, config);
    config.window = 1.75;
    const VirtualResult other = RunOn(network, config);
    EXPECT_EQ(one.mean_delay, other.mean_delay);
    EXPECT_EQ(one.max, other.max);
    EXPECT_EQ(one.class_delay, other.class_delay);
  }
}

TEST(Discipline, SwitchOutputsShareOneLink) {
  // Two inputs of one 2x2 switch to one output: together twice what its link carries, and half is
  // delivered. With a link for each edge both would be carried.
  VirtualConfig config = Config(.9, 3000);
  config.fixed = {0, 0};
  config.links = LinkModel::kSwitchOutput;
  const auto shared = RunVirtual(MakeNetwork(NetworkKind::kButterfly, 2), config);
  ASSERT_TRUE(shared.ok());
  EXPECT_NEAR(shared->accepted, .5, .01);
  config.links = LinkModel::kEdge;
  EXPECT_NEAR(RunOn(MakeNetwork(NetworkKind::kButterfly, 2), config).accepted, .9, .05);
}

TEST(Discipline, RefusesWhatCannotBeRun) {
  const Network cube = MakeNetwork(NetworkKind::kHypercube, 4);
  const auto message = [&](const VirtualConfig& c) {
    return std::string(RunVirtual(cube, c).status().message());
  };
  VirtualConfig config = Config(.5, 10);
  config.discipline = Discipline::kPriority;
  EXPECT_THAT(message(config), HasSubstr("class_shares: sum to 0"));
  config.class_shares = {.5, 1.5};
  EXPECT_THAT(message(config), HasSubstr("class_shares: 1.5"));
  config.class_shares = {.5, .5};
  config.first_stages = {0, 1};
  config.occupancy = true;
  EXPECT_THAT(message(config), HasSubstr("first_stages: this run has no placement of stages"));
  config = Config(.5, 10);
  config.links = LinkModel::kSwitchOutput;
  EXPECT_THAT(message(config), HasSubstr("links: a hypercube"));
}

}  // namespace
}  // namespace bfly::dataplane

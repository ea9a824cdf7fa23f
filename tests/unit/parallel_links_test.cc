// SPDX-License-Identifier: Apache-2.0
// Several ports a direction under the virtual clock, against a plain event-driven simulation and
// against queues with several servers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <queue>
#include <tuple>

#include "dataplane/virtual_clock/server_network.h"
#include "dataplane/virtual_clock/servers.h"
#include "dataplane/virtual_clock/virtual_fabric.h"
#include "topologies/random.h"
#include "topologies/tag.h"

namespace bfly::dataplane {
namespace {

using testing::HasSubstr;

constexpr Ticks kService = Ticks{1} << 32;

Network Dilated(uint32_t rows, int multiplicity, PortRule rule, uint64_t seed = 1) {
  return *Network::Make({.kind = NetworkKind::kDilatedButterfly,
                         .rows = rows,
                         .seed = seed,
                         .multiplicity = multiplicity,
                         .rule = rule});
}

// About `load` jobs a row and unit, to uniform rows; by row, births are their numbers.
std::vector<std::vector<Job>> Jobs(const Network& network, double load, size_t count) {
  std::vector<std::vector<Job>> nodes(network.rows());
  double now = 0;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t word = Random64(4, RandomStream::kTest, i);
    now -= std::log(static_cast<double>((word >> 32) + 1) / 4294967297.0) / (load * network.rows());
    const Row to = RandomBelow(5, RandomStream::kTest, i, network.rows());
    const Row from = static_cast<Row>(word % network.rows());
    nodes[from].push_back({static_cast<Ticks>(now * static_cast<double>(kService)), i,
                           ToWire(to, network.hops()), 0, 0});
  }
  return nodes;
}

// One event after the other over the whole network: at every node the links' departures say which
// of the direction's links the rule takes. By birth, when each job was done.
std::map<Ticks, Ticks> PlainNetwork(const Network& network,
                                    const std::vector<std::vector<Job>>& nodes, PortRule rule) {
  struct Event {
    Ticks time;
    int stage;
    Row row;
    Job job;
    uint64_t over = 0;  // the link it came over: of jobs of one moment the lowest is first
    bool operator>(const Event& other) const {
      return std::tie(time, over) > std::tie(other.time, other.over);
    }
  };
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
  for (Row row = 0; row < nodes.size(); ++row) {
    for (const Job& job : nodes[row]) events.push({job.time, 0, row, job, 0});
  }
  std::vector<std::vector<Ticks>> departures(network.link_count());
  std::map<uint64_t, uint64_t> turns;
  std::map<Ticks, Ticks> done;
  const int d = network.multiplicity();
  while (!events.empty()) {
    Event e = events.top();
    events.pop();
    if (e.stage == network.stages()) {
      done[e.job.birth] = e.time;
      continue;
    }
    const int direction = static_cast<int>(e.job.tag >> 63);
    const auto there = [&](int port) {
      const auto& link = departures[network.link_index({e.stage, e.row, port})];
      return std::count_if(link.begin(), link.end(), [&](Ticks at) { return at > e.time; });
    };
    const auto next_done = [&](int port) {
      const auto& link = departures[network.link_index({e.stage, e.row, port})];
      const auto at = std::find_if(link.begin(), link.end(), [&](Ticks t) { return t > e.time; });
      return at == link.end() ? 0 : *at;
    };
    int port = direction * d;
    const int first = port, last = port + d;
    if (rule == PortRule::kRoundRobin) {
      port += static_cast<int>(turns[network.link_index({e.stage, e.row, first})]++ % d);
    }
    for (int p = first; p < last && rule == PortRule::kFirstFree; ++p) {
      if (there(p) == 0) {
        port = p;
        break;
      }
    }
    for (int p = first; p < last && rule == PortRule::kLeastOccupied; ++p) {
      if (std::pair(there(p), next_done(p)) < std::pair(there(port), next_done(port))) port = p;
    }
    e.over = network.link_index({e.stage, e.row, port});
    std::vector<Ticks>& link = departures[e.over];
    link.push_back(std::max(e.time, link.empty() ? 0 : link.back()) + kService);
    e.row = network.next_row(e.stage, e.row, port);
    e.time = link.back();
    e.job.tag <<= 1;
    ++e.stage;
    events.push(e);
  }
  return done;
}

TEST(ParallelLinks, ArePickedAsInAPlainSimulation) {
  for (const PortRule rule :
       {PortRule::kFirstFree, PortRule::kRoundRobin, PortRule::kLeastOccupied}) {
    for (const int multiplicity : {2, 3}) {
      SCOPED_TRACE(testing::Message() << RuleName(rule) << " of " << multiplicity);
      const Network network = Dilated(8, multiplicity, rule);
      std::vector<std::vector<Job>> nodes = Jobs(network, 1.4 * multiplicity, 3000);
      const std::map<Ticks, Ticks> expected = PlainNetwork(network, nodes, rule);
      ServerNetwork<FifoServer> servers(network, LinkModel::kEdge, FifoServer(kService));
      std::map<Ticks, Ticks> found;
      servers.RunWindow(nodes, kNever,
                        [](int, size_t, std::span<const Job>, std::span<const Job>) {});
      for (const std::vector<Job>& row : nodes) {
        for (const Job& job : row) found[job.birth] = job.time;
      }
      EXPECT_EQ(servers.jobs(), 0u);
      EXPECT_EQ(found, expected);
    }
  }
}

// Taking the link with the least work left is serving one queue by all links together: the jobs of
// a direction leave as from a queue with `multiplicity` servers, first come, first served.
template <typename Server>
void ExpectOneQueue(const Server& server, int multiplicity) {
  const Network network = Dilated(2, multiplicity, PortRule::kLeastOccupied);
  std::vector<std::vector<Job>> nodes = Jobs(network, 1.9 * multiplicity, 4000);
  std::map<Ticks, Ticks> expected;
  for (const std::vector<Job>& row : nodes) {
    for (const uint64_t direction : {0, 1}) {
      std::vector<Ticks> free(static_cast<size_t>(multiplicity));
      for (const Job& job : row) {
        if (job.tag >> 63 != direction) continue;
        const auto soonest = std::min_element(free.begin(), free.end());
        *soonest = std::max(*soonest, job.time) + kService;
        expected[job.birth] = *soonest;
      }
    }
  }
  ServerNetwork<Server> servers(network, LinkModel::kEdge, server);
  servers.RunWindow(nodes, kNever, [](int, size_t, std::span<const Job>, std::span<const Job>) {});
  std::map<Ticks, Ticks> found;
  for (const std::vector<Job>& row : nodes) {
    for (const Job& job : row) found[job.birth] = job.time;
  }
  EXPECT_EQ(found, expected);
}

TEST(ParallelLinks, LeastOccupiedIsOneQueueWithSeveralServers) {
  for (const int multiplicity : {2, 3, 8}) {
    ExpectOneQueue(FifoServer(kService), multiplicity);
    ExpectOneQueue(PriorityServer(kService), multiplicity);
  }
}

VirtualConfig ConfigFor(double rate) {
  VirtualConfig config;
  config.arrivals.rate = rate;
  config.arrivals.seed = 3;
  config.warmup = 20;
  config.duration = 200;
  return config;
}

TEST(ParallelLinks, GiveTheSameResultForAnyWindow) {
  for (const PortRule rule : AllRules()) {
    for (const Discipline discipline :
         {Discipline::kFifo, Discipline::kProcessorSharing, Discipline::kPriority}) {
      const Network network = Dilated(16, 3, rule);
      VirtualConfig config = ConfigFor(3);
      config.discipline = discipline;
      if (discipline == Discipline::kPriority) config.class_shares = {.25, .75};
      config.window = 0.7;
      const VirtualResult a = RunVirtual(network, config).value();
      config.window = 9;
      const VirtualResult b = RunVirtual(network, config).value();
      EXPECT_EQ(a.injected, a.delivered + a.in_flight);
      EXPECT_EQ(a.unfinished, 0u);
      EXPECT_GT(a.measured, 9000u);
      EXPECT_EQ(a.mean_delay, b.mean_delay) << RuleName(rule);
      EXPECT_EQ(a.max, b.max);
      EXPECT_EQ(a.link_packets, b.link_packets);
    }
  }
}

// THEORY.md 1.6: the mean delay of M/D/c. One stage of two rows is four such queues, by uniform
// destinations each with half of what a row sends.
TEST(ParallelLinks, LeastOccupiedHasTheDelayOfMDc) {
  const std::map<std::pair<int, double>, double> table = {
      {{2, .5}, 1.17674}, {{2, .8}, 1.90328}, {{4, .8}, 1.38609}, {{8, .5}, 1.00932}};
  for (const auto& [at, delay] : table) {
    const auto& [c, rho] = at;
    VirtualConfig config = ConfigFor(2 * rho * c);
    config.warmup = 500;
    config.duration = 200'000.0 / c;
    const VirtualResult run = RunVirtual(Dilated(2, c, PortRule::kLeastOccupied), config).value();
    EXPECT_EQ(run.unfinished, 0u);
    EXPECT_NEAR(run.mean_delay, delay, 0.01 * delay) << c << " links, rho " << rho;
    // Where every packet takes the same time the link that is done first is the next in turn.
    EXPECT_EQ(RunVirtual(Dilated(2, c, PortRule::kRoundRobin), config)->mean_delay, run.mean_delay);
  }
}

TEST(ParallelLinks, RandomDependsOnTheSeed) {
  const VirtualConfig config = ConfigFor(3);
  const auto packets = [&](uint64_t seed) {
    return RunVirtual(Dilated(8, 2, PortRule::kRandom, seed), config)->link_packets;
  };
  EXPECT_EQ(packets(1), packets(1));
  EXPECT_NE(packets(1), packets(2));
}

// The general engine with one link a direction is the fast one on a butterfly.
TEST(ParallelLinks, OneADirectionIsTheButterfly) {
  const VirtualConfig config = ConfigFor(1.2);
  const Network plain = *Network::Make({.kind = NetworkKind::kButterfly, .rows = 16});
  const Network one = *Network::Make({.kind = NetworkKind::kDilatedButterfly, .rows = 16});
  EXPECT_EQ(RunVirtual(plain, config)->mean_delay, RunVirtual(one, config)->mean_delay);
}

TEST(ParallelLinks, NeitherShareSwitchOutputsNorArePlacedStageByStage) {
  const Network network = Dilated(8, 2, PortRule::kRoundRobin);
  VirtualConfig config = ConfigFor(1);
  config.links = LinkModel::kSwitchOutput;
  EXPECT_THAT(std::string(CheckVirtual(network, config).message()),
              HasSubstr("have one port a direction"));
  config.links = LinkModel::kEdge;
  config.first_stages = {0, 1};
  EXPECT_THAT(std::string(CheckVirtual(network, config).message()),
              HasSubstr("first_stages: this run has no placement of stages"));
}

}  // namespace
}  // namespace bfly::dataplane

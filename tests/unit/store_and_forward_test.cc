// SPDX-License-Identifier: Apache-2.0
// Greedy store-and-forward routing with little room (Leighton and Maggs 1992) against hand counts,
// lower bounds and the model written down word by word.
#include "dataplane/steps/store_and_forward.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <map>
#include <numeric>

#include "dataplane/steps/step_clock.h"
#include "dataplane/steps/store_and_forward_rule.h"
#include "topologies/fault_plan.h"
#include "topologies/faulty_switches.h"

namespace bfly::dataplane {
namespace {

using ::testing::HasSubstr;

Network Splitters(int d, int multiplicity, PortRule rule = PortRule::kFirstFree,
                  uint64_t seed = 1) {
  return *Network::Make({.kind = NetworkKind::kMultibutterfly,
                         .rows = uint32_t{1} << d,
                         .seed = seed,
                         .multiplicity = multiplicity,
                         .rule = rule,
                         .parallel_edges = ParallelEdges::kAvoid});
}
Network Plain(int d) {
  return *Network::Make({.kind = NetworkKind::kButterfly, .rows = uint32_t{1} << d});
}
Network Dilated(int d, int multiplicity) {
  return *Network::Make({.kind = NetworkKind::kDilatedButterfly,
                         .rows = uint32_t{1} << d,
                         .multiplicity = multiplicity});
}

StoreAndForwardResult RunOn(const FaultSet& faults, const StoreAndForwardConfig& config,
                            std::vector<uint32_t>* latencies = nullptr) {
  const absl::StatusOr<StoreAndForwardResult> result =
      RunStoreAndForward(faults.network(), faults, config, latencies);
  EXPECT_TRUE(result.ok()) << result.status();
  return *result;
}

// One step after the other, with every switch by its name. The port rules are those of
// topologies/port_rule.h except for `random`.
class PlainSwitches {
 public:
  PlainSwitches(const FaultSet& faults, const StoreAndForwardConfig& config)
      : network_(faults.network()),
        faults_(faults),
        faulty_(faults),
        config_(config),
        traffic_(*TrafficPattern::Make(config.traffic, network_.rows())) {}

  // By input and packet.
  std::vector<uint32_t> Run() {
    latencies_.assign(size_t{network_.rows()} * config_.packets, 0);
    size_t sent = 0;
    for (Row input = 0; input < network_.rows(); ++input) {
      for (uint32_t k = 0; k < config_.packets; ++k) {
        const Row output = traffic_.Destination(input, k);
        if (faulty_.counts(0, input) || !faulty_.reached()[output]) continue;
        switches_[{0, input}].push_back({input * config_.packets + k, output});
        ++sent;
      }
    }
    for (uint32_t step = 1; delivered_ < sent && step < 10'000; ++step) Step(step, sent);
    EXPECT_EQ(delivered_, sent);
    return latencies_;
  }

 private:
  struct Packet {
    size_t number;
    Row output;
  };
  using Place = std::pair<int, Row>;

  void Step(uint32_t step, size_t sent) {
    std::map<Place, size_t> held;
    for (const auto& [place, packets] : switches_) held[place] = packets.size();
    std::map<Place, std::list<Packet>> coming;
    for (auto& [place, packets] : switches_) {
      std::vector<bool> taken(static_cast<size_t>(network_.ports()));
      for (auto packet = packets.begin(); packet != packets.end();) {
        const int port = PortOf(place, *packet, held, taken);
        if (port < 0) {
          ++packet;
          continue;
        }
        taken[static_cast<size_t>(port)] = true;
        const Row head = network_.next_row(place.first, place.second, port);
        coming[{place.first + 1, head}].push_back(*packet);
        packet = packets.erase(packet);
      }
    }
    size_t inside = 0;
    for (auto& [place, packets] : coming) {
      for (const Packet& packet : packets) {
        if (place.first < network_.hops()) {
          switches_[place].push_back(packet);
        } else {
          EXPECT_EQ(place.second, packet.output);
          latencies_[packet.number] = step;
          ++delivered_;
        }
      }
    }
    for (const auto& [place, packets] : switches_) inside += packets.size();
    ASSERT_EQ(inside + delivered_, sent) << "after step " << step;
  }

  int PortOf(const Place& place, const Packet& packet, const std::map<Place, size_t>& held,
             const std::vector<bool>& taken) {
    const auto [level, row] = place;
    const int m = network_.multiplicity();
    const int shift = network_.dimension() - network_.position_of_stage(level);
    const int direction = packet.output >> shift & 1;
    std::vector<std::pair<size_t, int>> ports;  // held at the end, and the port
    const int start = network_.rule() == PortRule::kRoundRobin ? turns_[{place, direction}] : 0;
    for (int i = 0; i < m; ++i) {
      const int port = direction * m + (start + i) % m;
      const Row head = network_.next_row(level, row, port);
      const LinkId link{level, row, port};
      if (taken[static_cast<size_t>(port)] || faults_.blocks(network_.link_index(link))) continue;
      if (level + 1 == network_.hops()) {
        ports.push_back({0, port});
        continue;
      }
      EXPECT_FALSE(faults_.is_down(NodeId{level + 1, head}));
      if (faulty_.counts(level + 1, head)) continue;
      const auto at_end = held.find({level + 1, head});
      const size_t packets = at_end == held.end() ? 0 : at_end->second;
      if (packets <= config_.buffer) ports.push_back({packets, port});
    }
    if (ports.empty()) return -1;
    const int port = network_.rule() == PortRule::kLeastOccupied
                         ? std::min_element(ports.begin(), ports.end())->second
                         : ports.front().second;
    turns_[{place, direction}] = (port % m + 1) % m;
    return port;
  }

  const Network& network_;
  const FaultSet& faults_;
  const FaultySwitches faulty_;
  const StoreAndForwardConfig& config_;
  const TrafficPattern traffic_;
  std::map<Place, std::list<Packet>> switches_;
  std::map<std::pair<Place, int>, int> turns_;
  std::vector<uint32_t> latencies_;
  size_t delivered_ = 0;
};

TEST(StoreAndForward, EveryPacketComesWhenTheModelSaysSo) {
  for (const PortRule rule :
       {PortRule::kFirstFree, PortRule::kRoundRobin, PortRule::kLeastOccupied}) {
    const Network network = Splitters(6, 2, rule);
    for (const uint32_t faulty : {0u, 12u}) {
      FaultSet faults(network);
      ASSERT_TRUE(AddFaultySwitches(faulty, 5, &faults).ok());
      for (const char* traffic : {"uniform", "transpose", "bitrev"}) {
        for (const uint32_t buffer : {0u, 4u}) {
          const StoreAndForwardConfig config{
              .traffic = {.name = traffic, .seed = 3}, .packets = 5, .buffer = buffer};
          std::vector<uint32_t> latencies;
          const StoreAndForwardResult result = RunOn(faults, config, &latencies);
          EXPECT_EQ(latencies, PlainSwitches(faults, config).Run())
              << RuleName(rule) << " " << traffic << " " << faulty << " " << buffer;
          EXPECT_EQ(result.max_latency, *std::max_element(latencies.begin(), latencies.end()));
          EXPECT_EQ(result.left_out + result.delivered, result.packets);
          EXPECT_EQ(std::count(latencies.begin(), latencies.end(), 0u),
                    static_cast<std::ptrdiff_t>(result.left_out));
          EXPECT_DOUBLE_EQ(result.mean_latency,
                           std::accumulate(latencies.begin(), latencies.end(), 0.0) /
                               static_cast<double>(result.delivered));
        }
      }
    }
  }
}

TEST(StoreAndForward, APacketThatMeetsNoOtherTakesAStepAHop) {
  for (const Network& network : {Plain(7), Dilated(7, 2)}) {
    const StoreAndForwardResult result =
        RunOn(FaultSet(network), {.traffic = {.name = "permutation", .permutation = [] {
                                                Permutation identity(128);
                                                std::iota(identity.begin(), identity.end(), 0u);
                                                return identity;
                                              }()}});
    EXPECT_EQ(result.steps, 7u);
    EXPECT_DOUBLE_EQ(result.mean_latency, 7);
    EXPECT_EQ(result.longest_queue, 1u);
  }
}

TEST(StoreAndForward, BitReversalTakesAsLongAsItsMiddleSwitchesNeed) {
  // 2^(d/2) packets meet in the middle at a switch with 2m links into it. Where nothing else delays
  // them, the last one is there 2^(d/2-1)/m - 1 steps after the first.
  for (const int d : {4, 6, 8, 10}) {
    for (const int m : {1, 2}) {
      const Network network = m == 1 ? Plain(d) : Dilated(d, m);
      const StoreAndForwardResult free =
          RunOn(FaultSet(network), {.traffic = {.name = "bitrev"}, .buffer = 1000});
      const uint64_t least = static_cast<uint64_t>(d) + (uint64_t{1} << (d / 2 - 1)) / m - 1;
      EXPECT_EQ(free.steps, least) << d << " " << m;
      EXPECT_GE(RunOn(FaultSet(network), {.traffic = {.name = "bitrev"}}).steps, least);
      EXPECT_GE(RunOn(FaultSet(network), {.traffic = {.name = "transpose"}}).steps, least);
    }
  }
}

TEST(StoreAndForward, ASwitchHoldsAtMostItsRoomAndOnePacketALink) {
  // A switch that held `buffer` packets may get one over each of its 2m links.
  const Network network = Dilated(8, 2);
  for (const uint32_t buffer : {0u, 1u, 4u}) {
    const StoreAndForwardResult result =
        RunOn(FaultSet(network), {.traffic = {.name = "bitrev"}, .packets = 8, .buffer = buffer});
    EXPECT_LE(result.longest_queue, buffer + 4);
    EXPECT_GT(result.longest_queue, buffer);
    EXPECT_EQ(result.delivered, result.packets);
  }
}

TEST(StoreAndForward, NothingIsLostInAnyStep) {
  const Network network = Splitters(6, 2, PortRule::kRandom);
  FaultSet faults(network);
  ASSERT_TRUE(AddFaultySwitches(10, 1, &faults).ok());
  // The links that do not lead to faulty switches, and all packets for which the rule has a way.
  const FaultySwitches faulty(faults);
  std::vector<bool> usable(network.link_count());
  for (uint64_t index = 0; index < network.link_count(); ++index) {
    const LinkId link = network.link_at(index);
    usable[index] =
        !faults.blocks(index) &&
        !faulty.counts(link.stage + 1, network.next_row(link.stage, link.row, link.port));
  }
  std::vector<Row> outputs(64 * 4);
  std::vector<uint32_t> latencies(outputs.size());
  const StoreAndForwardRule rule(network, 4, 1, outputs, usable, latencies);
  Crew crew(1);
  StepClock<StoreAndForwardRule> clock(network, rule, crew);
  uint64_t sent = 0;
  for (uint32_t packet = 0; packet < outputs.size(); ++packet) {
    outputs[packet] = (packet / 4 * 7 + 5) % 64;
    if (faulty.counts(0, packet / 4) || !faulty.reached()[outputs[packet]]) continue;
    clock.node(0, packet / 4).packets.push_back(packet);
    clock.Wake(0, packet / 4);
    ++sent;
  }
  uint64_t moves = 0;
  const StepEnd end = clock.Run({.steps = 1000}, [&](const auto& now) {
    uint64_t inside = 0;
    for (int level = 0; level <= network.hops(); ++level) {
      for (Row row = 0; row < 64; ++row) {
        inside += now.node(level, row).packets.size();
        EXPECT_TRUE(now.node(level, row).packets.empty() || !faulty.counts(level, row));
      }
    }
    ASSERT_EQ(inside + now.tally().delivered, sent) << "after step " << now.step();
    // Asking moves nothing, sending moves something.
    EXPECT_EQ(now.tally().moves > moves, now.step() % 2 == 0);
    moves = now.tally().moves;
  });
  EXPECT_EQ(end, StepEnd::kDone);
  EXPECT_GT(sent, 200u);
}

TEST(StoreAndForward, ResultsDoNotDependOnWorkers) {
  for (const PortRule rule : AllRules()) {
    const Network network = Splitters(7, 2, rule);
    FaultSet faults(network);
    ASSERT_TRUE(AddFaultySwitches(20, 5, &faults).ok());
    StoreAndForwardConfig config{.traffic = {.name = "uniform"}, .packets = 6};
    std::vector<uint32_t> one, several;
    const StoreAndForwardResult result = RunOn(faults, config, &one);
    for (config.workers = 2; config.workers <= 3; ++config.workers) {
      const StoreAndForwardResult other = RunOn(faults, config, &several);
      EXPECT_EQ(one, several) << RuleName(rule);
      EXPECT_EQ(result.mean_latency, other.mean_latency);
      EXPECT_EQ(result.longest_queue, other.longest_queue);
    }
  }
}

TEST(StoreAndForward, LeavesOutWhatFaultySwitchesCutOff) {
  // On a butterfly all switches with a path to the one that is down count as faulty, 2^level inputs
  // among them.
  const Network network = Plain(5);
  FaultSet faults(network);
  faults.SetNodeUp({3, 9}, false);
  const StoreAndForwardResult result = RunOn(faults, {});
  EXPECT_EQ(result.left_out, 8u);
  EXPECT_EQ(result.delivered, 24u);
  EXPECT_EQ(result.faulty_switches, 4u + 2 + 8);
  // The random network goes around it.
  const Network splitters = Splitters(5, 2);
  FaultSet one(splitters);
  one.SetNodeUp({2, 9}, false);
  EXPECT_EQ(RunOn(one, {}).left_out, 0u);
}

TEST(StoreAndForward, TheRandomNetworkBeatsTheDilatedOneByFarOnBadPermutations) {
  const Network splitters = Splitters(10, 2);
  const Network dilated = Dilated(10, 2);
  for (const char* traffic : {"transpose", "bitrev"}) {
    const StoreAndForwardConfig config{.traffic = {.name = traffic}};
    EXPECT_LT(RunOn(FaultSet(splitters), config).steps, RunOn(FaultSet(dilated), config).steps);
  }
}

TEST(StoreAndForward, FaultySwitchesAreAsManyAsAskedFor) {
  const Network network = Splitters(6, 2);
  FaultSet few(network), many(network), all(network);
  ASSERT_TRUE(AddFaultySwitches(10, 3, &few).ok());
  ASSERT_TRUE(AddFaultySwitches(40, 3, &many).ok());
  EXPECT_EQ(few.down().size(), 10u);
  EXPECT_EQ(many.down().size(), 40u);
  for (const NodeId& node : few.down_nodes()) {
    EXPECT_TRUE(many.is_down(node));
    EXPECT_GT(node.level, 0);
    EXPECT_LT(node.level, 6);
  }
  EXPECT_TRUE(AddFaultySwitches(5 * 64, 3, &all).ok());
  EXPECT_EQ(all.down().size(), 5u * 64);
  EXPECT_THAT(std::string(AddFaultySwitches(5 * 64 + 1, 3, &all).message()),
              HasSubstr("faults: 321 is outside 0..320"));
}

TEST(StoreAndForward, NamesWhatIsWrong) {
  const Network network = Plain(3);
  const auto message = [](const Network& on, const StoreAndForwardConfig& config) {
    const absl::Status status = RunStoreAndForward(on, FaultSet(on), config).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_THAT(message(network, {.packets = 0}), HasSubstr("packets: 0 is outside 1..2097152"));
  EXPECT_THAT(message(network, {.workers = 0}), HasSubstr("workers: 0 is outside 1..256"));
  EXPECT_THAT(message(network, {.traffic = {.name = "wild"}}), HasSubstr("wild"));
  const Network two_fold = *Network::Make({.kind = NetworkKind::kTwoFoldButterfly, .rows = 8});
  EXPECT_THAT(message(two_fold, {}), HasSubstr("network: on kind two_fold_butterfly"));
  const Network extra =
      *Network::Make({.kind = NetworkKind::kButterfly, .rows = 8, .extra_stages = 1});
  EXPECT_THAT(message(extra, {}), HasSubstr("with extra stages"));
}

}  // namespace
}  // namespace bfly::dataplane

// SPDX-License-Identifier: Apache-2.0
// Stages that are crossed in one step: packets come out where they come out one stage at a time,
// and what links tell is what a walk of each packet counts, also where links change meanwhile.
#include "dataplane/stages/fused_stages.h"

#include <random>

#include "dataplane/links/shape_table.h"
#include "dataplane/stages/packet_store.h"
#include "dataplane/stages/plan.h"
#include "dataplane/stages/stage_counters.h"
#include "dataplane/stages/timed_links.h"
#include "tests/packet/fabric_fixture.h"

namespace bfly::dataplane {
namespace {

std::vector<NetworkSpec> OnePortADirection(uint32_t rows) {
  std::vector<NetworkSpec> specs;
  for (const NetworkKind kind : AllKinds()) {
    specs.push_back({.kind = kind, .rows = rows, .seed = 7, .multiplicity = 1});
  }
  specs.push_back({.kind = NetworkKind::kWrappedButterfly, .rows = rows, .passes = 2});
  specs.push_back({.kind = NetworkKind::kButterfly, .rows = rows, .extra_stages = 3});
  return specs;
}

FabricConfig OnOneWorker(const NetworkSpec& spec) {
  FabricConfig config = OneWorker(NetworkKind::kButterfly, 2);
  config.network = spec;
  config.placement[0].last_stage = Network::Make(spec)->stages() - 1;
  return config;
}

// The blocks `rows` of `count` stages from `first` on, fused and ready to be crossed either way.
struct Blocks {
  Blocks(const Network& network, int first, int count, RowRange rows) {
    std::vector<Stage*> pointers;
    for (int s = first; s < first + count; ++s) {
      stages.push_back(std::make_unique<Stage>(network, s, rows));
      pointers.push_back(stages.back().get());
    }
    fused = std::make_unique<FusedStages>(network, first, pointers, rows);
  }
  std::vector<std::unique_ptr<Stage>> stages;
  std::unique_ptr<FusedStages> fused;
};

// Carries random packets over the blocks, some in one step and some stage by stage, and compares
// with a walk.
void ExpectWalked(const Network& network, int first, int count, RowRange rows) {
  SCOPED_TRACE(testing::Message() << KindName(network.kind()) << ", stages " << first << " to "
                                  << first + count - 1 << ", rows from " << rows.first);
  Blocks blocks(network, first, count, rows);
  std::mt19937_64 random(static_cast<uint64_t>(first * 8 + count));
  const uint32_t per_stage = network.rows() * 2;
  std::vector<LinkCount> walked(static_cast<size_t>(count) * per_stage);
  Ledger ledger;
  for (int burst = 0; burst < 40; ++burst) {
    Descriptor packets[32], expected[32];
    for (int i = 0; i < 32; ++i) {
      packets[i] = {.tag = random(),
                    .mbuf = nullptr,
                    .time = 0,
                    .row = rows.first + static_cast<Row>(random() % (rows.last - rows.first + 1)),
                    .bytes = static_cast<uint16_t>(60 + random() % 1441),
                    .input = 0};
      expected[i] = packets[i];
      for (int s = 0; s < count; ++s) {
        const int port = static_cast<int>(expected[i].tag >> 63);
        LinkCount& link = walked[static_cast<size_t>(s) * per_stage + expected[i].row * 2 +
                                 static_cast<uint32_t>(port)];
        ++link.packets;
        link.bytes += packets[i].bytes;
        expected[i].row = network.next_row(first + s, expected[i].row, port);
        expected[i].tag <<= 1;
      }
    }
    if (burst % 3 != 2) {
      blocks.fused->Cross(packets, 32);
    } else {
      for (auto& stage : blocks.stages) ASSERT_EQ(stage->Cross(packets, 32, nullptr, ledger), 32);
    }
    for (int i = 0; i < 32; ++i) {
      ASSERT_EQ(packets[i].row, expected[i].row);
      ASSERT_EQ(packets[i].tag, expected[i].tag);
    }
  }
  FusedReadings readings;
  for (int s = 0; s < count; ++s) {
    const Stage& stage = *blocks.stages[static_cast<size_t>(s)];
    const uint32_t from = stage.first_link();
    std::vector<LinkCounters> all;
    StageCounters(stage).Append(1, readings, all);
    std::vector<uint64_t> packets(stage.links()), bytes(stage.links()), uses(stage.links());
    StageCounters(stage).Read(LinkFigure::kPackets, from, 1, packets);
    StageCounters(stage).Read(LinkFigure::kBytes, from, 1, bytes);
    StageCounters(stage).Read(LinkFigure::kUse, from, 1, uses);
    ASSERT_EQ(all.size(), stage.links());
    for (uint32_t i = 0; i < stage.links(); ++i) {
      const LinkCount& link = walked[static_cast<size_t>(s) * per_stage + from + i];
      ASSERT_EQ(StageCounters(stage).Of(from + i, 1).packets, link.packets) << s << " " << i;
      ASSERT_EQ(StageCounters(stage).Of(from + i, 1).bytes, link.bytes);
      ASSERT_EQ(all[i].packets, link.packets);
      ASSERT_EQ(all[i].bytes, link.bytes);
      ASSERT_EQ(packets[i], link.packets);
      ASSERT_EQ(bytes[i], link.bytes);
      ASSERT_EQ(uses[i] != 0, link.packets != 0);
    }
  }
}

TEST(FusedStages, EveryLinkCountsWhatAWalkOfEachPacketCounts) {
  for (NetworkSpec spec : OnePortADirection(16)) {
    const Network network = *Network::Make(spec);
    for (int count = 2; count <= FusedStages::kMost; ++count) {
      for (int first = 0; first + count <= network.stages(); ++first) {
        ExpectWalked(network, first, count, {0, 15});
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(FusedStages, BlocksOfRowsCountTheirOwnLinks) {
  // Behind stage 0 a butterfly's halves are closed, and so are quarters behind stage 1.
  const Network network = *Network::Make({.kind = NetworkKind::kButterfly, .rows = 32});
  ExpectWalked(network, 1, 4, {0, 15});
  ExpectWalked(network, 1, 4, {16, 31});
  ExpectWalked(network, 2, 3, {8, 15});
  const Network wired =
      *Network::Make({.kind = NetworkKind::kMultibutterfly, .rows = 32, .seed = 3});
  ExpectWalked(wired, 1, 4, {16, 31});
  ExpectWalked(wired, 2, 2, {24, 31});
}

TEST(FusedStages, LargeBlocksCountTheSame) {
  // 1 MiB of counters for four stages.
  for (const NetworkKind kind : {NetworkKind::kButterfly, NetworkKind::kMultibutterfly}) {
    const Network network = *Network::Make({.kind = kind, .rows = 4096, .seed = 5});
    for (const int count : {2, 3, 4}) ExpectWalked(network, 3, count, {0, 4095});
  }
}

TEST(FusedStages, ArePlainWhileEveryLinkOfEveryStageIsUpAndTakesNoTime) {
  const Network network = *Network::Make({.kind = NetworkKind::kButterfly, .rows = 16});
  Blocks blocks(network, 0, 4, {0, 15});
  EXPECT_TRUE(blocks.fused->plain());
  for (auto& stage : blocks.stages) {
    stage->SetLinkUp(31, false);
    EXPECT_FALSE(blocks.fused->plain());
    stage->SetLinkUp(31, true);
    stage->SetAvoided(0, true);
    EXPECT_FALSE(blocks.fused->plain());
    stage->SetAvoided(0, false);
    EXPECT_TRUE(blocks.fused->plain());
  }
}

// A rate, a delay or a loss ends the steps over several stages at once; on a link that takes no
// time no packet waits, so a queue limit or a discipline alone changes nothing.
TEST(FusedStages, ArePlainAsLongAsLinksTakeNoTimeAndLoseNothing) {
  const Network network = *Network::Make({.kind = NetworkKind::kButterfly, .rows = 16});
  Blocks blocks(network, 0, 4, {0, 15});
  const ShapeTable none({}, 2, network.rows(), 2, 1e9);
  PacketStore store(size_t{1} << 12);
  Stage& stage = *blocks.stages[2];
  TimedLinks timed(stage.links(), network.link_index({2, 0, 0}), &store, &stage.cold(0), 1);
  std::vector<LinkRule> rules(5, {2, 2, 5, 5, 1});  // one link of stage 2
  rules[0].bits_per_second = 1'000'000'000'000;
  rules[1].delay_ns = 1;
  rules[2].loss = 1e-6;
  rules[3].queue_limit = 1;
  rules[4].discipline = Discipline::kPriority;
  uint64_t now = 1;
  for (const LinkRule& rule : rules) {
    const ShapeTable table({.base = {}, .rules = {rule}}, 2, network.rows(), 2, 1e9);
    stage.OfferShapes(&table, &timed);
    stage.AdoptShapes(now++);
    EXPECT_EQ(blocks.fused->plain(), rule.queue_limit || rule.discipline);
    stage.OfferShapes(&none, &timed);
    stage.AdoptShapes(now++);
    stage.DropEmptyTimed();
    EXPECT_TRUE(blocks.fused->plain());
  }
}

TEST(FusedStages, RunsAreOfEqualLengthAndEndWithAPass) {
  const Network wrapped =
      *Network::Make({.kind = NetworkKind::kWrappedButterfly, .rows = 8, .passes = 2});
  const Network deep = *Network::Make({.kind = NetworkKind::kButterfly, .rows = 1024});
  const auto runs = [](const Network& network, int first, int hops, int most) {
    return PlanFused(network, {.first_hop = first, .hops = hops}, hops, most);
  };
  using Runs = std::vector<FusedPlan>;
  EXPECT_EQ(runs(deep, 0, 10, 4), (Runs{{0, 4}, {4, 3}, {7, 3}}));
  EXPECT_EQ(runs(deep, 3, 7, 3), (Runs{{3, 3}, {6, 2}, {8, 2}}));
  EXPECT_EQ(runs(deep, 5, 1, 4), Runs{});
  EXPECT_EQ(runs(deep, 5, 5, 1), Runs{});
  EXPECT_EQ(runs(deep, 4, 3, 2), (Runs{{4, 2}}));
  EXPECT_EQ(runs(wrapped, 0, 6, 4), (Runs{{0, 3}, {3, 3}}));
  EXPECT_EQ(runs(wrapped, 1, 5, 4), (Runs{{1, 2}, {3, 3}}));
}

// Every pair sends `packets` packets in about 0.1 s.
std::vector<SourceConfig> SlowPairs(const Network& network, uint64_t packets) {
  std::vector<SourceConfig> sources = AllPairs(network);
  for (SourceConfig& source : sources) {
    source.packets = packets;
    source.packets_per_second = 10.0 * static_cast<double>(packets);
    source.bytes = 100 + source.row;
  }
  return sources;
}

void ExpectNoneGoesBack(const Snapshot& before, const Snapshot& after) {
  for (size_t i = 0; i < after.links.size(); ++i) {
    ASSERT_GE(after.links[i].packets, before.links[i].packets) << "link " << i;
    ASSERT_GE(after.links[i].bytes, before.links[i].bytes) << "link " << i;
  }
}

std::vector<FabricConfig> LiveConfigs() {
  std::vector<FabricConfig> configs;
  for (const NetworkSpec& spec : OnePortADirection(8)) configs.push_back(OnOneWorker(spec));
  configs.push_back(Halves(NetworkKind::kTwoFoldButterfly, 8));
  configs.push_back(Placed(NetworkKind::kButterfly, 16, {0, 0, 0, OtherCpu()}));
  return configs;
}

TEST(FusedStages, LinksThatBeginAndCeaseToTakeTimeUnderTrafficChangeNoCount) {
  constexpr uint64_t kEach = 50;
  std::mt19937 random(1);
  for (const FabricConfig& config : LiveConfigs()) {
    SCOPED_TRACE(testing::Message() << KindName(config.network.kind) << ", "
                                    << config.placement.size() << " placements");
    const std::unique_ptr<Fabric> fabric = MustLoad(config);
    ASSERT_NE(fabric, nullptr);
    const Network& network = fabric->network();
    ASSERT_TRUE(fabric->SetSources(SlowPairs(network, kEach)).ok());
    const uint64_t packets = kEach * network.rows() * network.rows();
    Snapshot s = fabric->snapshot();
    for (int change = 0; s.conservation.delivered < packets && change < 10'000; ++change) {
      LinkPlan plan;
      if (change % 2 == 0) {
        const int stage = static_cast<int>(random() % static_cast<unsigned>(network.stages()));
        plan.rules = {{.first_stage = stage,
                       .last_stage = stage,
                       .last_row = network.rows() - 1,
                       .delay_ns = 20'000}};
      }
      ASSERT_TRUE(fabric->SetLinks(plan).ok());
      const Snapshot next = fabric->snapshot();
      ExpectConserved(next);
      ExpectNoneGoesBack(s, next);
      if (HasFatalFailure()) return;
      s = next;
    }
    s = WaitForDeliveries(*fabric, packets);
    EXPECT_EQ(s.conservation.delivered, packets);
    std::vector<uint64_t> expected = WalkedCounts(network, AllPairsGreedy(network));
    for (uint64_t& count : expected) count *= kEach;
    EXPECT_EQ(PacketCounts(s), expected);
    // Packets to row r have 100 + r bytes.
    std::vector<uint64_t> bytes(network.link_count());
    for (Row output = 0; output < network.rows(); ++output) {
      std::vector<std::pair<Row, Tag>> ways;
      for (Row input = 0; input < network.rows(); ++input) {
        ways.push_back({input, GreedyTag(network, input, output)});
      }
      const std::vector<uint64_t> count = WalkedCounts(network, ways);
      for (size_t i = 0; i < bytes.size(); ++i) bytes[i] += count[i] * kEach * (100 + output);
    }
    for (size_t i = 0; i < bytes.size(); ++i) ASSERT_EQ(s.links[i].bytes, bytes[i]) << i;
  }
}

// Packets into every node = packets out of it, with those that found a link down. Not where packets
// of two passes meet.
void ExpectWhatEntersNodesLeavesThem(const Network& network, const Snapshot& s,
                                     uint64_t from_each_input) {
  const auto out = [&](int stage, Row row) {
    uint64_t sum = 0;
    for (int port = 0; port < 2; ++port) {
      const LinkCounters& link = s.links[network.link_index({stage, row, port})];
      sum += link.packets + link.drops[static_cast<int>(DropReason::kLinkDown)];
    }
    return sum;
  };
  for (int stage = 0; stage < network.stages(); ++stage) {
    for (Row row = 0; row < network.rows(); ++row) {
      uint64_t in = stage == 0 ? from_each_input : 0;
      if (stage > 0) {
        for (const LinkId& link : network.feeders(stage - 1, row)) {
          in += s.links[network.link_index(link)].packets;
        }
      }
      ASSERT_EQ(out(stage, row), in) << "node " << stage << "." << row;
    }
  }
}

TEST(FusedStages, LinksThatGoDownUnderTrafficLoseOnlyWhatTheyCount) {
  constexpr uint64_t kEach = 50;
  std::mt19937 random(2);
  for (const FabricConfig& config : LiveConfigs()) {
    if (config.network.passes > 1) continue;
    SCOPED_TRACE(testing::Message() << KindName(config.network.kind) << ", "
                                    << config.placement.size() << " placements");
    const std::unique_ptr<Fabric> fabric = MustLoad(config);
    ASSERT_NE(fabric, nullptr);
    const Network& network = fabric->network();
    const uint64_t packets = kEach * network.rows() * network.rows();
    // A link that packets take is down before the first one comes, because all of them may have
    // gone before the test gets the CPU again.
    LinkId link = {.stage = 0, .row = 0, .port = 0};
    ASSERT_TRUE(fabric->SetLinkUp(link, false).ok());
    ASSERT_TRUE(fabric->SetSources(SlowPairs(network, kEach)).ok());
    Snapshot s = WaitUntil(
        *fabric, [](const Snapshot& now) { return DroppedBy(now, DropReason::kLinkDown) > 0; });
    ASSERT_TRUE(fabric->SetLinkUp(link, true).ok());
    for (int change = 0; change < 10'000; ++change) {
      if (s.conservation.delivered + s.conservation.dropped == packets) break;
      link = network.link_at(random() % network.link_count());
      ASSERT_TRUE(fabric->SetLinkUp(link, false).ok());
      std::this_thread::sleep_for(std::chrono::microseconds(200));
      ASSERT_TRUE(fabric->SetLinkUp(link, true).ok());
      const Snapshot next = fabric->snapshot();
      ExpectConserved(next);
      ExpectNoneGoesBack(s, next);
      if (HasFatalFailure()) return;
      s = next;
    }
    s = WaitForDeliveries(*fabric, packets);
    EXPECT_GT(s.conservation.dropped, 0u);
    EXPECT_EQ(s.conservation.dropped, DroppedBy(s, DropReason::kLinkDown));
    ExpectWhatEntersNodesLeavesThem(network, s, kEach * network.rows());
    if (HasFatalFailure()) return;
  }
}

TEST(FusedStages, ASnapshotHasEveryPacketAtAllLinksThatItCrossedInOneStep) {
  for (const NetworkKind kind : {NetworkKind::kButterfly, NetworkKind::kRandomlyWiredButterfly}) {
    const std::unique_ptr<Fabric> fabric = MustLoad(OneWorker(kind, 16));
    ASSERT_NE(fabric, nullptr);
    const Network& network = fabric->network();
    ASSERT_GE(MostFused(network), 4);  // all stages in one step
    ASSERT_TRUE(fabric
                    ->SetSources(
                        {{.rows = AllRows(16), .destination = SourceConfig::Destination::kUniform}})
                    .ok());
    Snapshot before = fabric->snapshot();
    uint64_t seen = 0;
    const auto begin = std::chrono::steady_clock::now();
    const auto so_far = [begin] { return std::chrono::steady_clock::now() - begin; };
    while (so_far() < std::chrono::milliseconds(300) ||
           (seen == 0 && so_far() < std::chrono::seconds(60))) {
      const Snapshot s = fabric->snapshot();
      ExpectConserved(s);
      ExpectNoneGoesBack(before, s);
      for (int stage = 1; stage < network.stages(); ++stage) {
        for (Row row = 0; row < 16; ++row) {
          uint64_t in = 0, out = 0;
          for (const LinkId& link : network.feeders(stage - 1, row)) {
            in += s.links[network.link_index(link)].packets;
          }
          for (int port = 0; port < 2; ++port) {
            out += s.links[network.link_index({stage, row, port})].packets;
          }
          ASSERT_EQ(in, out) << "node " << stage << "." << row;
          seen += out;
        }
      }
      before = s;
    }
    EXPECT_GT(seen, 0u);
  }
}

// The worker of stages 0 to 2 is faster than that of stage 3, whose links take time.
TEST(FusedStages, PacketsForAnotherWorkerWaitOnTheLinkThatTheyCrossed) {
  FabricConfig config = Placed(NetworkKind::kButterfly, 16, {0, 0, 0, OtherCpu()});
  config.links.rules = {{.first_stage = 3, .last_stage = 3, .last_row = 15, .delay_ns = 1000}};
  const std::unique_ptr<Fabric> fabric = MustLoad(config);
  ASSERT_NE(fabric, nullptr);
  ASSERT_TRUE(
      fabric->SetSources({{.rows = {9}, .destination = SourceConfig::Destination::kRow, .row = 6}})
          .ok());
  // Of row 9 = 1001 two bits are those of row 6 = 0110 when the packet is at stage 2: row 0101. The
  // third bit is 1.
  const size_t waits = fabric->network().link_index({2, 5, 1});
  const Snapshot s = WaitUntil(
      *fabric, [waits](const Snapshot& now) { return now.links[waits].occupancy_peak > 0; });
  for (size_t i = 0; i < fabric->network().link_index({3, 0, 0}); ++i) {
    EXPECT_EQ(s.links[i].occupancy_peak > 0, i == waits) << "link " << i;
  }
}

}  // namespace
}  // namespace bfly::dataplane

// SPDX-License-Identifier: Apache-2.0
// Stages where a direction has several ports: whatever the rule, packets go where they should, and
// parallel links share them as the rule says.
#include <gmock/gmock.h>

#include <numeric>
#include <random>

#include "dataplane/stages/port_picker.h"
#include "dataplane/stages/stage.h"
#include "tests/packet/fabric_fixture.h"
#include "tests/sanitized.h"
#include "topologies/tag.h"

namespace bfly::dataplane {
namespace {

using Destination = SourceConfig::Destination;
using testing::HasSubstr;

FabricConfig DilatedFabric(uint32_t rows, int multiplicity, PortRule rule,
                           const std::vector<int>& cpu_of_stage) {
  FabricConfig config = Placed(NetworkKind::kDilatedButterfly, rows, cpu_of_stage);
  config.network.multiplicity = multiplicity;
  config.network.rule = rule;
  return config;
}

// `each` packets for every pair of rows.
std::vector<SourceConfig> EveryPair(uint32_t rows, uint64_t each) {
  std::vector<SourceConfig> sources;
  for (Row output = 0; output < rows; ++output) {
    SourceConfig source;
    source.rows.resize(rows);
    std::iota(source.rows.begin(), source.rows.end(), 0);
    source.destination = Destination::kRow;
    source.row = output;
    source.packets = each;
    sources.push_back(source);
  }
  return sources;
}

// What the links of each direction must have carried together, in the order of the links of a plain
// butterfly.
std::vector<uint64_t> ByDirection(const Network& network, const Snapshot& s) {
  const auto multiplicity = static_cast<size_t>(network.multiplicity());
  std::vector<uint64_t> sums(network.link_count() / multiplicity);
  for (size_t link = 0; link < s.links.size(); ++link) {
    sums[link / multiplicity] += s.links[link].packets;
  }
  return sums;
}

std::vector<uint64_t> PlainCounts(uint32_t rows, uint64_t each) {
  const Network plain = *Network::Make({.kind = NetworkKind::kButterfly, .rows = rows});
  std::vector<std::pair<Row, Tag>> pairs;
  for (Row input = 0; input < rows; ++input) {
    for (Row output = 0; output < rows; ++output) pairs.push_back({input, output});
  }
  std::vector<uint64_t> counts = WalkedCounts(plain, pairs);
  for (uint64_t& n : counts) n *= each;
  return counts;
}

TEST(PortRules, DeliverEverythingOverTheDirectionsOfTheButterfly) {
  for (const PortRule rule : AllRules()) {
    for (const std::vector<int>& placement :
         {std::vector<int>{0, 0, 0}, std::vector<int>{0, OtherCpu(), 0}}) {
      SCOPED_TRACE(std::string(RuleName(rule)));
      const std::unique_ptr<Fabric> fabric = MustLoad(DilatedFabric(8, 3, rule, placement));
      ASSERT_NE(fabric, nullptr);
      ASSERT_TRUE(fabric->SetSources(EveryPair(8, 10)).ok());
      const Snapshot done = WaitForDeliveries(*fabric, 640);
      EXPECT_EQ(done.conservation.delivered, 640u);
      EXPECT_EQ(done.conservation.in_flight, 0u);
      EXPECT_EQ(ByDirection(fabric->network(), done), PlainCounts(8, 10));
    }
  }
}

TEST(PortRules, RoundRobinSplitsExactly) {
  for (const int multiplicity : {2, 3, 8}) {
    const std::unique_ptr<Fabric> fabric =
        MustLoad(DilatedFabric(8, multiplicity, PortRule::kRoundRobin, {0, 0, OtherCpu()}));
    ASSERT_NE(fabric, nullptr);
    ASSERT_TRUE(fabric->SetSources(EveryPair(8, 7)).ok());
    const Snapshot done = WaitForDeliveries(*fabric, 448);
    const std::vector<uint64_t> plain = PlainCounts(8, 7);
    const auto d = static_cast<uint64_t>(multiplicity);
    for (size_t direction = 0; direction < plain.size(); ++direction) {
      for (uint64_t port = 0; port < d; ++port) {
        // The first ports have one packet more where the number is no multiple.
        EXPECT_EQ(done.links[direction * d + port].packets, (plain[direction] + d - 1 - port) / d);
      }
    }
  }
}

TEST(PortRules, RandomGivesEveryPortItsShare) {
  const std::unique_ptr<Fabric> fabric = MustLoad(DilatedFabric(4, 3, PortRule::kRandom, {0, 0}));
  ASSERT_NE(fabric, nullptr);
  ASSERT_TRUE(fabric->SetSources(EveryPair(4, 3000)).ok());
  const Snapshot done = WaitForDeliveries(*fabric, 48'000);
  // 6,000 packets a direction: 2,000 a port, with a deviation of sqrt(6000 * 2/9) = 36.5.
  for (const LinkCounters& link : done.links) {
    EXPECT_NEAR(static_cast<double>(link.packets), 2000, 6 * 36.5);
  }
}

// The links of group 3 are 12 to 15.
TEST(PortRules, RandomStaysInItsDirectionWhenALinkGoesDownMeanwhile) {
  constexpr uint32_t kLinks = 4, kGroup = 3, kFirst = kGroup * kLinks;
  const Network network = *Network::Make({.kind = NetworkKind::kDilatedButterfly,
                                          .rows = 8,
                                          .multiplicity = kLinks,
                                          .rule = PortRule::kRandom});
  PortPicker picker(network, 0, {0, 7});
  const PortChooser chooser = picker.chooser();
  for (int draw = 0; draw < 1000; ++draw) {
    uint32_t looks = 0;
    const auto is_up = [&looks](uint32_t link) {
      return ++looks <= kLinks || link != kFirst + kLinks - 1;
    };
    const uint32_t link =
        chooser.Pick<PortRule::kRandom, true>(Descriptor{}, kGroup, nullptr, is_up);
    ASSERT_GE(link, kFirst);
    ASSERT_LT(link, kFirst + kLinks);
  }
}

TEST(PortRules, RandomPicksEachLinkThatIsUpEquallyOften) {
  const Network network = *Network::Make({.kind = NetworkKind::kDilatedButterfly,
                                          .rows = 8,
                                          .multiplicity = 4,
                                          .rule = PortRule::kRandom});
  PortPicker picker(network, 0, {0, 7});
  const PortChooser chooser = picker.chooser();
  const auto is_up = [](uint32_t link) { return link != 4 && link != 6; };
  int picks_of_5 = 0;
  for (int draw = 0; draw < 10'000; ++draw) {
    const uint32_t link = chooser.Pick<PortRule::kRandom, true>(Descriptor{}, 1, nullptr, is_up);
    ASSERT_TRUE(link == 5 || link == 7) << link;
    picks_of_5 += link == 5;
  }
  // The standard deviation is 50.
  EXPECT_NEAR(picks_of_5, 5000, 6 * 50);
}

TEST(PortRules, ALinkThatIsDownLosesNothingWhileItsTwinIsUp) {
  for (const PortRule rule : AllRules()) {
    for (const int64_t rate : {int64_t{0}, int64_t{1'000'000'000}}) {
      SCOPED_TRACE(testing::Message() << RuleName(rule) << " at " << rate);
      FabricConfig config = DilatedFabric(8, 2, rule, {0, 0, 0});
      config.links.base.bits_per_second = static_cast<uint64_t>(rate);
      const std::unique_ptr<Fabric> fabric = MustLoad(config);
      ASSERT_NE(fabric, nullptr);
      for (int stage = 0; stage < 3; ++stage) {
        for (Row row = 0; row < 8; ++row) {
          // Of one direction the first port, of the other the second.
          ASSERT_TRUE(fabric->SetLinkUp({stage, row, 0}, false).ok());
          ASSERT_TRUE(fabric->SetLinkUp({stage, row, 3}, false).ok());
        }
      }
      ASSERT_TRUE(fabric->SetSources(EveryPair(8, 10)).ok());
      const Snapshot done = WaitForDeliveries(*fabric, 640);
      EXPECT_EQ(done.conservation.delivered, 640u);
      EXPECT_EQ(ByDirection(fabric->network(), done), PlainCounts(8, 10));
      for (size_t link = 0; link < done.links.size(); ++link) {
        const bool down = link % 4 == 0 || link % 4 == 3;
        EXPECT_EQ(done.links[link].packets == 0, down);
      }
    }
  }
}

TEST(PortRules, ADirectionWithoutALinkThatIsUpDropsItsPackets) {
  for (const PortRule rule : AllRules()) {
    const std::unique_ptr<Fabric> fabric = MustLoad(DilatedFabric(4, 2, rule, {0, 0}));
    ASSERT_NE(fabric, nullptr);
    ASSERT_TRUE(fabric->SetLinkUp({0, 1, 2}, false).ok());
    ASSERT_TRUE(fabric->SetLinkUp({0, 1, 3}, false).ok());
    ASSERT_TRUE(fabric->SetSources(EveryPair(4, 5)).ok());
    const Snapshot done = WaitForDeliveries(*fabric, 80);
    // Row 1 to rows 2 and 3.
    EXPECT_EQ(DroppedBy(done, DropReason::kLinkDown), 10u);
    EXPECT_EQ(done.conservation.delivered, 70u);
  }
}

TEST(PortRules, PacketsPickALinkToAvoidOnlyWhereNoOtherIsUp) {
  for (const PortRule rule : AllRules()) {
    for (const uint64_t rate : {uint64_t{0}, uint64_t{1'000'000'000}}) {
      SCOPED_TRACE(testing::Message() << RuleName(rule) << " at " << rate);
      FabricConfig config = DilatedFabric(8, 2, rule, {0, 0, 0});
      config.links.base.bits_per_second = rate;
      const std::unique_ptr<Fabric> fabric = MustLoad(config);
      ASSERT_NE(fabric, nullptr);
      const Network& network = fabric->network();
      // Of direction 0 the first port; of direction 1 both, and of these one is down besides.
      std::vector<uint64_t> avoided;
      for (Row row = 0; row < 8; ++row) {
        for (const int port : {0, 2, 3}) avoided.push_back(network.link_index({1, row, port}));
        ASSERT_TRUE(fabric->SetLinkUp({1, row, 3}, false).ok());
      }
      fabric->AvoidLinks({network.link_index({0, 0, 1})});
      fabric->AvoidLinks(avoided);
      ASSERT_TRUE(fabric->SetSources(EveryPair(8, 10)).ok());
      Snapshot done = WaitForDeliveries(*fabric, 640);
      EXPECT_EQ(done.conservation.delivered, 640u);
      for (Row row = 0; row < 8; ++row) {
        EXPECT_EQ(done.links[network.link_index({1, row, 0})].packets, 0u);
        EXPECT_EQ(done.links[network.link_index({1, row, 1})].packets, 40u);
        EXPECT_EQ(done.links[network.link_index({1, row, 2})].packets, 40u);
        EXPECT_EQ(done.links[network.link_index({1, row, 3})].packets, 0u);
      }
      // A circuit keeps its port.
      ASSERT_TRUE(fabric->InstallCircuit(3, *TagOfPorts(network, {0, 0, 0})).ok());
      SourceConfig source;
      source.rows = {3};
      source.packets = 50;
      ASSERT_TRUE(fabric->SetSources({source}).ok());
      done = WaitForDeliveries(*fabric, 690);
      EXPECT_EQ(done.links[network.link_index({1, 3, 0})].packets, 50u);
      EXPECT_EQ(done.conservation.dropped, 0u);
    }
  }
}

TEST(PortRules, ACircuitKeepsItsPorts) {
  for (const PortRule rule : AllRules()) {
    const std::unique_ptr<Fabric> fabric = MustLoad(DilatedFabric(8, 3, rule, {0, OtherCpu(), 0}));
    ASSERT_NE(fabric, nullptr);
    const Network& network = fabric->network();
    const Tag tag = *TagOfPorts(network, {5, 1, 4});
    ASSERT_TRUE(fabric->InstallCircuit(2, tag).ok());
    ASSERT_EQ(fabric->circuits().size(), 1u);
    EXPECT_EQ(fabric->circuits()[0].tag, tag);
    SourceConfig source;
    source.rows = {2};
    source.packets = 50;
    ASSERT_TRUE(fabric->SetSources({source}).ok());
    const Snapshot done = WaitForDeliveries(*fabric, 50);
    EXPECT_EQ(done.conservation.delivered, 50u);
    // 010 by direction 1 to 110, by 0 to 100, by 1 to 101.
    std::vector<uint64_t> expected(network.link_count());
    for (const LinkId link : {LinkId{0, 2, 5}, LinkId{1, 6, 1}, LinkId{2, 4, 4}}) {
      expected[network.link_index(link)] = 50;
    }
    EXPECT_EQ(PacketCounts(done), expected);
    EXPECT_THAT(std::string(fabric->InstallCircuit(2, 0b011'000'000).message()),
                HasSubstr("names a port beyond the 3 of a direction"));
  }
}

TEST(PortRules, CircuitsAreNotSetUpInBand) {
  const std::unique_ptr<Fabric> fabric =
      MustLoad(DilatedFabric(8, 2, PortRule::kRoundRobin, {0, 0, 0}));
  ASSERT_NE(fabric, nullptr);
  const absl::StatusOr<InBand*> in_band = fabric->in_band();
  EXPECT_EQ(in_band.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(in_band.status().message()), HasSubstr("dilated_butterfly"));
}

// One node of stage 0 with links of 1 tick a byte, against departures worked out here.
class OneNode {
 public:
  OneNode(PortRule rule, int multiplicity)
      : network_(*Network::Make({.kind = NetworkKind::kDilatedButterfly,
                                 .rows = 2,
                                 .multiplicity = multiplicity,
                                 .rule = rule})),
        stage_(network_, 0),
        store_(1 << 20),
        table_({.base = {.bits_per_second = 8'000'000'000}, .rules = {}}, 0, 2, network_.ports(),
               1e9),
        timed_(stage_.links(), 0, &store_, &stage_.cold(0), 1),
        departures_(static_cast<size_t>(multiplicity)) {
    stage_.OfferShapes(&table_, &timed_);
    stage_.AdoptShapes(0);
  }

  // Packets at each port when one comes at `now`, then the port that it takes.
  std::pair<std::vector<size_t>, size_t> Offer(uint64_t now, uint16_t bytes) {
    std::vector<size_t> there;
    for (const std::vector<uint64_t>& link : departures_) {
      there.push_back(static_cast<size_t>(
          std::count_if(link.begin(), link.end(), [now](uint64_t at) { return at > now; })));
    }
    Descriptor out[64];
    while (timed_.Release(now, out, 64, ledger_) > 0) {
    }
    Descriptor packet{.tag = ToWire(0, network_.tag_layout().bits()),
                      .mbuf = nullptr,
                      .time = now,
                      .row = 0,
                      .bytes = bytes,
                      .input = 0};
    uint32_t link = 0;
    EXPECT_EQ(stage_.CrossToTimed(&packet, 1, &link, ledger_), 1);
    timed_.Enter(packet, link, ledger_);
    std::vector<uint64_t>& taken = departures_.at(link);
    taken.push_back(std::max(now, taken.empty() ? 0 : taken.back()) + bytes);
    return {there, link};
  }

 private:
  const Network network_;
  Stage stage_;
  PacketStore store_;
  ShapeTable table_;
  TimedLinks timed_;
  Ledger ledger_;
  std::vector<std::vector<uint64_t>> departures_;
};

// With packets of one size the link with the fewest packets, of several the one that is done first,
// is the one with the least work left. Work left then never differs by more than a packet's, so
// numbers of packets never differ by more than one.
TEST(PortRules, LeastOccupiedKeepsParallelLinksWithinOnePacket) {
  for (const int multiplicity : {2, 3, 8}) {
    std::mt19937 random(static_cast<uint32_t>(multiplicity));
    OneNode node(PortRule::kLeastOccupied, multiplicity);
    size_t most = 0;
    uint64_t now = 1000;
    for (int i = 0; i < (kSanitized ? 2'000 : 20'000); ++i) {
      // Bursts at one moment, and pauses in which links run empty.
      if (random() % 3 == 0) now += random() % (3 * 300 / static_cast<uint64_t>(multiplicity));
      if (random() % 500 == 0) now += 20'000;
      auto [there, port] = node.Offer(now, 100);
      ASSERT_EQ(there[port], *std::min_element(there.begin(), there.end()));
      ++there[port];
      const auto [least, fullest] = std::minmax_element(there.begin(), there.end());
      ASSERT_LE(*fullest - *least, 1u) << "packet " << i;
      most = std::max(most, *fullest);
    }
    EXPECT_GT(most, 3u) << "too little traffic to prove anything";
  }
}

TEST(PortRules, FirstFreeTakesTheFirstLinkWithNothingOnIt) {
  std::mt19937 random(4);
  OneNode node(PortRule::kFirstFree, 3);
  uint64_t now = 1000;
  int free = 0, none_free = 0;
  for (int i = 0; i < 20'000; ++i) {
    now += random() % 80;
    const auto [there, port] = node.Offer(now, static_cast<uint16_t>(64 + random() % 100));
    const auto empty = std::find(there.begin(), there.end(), 0u);
    ASSERT_EQ(port, empty == there.end() ? 0u : static_cast<size_t>(empty - there.begin()));
    ++(empty == there.end() ? none_free : free);
  }
  EXPECT_GT(free, 1000);
  EXPECT_GT(none_free, 1000);
}

}  // namespace
}  // namespace bfly::dataplane

// SPDX-License-Identifier: Apache-2.0
// LinkLoad packs the counts of a path's links together; here each link has a number of its own.
#include "control/protocols/link_load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "topologies/random.h"

namespace bfly::control {
namespace {

// Every kind, from the smallest size on.
std::vector<Network> AllNetworks(uint32_t most_rows) {
  std::vector<Network> networks;
  for (const NetworkKind kind : AllKinds()) {
    for (uint32_t rows = 2; rows <= most_rows; rows *= 2) {
      for (const int passes : {1, 2}) {
        const auto network =
            Network::Make({.kind = kind, .rows = rows, .seed = 5, .passes = passes});
        if (network.ok()) networks.push_back(*network);
      }
    }
  }
  for (uint32_t rows = 2; rows <= most_rows; rows *= 4) {
    networks.push_back(
        *Network::Make({.kind = NetworkKind::kDilatedButterfly, .rows = rows, .multiplicity = 2}));
  }
  return networks;
}

TEST(LinkSlots, EveryLinkHasOneOfItsOwn) {
  for (const Network& network : AllNetworks(512)) {
    const LinkSlots slots(network);
    std::set<uint64_t> taken;
    for (uint64_t index = 0; index < network.link_count(); ++index) {
      const LinkId link = network.link_at(index);
      const uint64_t slot = slots.slot(link.stage, link.row, link.port);
      ASSERT_LT(slot, slots.size());
      ASSERT_TRUE(taken.insert(slot).second) << KindName(network.kind()) << " " << index;
    }
    // And back, some at a time.
    for (const uint64_t part : {uint64_t{1}, uint64_t{3}}) {
      std::vector<uint64_t> ascending;
      for (const uint64_t slot : taken) {
        if (slot % part == 0) ascending.push_back(slot);
      }
      std::vector<uint64_t> links = ascending;
      slots.ToLinkIndexes(links);
      for (size_t i = 0; i < links.size(); ++i) {
        const LinkId link = network.link_at(links[i]);
        ASSERT_EQ(slots.slot(link.stage, link.row, link.port), ascending[i])
            << KindName(network.kind()) << " of " << network.rows();
      }
    }
  }
}

// From any hop to any other, as the walk along the links finds them.
TEST(LinkSlots, FollowsAPathLinkByLink) {
  for (const Network& network : AllNetworks(64)) {
    const LinkSlots slots(network);
    const int hops = network.hops(), bits = network.tag_layout().bits();
    for (uint64_t i = 0; i < 50; ++i) {
      const Row input = RandomBelow(1, RandomStream::kPermutation, 2 * i, network.rows());
      const Tag tag = Random64(2, RandomStream::kPermutation, i) & ((Tag{1} << bits) - 1);
      const std::vector<Row> rows = WalkTag(network, input, tag);
      for (int first = 0; first < hops; ++first) {
        for (int last = first; last <= hops; ++last) {
          std::vector<uint64_t> expected, found;
          for (int hop = first; hop < last; ++hop) {
            expected.push_back(
                slots.slot(network.stage_of_hop(hop), rows[hop], PortOfHop(network, tag, hop)));
          }
          slots.ForEach(rows[first], tag, first, last,
                        [&](uint64_t slot) { found.push_back(slot); });
          ASSERT_EQ(found, expected) << KindName(network.kind()) << " of " << network.rows()
                                     << " rows, hops " << first << " to " << last;
        }
      }
    }
  }
}

// What makes minimum fast on a large network.
TEST(LinkSlots, APathOfALargeNetworkTouchesEightLines) {
  const Network bb =
      Network::Make({.kind = NetworkKind::kTwoFoldButterfly, .rows = 65536, .seed = 1}).value();
  const LinkSlots slots(bb);
  std::set<uint64_t> lines;
  slots.ForEach(12345, 0xcafe1234, 0, bb.hops(),
                [&](uint64_t slot) { lines.insert(slot / LinkSlots::kLine); });
  EXPECT_EQ(lines.size(), 8u);
}

// In parts of three lines, against the plain counts of the links.
void ExpectReadByLines(const LinkLoad& load, const std::vector<uint32_t>& plain) {
  constexpr uint64_t kPart = 3;
  std::map<uint32_t, uint64_t> expected, counted;
  for (const uint32_t circuits : plain) {
    if (circuits > 0) ++expected[circuits];
  }
  for (uint64_t line = 0; line < load.lines(); line += kPart) {
    load.CountLinks(line, std::min(load.lines(), line + kPart), counted);
  }
  ASSERT_EQ(counted, expected);
  for (const uint32_t least : {1u, 2u, 7u, 15u, 16u, 100u}) {
    std::map<uint64_t, uint32_t> wanted, found;
    for (uint64_t link = 0; link < plain.size(); ++link) {
      if (plain[link] >= least) wanted[link] = plain[link];
    }
    for (uint64_t line = 0; line < load.lines(); line += kPart) {
      const LinkLoad::Loaded loaded =
          load.LinksWith(line, std::min(load.lines(), line + kPart), least);
      ASSERT_EQ(loaded.links.size(), loaded.circuits.size());
      for (size_t i = 0; i < loaded.links.size(); ++i) {
        ASSERT_TRUE(found.emplace(loaded.links[i], loaded.circuits[i]).second);
      }
    }
    ASSERT_EQ(found, wanted) << "least " << least;
  }
}

// The circuits on a link, without those on a hypercube that keep their row there.
uint32_t OnCrossLink(const Network& network, uint64_t index, uint32_t circuits) {
  const auto [stage, row, port] = network.link_at(index);
  const bool free =
      network.kind() == NetworkKind::kHypercube && network.next_row(stage, row, port) == row;
  return free ? 0 : circuits;
}

// Far beyond what a packed count holds: half the paths go over few links.
TEST(LinkLoad, AgreesWithAPlainCountAfterAnySequence) {
  for (const Network& network : AllNetworks(32)) {
    const int bits = network.tag_layout().bits();
    LinkLoad load(network);
    std::vector<uint32_t> plain(network.link_count());
    std::vector<std::pair<Row, Tag>> standing;
    for (uint64_t i = 0; i < 2000; ++i) {
      const auto random = [i](uint64_t which) {
        return Random64(3, RandomStream::kPermutation, 4 * i + which);
      };
      // More come than go, and then the other way round.
      const bool comes = standing.empty() || random(0) % 100 < (i < 1200 ? 80 : 20);
      if (comes) {
        const Tag tag = random(1) & ((Tag{1} << bits) - 1);
        standing.emplace_back(random(2) % 2 == 0 ? 0 : random(2) / 2 % network.rows(),
                              random(3) % 2 == 0 ? 0 : tag);
        load.Add(standing.back().first, standing.back().second);
      } else {
        std::swap(standing[random(1) % standing.size()], standing.back());
        load.Remove(standing.back().first, standing.back().second);
      }
      const auto [input, tag] = standing.back();
      ForEachLink(network, input, tag, [&](uint64_t link) { plain[link] += comes ? 1 : ~0u; });
      uint32_t most = 0;
      ForEachLink(network, input, tag, [&](uint64_t link) {
        most = std::max(most, OnCrossLink(network, link, plain[link]));
      });
      ASSERT_EQ(load.MaxOnPath(input, tag), most);
      if (!comes) standing.pop_back();
      if (i % 100 != 0) continue;
      ASSERT_EQ(load.counts(), plain) << KindName(network.kind()) << " of " << network.rows();
      uint32_t congestion = 0;
      for (uint64_t link = 0; link < plain.size(); ++link) {
        congestion = std::max(congestion, OnCrossLink(network, link, plain[link]));
      }
      ASSERT_EQ(load.Congestion(), congestion);
      ASSERT_EQ(load.paths(), standing.size());
      ExpectReadByLines(load, plain);
    }
    for (uint64_t link = 0; link < plain.size(); ++link) {
      ASSERT_EQ(load.on_index(link), plain[link]);
    }
    while (!standing.empty()) {
      load.Remove(standing.back().first, standing.back().second);
      standing.pop_back();
    }
    EXPECT_THAT(load.counts(), ::testing::Each(0u));
  }
}

}  // namespace
}  // namespace bfly::control

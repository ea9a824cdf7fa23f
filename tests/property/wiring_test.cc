// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/property/paper.h"
#include "topologies/describe.h"
#include "topologies/network.h"
#include "topologies/tag.h"

namespace bfly {
namespace {

std::vector<NetworkSpec> EverySpecUpTo(uint32_t most_rows) {
  std::vector<NetworkSpec> specs;
  for (NetworkKind kind : AllKinds()) {
    for (uint32_t rows = 2; rows <= most_rows; rows *= 2) {
      specs.push_back({.kind = kind, .rows = rows, .seed = 5});
      if (kind == NetworkKind::kWrappedButterfly) {
        specs.push_back({.kind = kind, .rows = rows, .seed = 5, .passes = 2});
      }
      if (kind == NetworkKind::kDilatedButterfly) {
        specs.push_back({.kind = kind, .rows = rows, .multiplicity = 2});
        specs.push_back({.kind = kind, .rows = rows, .multiplicity = 3});
      }
      if (kind == NetworkKind::kMultibutterfly && rows >= 4) {
        specs.push_back({.kind = kind, .rows = rows, .seed = 5, .multiplicity = 2});
        if (rows >= 8) specs.push_back({.kind = kind, .rows = rows, .seed = 5, .multiplicity = 3});
      }
      for (const int extra : {1, 2, 3, 4, 7}) {
        if (kind != NetworkKind::kButterfly) break;
        specs.push_back({.kind = kind, .rows = rows, .extra_stages = extra});
      }
    }
  }
  return specs;
}

// Whether every hop goes by the first port that leads where it leads.
bool IsByFirstPorts(const Network& network, Row input, const std::vector<int>& ports) {
  Row row = input;
  for (int hop = 0; hop < network.hops(); ++hop) {
    const int stage = network.stage_of_hop(hop);
    const Row next = network.next_row(stage, row, ports[hop]);
    for (int port = 0; port < ports[hop]; ++port) {
      if (network.next_row(stage, row, port) == next) return false;
    }
    row = next;
  }
  return true;
}

TEST(Wiring, EveryPairIsJoinedByItsGreedyTagOverThePapersEdges) {
  for (const NetworkSpec& spec : EverySpecUpTo(64)) {
    const Network network = Network::Make(spec).value();
    for (Row input = 0; input < spec.rows; ++input) {
      for (Row output = 0; output < spec.rows; ++output) {
        const Tag tag = GreedyTag(network, input, output);
        const std::vector<Row> rows = WalkTag(network, input, tag);
        ASSERT_EQ(rows, paper::WalkPorts(network, input, PortsOfTag(network, tag)));
        ASSERT_EQ(rows.back(), output) << KindName(spec.kind) << " " << spec.rows;
        ASSERT_EQ(OutputOfTag(network, tag), output);
        ASSERT_EQ(TagOfPath(network, rows).value(), tag);
      }
    }
  }
}

TEST(Wiring, EveryTagOfASmallNetworkEndsAtItsOutputWhereverItStarts) {
  for (const NetworkSpec& spec : EverySpecUpTo(8)) {
    const Network network = Network::Make(spec).value();
    for (Tag tag = 0; tag < Tag{1} << network.tag_layout().bits(); ++tag) {
      if (!network.tag_layout().IsPath(tag)) continue;
      const std::vector<int> ports = PortsOfTag(network, tag);
      for (Row input = 0; input < spec.rows; ++input) {
        const std::vector<Row> rows = WalkTag(network, input, tag);
        ASSERT_EQ(rows, paper::WalkPorts(network, input, ports));
        ASSERT_EQ(rows.back(), OutputOfTag(network, tag));
        ASSERT_EQ(TagOfPath(network, rows).value() == tag, IsByFirstPorts(network, input, ports));
        ASSERT_EQ(TagOfPorts(network, ports).value(), tag);
      }
    }
  }
}

// Parallel edges counted (THEORY.md 5.1).
void ExpectDToTheHopsPaths(NetworkKind kind) {
  for (const int multiplicity : {1, 2, 3, 4}) {
    const Network network =
        Network::Make({.kind = kind, .rows = 8, .seed = 2, .multiplicity = multiplicity}).value();
    // Paths counted link by link, with none of the tag's code.
    for (Row input = 0; input < 8; ++input) {
      std::vector<int> paths(8);
      paths[input] = 1;
      for (int stage = 0; stage < network.stages(); ++stage) {
        std::vector<int> next(8);
        for (Row row = 0; row < 8; ++row) {
          for (int port = 0; port < network.ports(); ++port) {
            next[network.next_row(stage, row, port)] += paths[row];
          }
        }
        paths.swap(next);
      }
      const int expected = multiplicity * multiplicity * multiplicity;
      ASSERT_EQ(paths, std::vector<int>(8, expected));
      // And tag by tag.
      std::vector<int> tags(8);
      for (Tag tag = 0; tag < Tag{1} << network.tag_layout().bits(); ++tag) {
        if (network.tag_layout().IsPath(tag)) ++tags[OutputOfTag(network, tag)];
      }
      ASSERT_EQ(tags, std::vector<int>(8, expected));
    }
  }
}

TEST(Wiring, EveryPairOfADilatedButterflyIsJoinedByDToTheHopsPaths) {
  ExpectDToTheHopsPaths(NetworkKind::kDilatedButterfly);
}

TEST(Wiring, EveryPairOfAMultibutterflyIsJoinedByDToTheHopsPaths) {
  ExpectDToTheHopsPaths(NetworkKind::kMultibutterfly);
}

// THEORY.md 4.1 and 4.2: the first r transitions repeat, either way may be taken in them, and the
// d after them set every position to the output's.
TEST(Wiring, ExtraStagesGiveEveryPairTwoToTheExtraPaths) {
  for (const int extra : {0, 1, 2, 3, 5}) {
    const Network network =
        Network::Make({.kind = NetworkKind::kButterfly, .rows = 8, .extra_stages = extra}).value();
    ASSERT_EQ(network.hops(), 3 + extra);
    for (Row input = 0; input < 8; ++input) {
      std::vector<int> paths(8);
      for (Tag tag = 0; tag < Tag{1} << network.hops(); ++tag) {
        paper::Digits w = paper::DigitsOf(input, 3);
        for (int k = 0; k < network.hops(); ++k) {
          w[k % 3] = static_cast<int>(tag >> (network.hops() - 1 - k) & 1);
        }
        ASSERT_EQ(WalkTag(network, input, tag).back(), paper::RowOf(w));
        ++paths[paper::RowOf(w)];
      }
      ASSERT_EQ(paths, std::vector<int>(8, 1 << extra));
    }
  }
}

TEST(Wiring, EveryNodeHasAsManyLinksInAsOutAndTheReverseMapFindsThemAll) {
  for (const NetworkSpec& spec : EverySpecUpTo(64)) {
    const Network network = Network::Make(spec).value();
    for (int stage = 0; stage < network.stages(); ++stage) {
      std::vector<std::vector<LinkId>> into(spec.rows);
      for (Row row = 0; row < spec.rows; ++row) {
        for (int port = 0; port < network.ports(); ++port) {
          into[network.next_row(stage, row, port)].push_back({stage, row, port});
        }
      }
      for (Row row = 0; row < spec.rows; ++row) {
        ASSERT_EQ(into[row].size(), static_cast<size_t>(network.ports()));
        ASSERT_EQ(network.feeders(stage, row), into[row])
            << KindName(spec.kind) << " " << spec.rows;
      }
    }
  }
}

TEST(Wiring, PortGivesTheBitAtThePositionOfItsStage) {
  for (const NetworkSpec& spec : EverySpecUpTo(64)) {
    const Network network = Network::Make(spec).value();
    for (const LinkEnds& ends : AllLinks(network)) {
      const int position = network.position_of_stage(ends.link.stage);
      ASSERT_EQ(paper::DigitsOf(ends.next_row, network.dimension())[position - 1], ends.direction);
    }
  }
}

TEST(Wiring, LinkIndexCountsEveryLinkOnceAndLinkAtInvertsIt) {
  for (const NetworkSpec& spec : EverySpecUpTo(64)) {
    const Network network = Network::Make(spec).value();
    uint64_t expected = 0;
    for (int stage = 0; stage < network.stages(); ++stage) {
      for (Row row = 0; row < spec.rows; ++row) {
        for (int port = 0; port < network.ports(); ++port) {
          const LinkId link{stage, row, port};
          ASSERT_EQ(network.link_index(link), expected);
          ASSERT_EQ(network.link_at(expected), link);
          ASSERT_TRUE(network.CheckLink(link).ok());
          ++expected;
        }
      }
    }
    ASSERT_EQ(network.link_count(), expected);
  }
}

}  // namespace
}  // namespace bfly

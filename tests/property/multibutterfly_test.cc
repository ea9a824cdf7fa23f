// SPDX-License-Identifier: Apache-2.0
// Every splitter of multibutterflies, against a plain construction and against what the papers say
// of a splitter.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/property/paper_multibutterfly.h"
#include "topologies/describe.h"
#include "topologies/network.h"

namespace bfly {
namespace {

Network Multibutterfly(uint32_t rows, int multiplicity, ParallelEdges edges, uint64_t seed) {
  return Network::Make({.kind = NetworkKind::kMultibutterfly,
                        .rows = rows,
                        .seed = seed,
                        .multiplicity = multiplicity,
                        .parallel_edges = edges})
      .value();
}

// Calls check(network, splitter) for every splitter of networks of 2 to 128 rows.
template <typename Check>
void ForEverySplitter(ParallelEdges edges, const Check& check) {
  for (uint32_t rows = 2; rows <= 128; rows *= 2) {
    for (const int multiplicity : {1, 2, 3, 4, 8, 16}) {
      if (static_cast<uint32_t>(multiplicity) > rows / 2) continue;
      const Network network = Multibutterfly(rows, multiplicity, edges, 11);
      ASSERT_EQ(network.stages(), network.dimension());
      const auto splitters = paper::SplittersOf(rows, network.stages());
      ASSERT_EQ(splitters.size(), rows - 1);
      for (const paper::Splitter& splitter : splitters) {
        SCOPED_TRACE(testing::Message() << rows << " rows, " << multiplicity << " links, column "
                                        << splitter.c << ", splitter " << splitter.j);
        check(network, splitter);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(Multibutterfly, KeepsThePermutationsOfThePlainConstruction) {
  ForEverySplitter(ParallelEdges::kKeep, [](const Network& network, const paper::Splitter& s) {
    for (uint32_t i = 0; i < s.inputs.size();
         i += 1 + static_cast<uint32_t>(s.inputs.size()) / 16) {
      for (int port = 0; port < network.ports(); ++port) {
        const int side = port / network.multiplicity();
        ASSERT_EQ(network.direction_of(port), side);
        ASSERT_EQ(network.next_row(s.c, s.inputs[i], port),
                  paper::HeadOf(s, side, port % network.multiplicity(), i, 11));
      }
    }
  });
}

// Section 2 of Pietracaprina 1997: d neighbours a side, and each output has 2d neighbours in U.
void CheckDegrees(const Network& network, const paper::Splitter& s) {
  const auto d = static_cast<size_t>(network.multiplicity());
  for (int side = 0; side < 2; ++side) {
    std::map<Row, size_t> into;
    for (const Row input : s.inputs) {
      for (size_t k = 0; k < d; ++k) {
        const int port = side * network.multiplicity() + static_cast<int>(k);
        ++into[network.next_row(s.c, input, port)];
      }
    }
    ASSERT_EQ(into.size(), s.outputs[side].size());
    for (const Row output : s.outputs[side]) ASSERT_EQ(into[output], 2 * d);
  }
}

TEST(Multibutterfly, EveryOutputOfASideHasTwiceAsManyEdgesAsAnInput) {
  ForEverySplitter(ParallelEdges::kKeep, CheckDegrees);
  ForEverySplitter(ParallelEdges::kAvoid, CheckDegrees);
}

// Of d edges to m/2 outputs no input can have fewer than floor(d / (m/2)) to one of them, and an
// input with more than ceil(d / (m/2)) to one has a parallel edge that can be avoided.
TEST(Multibutterfly, AvoidsEveryParallelEdgeThatCanBeAvoided) {
  ForEverySplitter(ParallelEdges::kAvoid, [](const Network& network, const paper::Splitter& s) {
    const auto d = static_cast<size_t>(network.multiplicity());
    const size_t outputs = s.inputs.size() / 2;
    for (const Row input : s.inputs) {
      for (int side = 0; side < 2; ++side) {
        std::map<Row, size_t> to;
        for (size_t k = 0; k < d; ++k) {
          const int port = side * network.multiplicity() + static_cast<int>(k);
          ++to[network.next_row(s.c, input, port)];
        }
        ASSERT_EQ(to.size(), std::min(d, outputs));
        for (const auto& [output, edges] : to) {
          ASSERT_GE(edges, d / outputs);
          ASSERT_LE(edges, (d + outputs - 1) / outputs);
        }
      }
    }
  });
}

TEST(Multibutterfly, AvoidingLeavesMostEdgesWhereTheyWere) {
  const Network kept = Multibutterfly(1024, 4, ParallelEdges::kKeep, 3);
  const Network avoided = Multibutterfly(1024, 4, ParallelEdges::kAvoid, 3);
  // In column 0 an edge is parallel to one of at most 3 others with probability below 3/512, and
  // moving it moves at most a few more.
  size_t moved = 0;
  for (size_t i = 0; i < kept.wiring(0).table.size(); ++i) {
    moved += kept.wiring(0).table[i] != avoided.wiring(0).table[i];
  }
  EXPECT_GT(moved, 0u);
  EXPECT_LT(moved, kept.wiring(0).table.size() / 50);
}

TEST(Multibutterfly, IsAFunctionOfItsSeed) {
  for (const ParallelEdges edges : {ParallelEdges::kKeep, ParallelEdges::kAvoid}) {
    const Network one = Multibutterfly(64, 3, edges, 7);
    const Network again = Multibutterfly(64, 3, edges, 7);
    const Network other = Multibutterfly(64, 3, edges, 8);
    for (int stage = 0; stage < 5; ++stage) {
      EXPECT_EQ(one.wiring(stage).table, again.wiring(stage).table);
      EXPECT_NE(one.wiring(stage).table, other.wiring(stage).table);
    }
  }
}

// No two splitters, sides or edges share random numbers: two permutations of as many elements are
// equal with probability 1 / 32!.
TEST(Multibutterfly, DrawsEveryPermutationAnew) {
  const Network network = Multibutterfly(256, 4, ParallelEdges::kKeep, 1);
  std::vector<std::vector<Row>> columns;
  for (int stage = 0; stage <= 3; ++stage) {
    const Row inputs = 256u >> stage;
    for (Row first = 0; first < 256; first += inputs) {
      for (int port = 0; port < network.ports(); ++port) {
        std::vector<Row>& heads = columns.emplace_back();
        for (Row i = 0; i < 32; ++i) {
          heads.push_back(network.next_row(stage, first + i, port) % (inputs / 2));
        }
      }
    }
  }
  std::sort(columns.begin(), columns.end());
  EXPECT_EQ(std::unique(columns.begin(), columns.end()), columns.end());
}

}  // namespace
}  // namespace bfly

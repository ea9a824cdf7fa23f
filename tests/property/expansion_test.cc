// SPDX-License-Identifier: Apache-2.0
// Expansion of random splitters, against sets of inputs that are tried one by one.
#include "topologies/expansion.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "topologies/splitter_report.h"

namespace bfly {
namespace {

Network RandomSplitters(uint32_t rows, int multiplicity, ParallelEdges edges, uint64_t seed) {
  return Network::Make({.kind = NetworkKind::kMultibutterfly,
                        .rows = rows,
                        .seed = seed,
                        .multiplicity = multiplicity,
                        .parallel_edges = edges})
      .value();
}

// The fewest next rows of k rows of a splitter on one side, k = 0..m: every set is built and its
// next rows are gathered anew.
std::vector<uint32_t> ByTrial(const Network& network, int stage, Row first, int direction) {
  const uint32_t m = network.rows() >> stage;
  std::vector<uint32_t> fewest(m + 1, m);
  for (uint32_t set = 0; set < 1u << m; ++set) {
    std::set<Row> heads;
    uint32_t size = 0;
    for (uint32_t i = 0; i < m; ++i) {
      if ((set >> i & 1) == 0) continue;
      ++size;
      for (int port = 0; port < network.ports(); ++port) {
        if (network.direction_of(port) == direction) {
          heads.insert(network.next_row(stage, first + i, port));
        }
      }
    }
    fewest[size] = std::min(fewest[size], static_cast<uint32_t>(heads.size()));
  }
  return fewest;
}

uint32_t LargestByTrial(const std::vector<uint32_t>& fewest, double beta) {
  for (uint32_t k = 1; k < fewest.size(); ++k) {
    if (fewest[k] < beta * k) return k - 1;
  }
  return static_cast<uint32_t>(fewest.size()) - 1;
}

TEST(Expansion, ExactIsWhatATrialOfAllSetsFindsAndTheOthersStandOnBothSides) {
  const std::vector<double> betas = {1, 1.25, 1.5, 2, 3};
  for (const ParallelEdges edges : {ParallelEdges::kKeep, ParallelEdges::kAvoid}) {
    for (const int multiplicity : {1, 2, 3}) {
      for (uint64_t seed = 1; seed <= 3; ++seed) {
        const Network network = RandomSplitters(8, multiplicity, edges, seed);
        for (int stage = 0; stage < 3; ++stage) {
          const uint32_t m = 8u >> stage;
          for (uint32_t splitter = 0; splitter < 1u << stage; ++splitter) {
            for (const int direction : {0, 1}) {
              const SplitterSide side = SideOf(network, stage, splitter, direction);
              const std::vector<uint32_t> exact = ExactFewestNeighbours(side);
              ASSERT_EQ(exact, ByTrial(network, stage, splitter * m, direction));
              const std::vector<uint32_t> certified =
                  CertifiedNeighbours(side, SecondSingularValueSquared(side));
              for (uint32_t k = 0; k <= m; ++k) ASSERT_LE(certified[k], exact[k]);
              const auto found = SearchFewNeighbours(side, betas, 4, seed);
              for (size_t i = 0; i < betas.size(); ++i) {
                if (found[i].inputs.empty()) continue;
                ASSERT_GT(found[i].inputs.size(), LargestByTrial(exact, betas[i]));
                std::set<uint32_t> heads;
                for (const uint32_t input : found[i].inputs) {
                  for (const uint32_t head : side.NeighboursOf(input)) heads.insert(head);
                }
                ASSERT_EQ(heads.size(), found[i].neighbours);
                ASSERT_LT(found[i].neighbours,
                          betas[i] * static_cast<double>(found[i].inputs.size()));
              }
            }
          }
        }
      }
    }
  }
}

// With 16 inputs the certified bound and the search have sets to differ on.
TEST(Expansion, BoundsHoldOnSplittersOfSixteenInputs) {
  for (const int multiplicity : {2, 4, 8}) {
    const Network network = RandomSplitters(32, multiplicity, ParallelEdges::kAvoid, 5);
    for (uint32_t splitter = 0; splitter < 2; ++splitter) {
      const SplitterSide side = SideOf(network, 1, splitter, 0);
      const std::vector<uint32_t> exact = ExactFewestNeighbours(side);
      const std::vector<uint32_t> certified =
          CertifiedNeighbours(side, SecondSingularValueSquared(side));
      for (uint32_t k = 0; k <= 16; ++k) ASSERT_LE(certified[k], exact[k]) << k;
      for (const double beta : {1.0, 1.5, 2.0}) {
        for (const FewNeighbours& set : SearchFewNeighbours(side, {beta}, 32, 1)) {
          if (set.inputs.empty()) continue;
          EXPECT_GT(set.inputs.size(), LargestExpanding(exact, beta));
        }
      }
    }
  }
}

TEST(SplitterReport, OfSmallSplittersIsExactOverAllOfThem) {
  for (const int multiplicity : {1, 2, 4}) {
    const Network network = RandomSplitters(8, multiplicity, ParallelEdges::kKeep, 9);
    const SplitterReport report = ReportSplitters(network);
    EXPECT_TRUE(report.examined_all);
    ASSERT_EQ(report.levels.size(), 3u);
    for (size_t i = 0; i < report.network.size(); ++i) {
      const double beta = report.network[i].beta;
      double alpha = 1e9;
      for (int stage = 0; stage < 3; ++stage) {
        const uint32_t m = 8u >> stage;
        uint32_t largest = m;
        for (Row first = 0; first < 8; first += m) {
          for (const int direction : {0, 1}) {
            largest =
                std::min(largest, LargestByTrial(ByTrial(network, stage, first, direction), beta));
          }
        }
        const LevelExpansion& level = report.levels[stage];
        EXPECT_TRUE(level.exact);
        EXPECT_EQ(level.inputs, m);
        EXPECT_EQ(level.splitters, 1u << stage);
        EXPECT_EQ(level.examined, level.splitters);
        EXPECT_EQ(level.sets[i].beta, beta);
        EXPECT_EQ(level.sets[i].at_least, largest);
        EXPECT_EQ(level.sets[i].at_most, largest);
        EXPECT_FALSE(level.sets[i].violation.has_value());
        alpha = std::min(alpha, (largest + 1.0) / m);
      }
      EXPECT_DOUBLE_EQ(report.network[i].alpha_at_least, alpha);
      EXPECT_DOUBLE_EQ(report.network[i].alpha_at_most, alpha);
    }
  }
}

TEST(SplitterReport, OfLargeSplittersGivesBoundsAndSetsThatViolate) {
  const Network network = RandomSplitters(256, 4, ParallelEdges::kAvoid, 2);
  const SplitterReport report = ReportSplitters(network);
  EXPECT_TRUE(report.examined_all);
  size_t violations = 0;
  for (int stage = 0; stage < 8; ++stage) {
    const LevelExpansion& level = report.levels[stage];
    EXPECT_EQ(level.exact, level.inputs <= 16);
    EXPECT_EQ(level.second_singular_value.has_value(), !level.exact);
    for (const ExpandingSets& sets : level.sets) {
      EXPECT_LE(sets.at_least, sets.at_most);
      EXPECT_LE(sets.beta * sets.at_most, level.inputs / 2.0 + 1e-9);
      if (!sets.violation.has_value()) continue;
      ++violations;
      std::set<Row> heads;
      for (const Row row : sets.violation->inputs) {
        EXPECT_EQ(row / level.inputs, sets.violation->splitter);
        for (int port = 0; port < 8; ++port) {
          if (network.direction_of(port) == sets.violation->direction) {
            heads.insert(network.next_row(stage, row, port));
          }
        }
      }
      EXPECT_EQ(sets.violation->inputs.size(), sets.at_most + 1);
      EXPECT_EQ(heads.size(), sets.violation->neighbours);
      EXPECT_LT(static_cast<double>(heads.size()), sets.beta * (sets.at_most + 1));
    }
  }
  EXPECT_GT(violations, 0u);
  // A good random splitter of degree 4 has a second singular value well below the first, 4 sqrt 2.
  EXPECT_LT(*report.levels[0].second_singular_value, 0.9 * 4 * std::sqrt(2));
  // Every input has four different neighbours, so four inputs have at least as many.
  EXPECT_GE(report.levels[0].sets[0].at_least, 4u);
}

TEST(SplitterReport, IsAFunctionOfTheNetwork) {
  const Network network = RandomSplitters(64, 2, ParallelEdges::kAvoid, 2);
  const SplitterReport one = ReportSplitters(network);
  const SplitterReport again = ReportSplitters(network);
  for (size_t i = 0; i < one.network.size(); ++i) {
    EXPECT_EQ(one.network[i].alpha_at_most, again.network[i].alpha_at_most);
    EXPECT_EQ(one.network[i].alpha_at_least, again.network[i].alpha_at_least);
  }
}

}  // namespace
}  // namespace bfly

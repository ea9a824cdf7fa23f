// SPDX-License-Identifier: Apache-2.0
// Expansion of sides whose neighbours can be counted by hand, and the theorems' own figures.
#include "topologies/expansion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "topologies/expansion_theory.h"

namespace bfly {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

// Input i leads to the outputs of to(i).
template <typename To>
SplitterSide Side(uint32_t inputs, int degree, const To& to) {
  SplitterSide side{.inputs = inputs, .degree = degree, .heads = {}};
  for (uint32_t input = 0; input < inputs; ++input) {
    for (int link = 0; link < degree; ++link) side.heads.push_back(to(input, link));
  }
  return side;
}

// Every input leads to every output.
SplitterSide Complete(uint32_t inputs) {
  return Side(inputs, static_cast<int>(inputs / 2), [](uint32_t, int link) { return link; });
}

// All links of an input lead to one output, which it shares with one other input.
SplitterSide Pairs(uint32_t inputs, int degree) {
  return Side(inputs, degree, [&](uint32_t input, int) { return input % (inputs / 2); });
}

// Outputs stand in a ring; inputs 2o and 2o + 1 lead to outputs o and o + 1.
SplitterSide Ring(uint32_t inputs) {
  return Side(inputs, 2, [&](uint32_t input, int link) {
    return (input / 2 + static_cast<uint32_t>(link)) % (inputs / 2);
  });
}

TEST(Expansion, OfACompleteSideIsAllOutputsFromOneInputOn) {
  const SplitterSide side = Complete(8);
  EXPECT_THAT(ExactFewestNeighbours(side), ElementsAre(0, 4, 4, 4, 4, 4, 4, 4, 4));
  EXPECT_NEAR(SecondSingularValueSquared(side), 0, 1e-9);
  EXPECT_THAT(CertifiedNeighbours(side, SecondSingularValueSquared(side)),
              ElementsAre(0, 4, 4, 4, 4, 4, 4, 4, 4));
  // 4 neighbours are beta * k for k up to 4 / beta.
  const std::vector<uint32_t> exact = ExactFewestNeighbours(side);
  EXPECT_EQ(LargestExpanding(exact, 1), 4u);
  EXPECT_EQ(LargestExpanding(exact, 1.5), 2u);
  EXPECT_EQ(LargestExpanding(exact, 2), 2u);
  EXPECT_EQ(LargestExpanding(exact, 4), 1u);
  EXPECT_EQ(LargestExpanding(exact, 4.5), 0u);
}

TEST(Expansion, OfPairsIsHalfAnOutputAnInput) {
  const SplitterSide side = Pairs(8, 3);
  EXPECT_THAT(ExactFewestNeighbours(side), ElementsAre(0, 1, 1, 2, 2, 3, 3, 4, 4));
  // The side falls into parts, so the second singular value is as large as the first: 2 * 3^2.
  EXPECT_NEAR(SecondSingularValueSquared(side), 18, 1e-9);
  EXPECT_THAT(CertifiedNeighbours(side, 18), ElementsAre(0, 1, 1, 2, 2, 3, 3, 4, 4));
  EXPECT_EQ(LargestExpanding(ExactFewestNeighbours(side), 1), 1u);
  EXPECT_EQ(LargestExpanding(ExactFewestNeighbours(side), 1.25), 0u);
  const auto found = SearchFewNeighbours(side, {0.5, 1, 1.25}, 1, 7);
  EXPECT_THAT(found[0].inputs, ElementsAre());
  ASSERT_EQ(found[1].inputs.size(), 2u);
  EXPECT_EQ(found[1].inputs[0] + 4, found[1].inputs[1]);
  EXPECT_EQ(found[1].neighbours, 1u);
  EXPECT_EQ(found[2].inputs.size(), 1u);
}

// k neighbouring inputs of the ring lead to one output more than half of them, rounded up.
TEST(Expansion, OfARingIsThatOfItsArcs) {
  const SplitterSide side = Ring(12);
  EXPECT_THAT(ExactFewestNeighbours(side), ElementsAre(0, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 6, 6));
  // The squares of its singular values are 4 + 4 cos(2 pi j / 6), j = 0..5.
  const double second = 4 + 4 * std::cos(2 * std::numbers::pi / 6);
  EXPECT_GE(SecondSingularValueSquared(side), second);
  EXPECT_THAT(SecondSingularValueSquared(side), DoubleNear(second, 1e-9));
  // Tanner's bound by hand: 4k / (6 + 2k/12) is 0.65, 1.26, 1.85, 2.4 for k = 1..4.
  const std::vector<uint32_t> certified = CertifiedNeighbours(side, second);
  EXPECT_EQ(certified[1], 2u);
  EXPECT_EQ(certified[2], 2u);
  EXPECT_EQ(certified[3], 2u);
  EXPECT_EQ(certified[4], 3u);
  EXPECT_EQ(LargestExpanding(ExactFewestNeighbours(side), 1), 3u);
  // The search walks along the ring: the first arc with fewer outputs than inputs has four of them.
  const auto found = SearchFewNeighbours(side, {1}, 1, 5);
  EXPECT_EQ(found[0].inputs.size(), 4u);
  EXPECT_EQ(found[0].neighbours, 3u);
}

// The bounds of THEORY.md 5.1 and 5.3, and of 3.1.
TEST(ExpansionTheory, AcceptsWhatThePapersAccept) {
  EXPECT_NEAR(1 / AlphaOfConcentrators(4, 2), 32 * std::exp(3), 1e-9);
  const struct {
    double beta;
    int c;
    double inverse;
  } table[] = {{1.5, 4, 52.4}, {2, 4, 642.7}, {2, 6, 21.7},  {2, 8, 11.0},
               {3, 8, 30.4},   {3, 12, 13.5}, {4, 12, 24.3}, {8, 16, 95.0}};
  for (const auto& row : table) {
    EXPECT_NEAR(1 / AlphaOfConcentrators(row.c, row.beta), row.inverse, 0.05)
        << row.beta << " " << row.c;
  }
  // Fact 1 accepts alpha = 1 / (48 e^2) and beta = 24 from d = 39.436 on.
  const double alpha = 1 / (48 * std::exp(2));
  EXPECT_GT(AlphaOfFact1(40, 24), alpha);
  EXPECT_LT(AlphaOfFact1(39, 24), alpha);
  const double d = 25 + (25 + std::log(48)) / std::log(1 / (2 * alpha * 24));
  EXPECT_NEAR(d, 39.436, 0.001);
  EXPECT_NEAR(DeltaOfNeighbours(40, 24, 8), 1.0 / 33, 1e-12);
}

// For a small beta the logarithms of Fact 1 and Lemma 1 change their sign. beta alpha m neighbours
// are never more than the m / 2 outputs of a side.
TEST(ExpansionTheory, NeverAsksForMoreOutputsThanThereAre) {
  const auto fact_1 = [](double d, double beta, double alpha) {
    return 2 * alpha * beta < 1 &&
           d > beta + 1 + (beta + 1 + std::log(2 * beta)) / std::log(1 / (2 * alpha * beta));
  };
  for (const double beta : {0.01, 0.05, 0.1, 0.13, 0.15, 0.5, 1.0, 2.5}) {
    const double alpha = AlphaOfFact1(4, beta);
    EXPECT_TRUE(fact_1(4, beta, alpha * (1 - 1e-9))) << beta;
    EXPECT_FALSE(fact_1(4, beta, alpha * (1 + 1e-9))) << beta;
    EXPECT_LE(2 * beta * AlphaOfConcentrators(4, beta), 1 + 1e-12) << beta;
  }
  EXPECT_NEAR(AlphaOfFact1(4, 0.1), 5, 1e-12);
  EXPECT_NEAR(AlphaOfConcentrators(4, 0.05), 10, 1e-12);
  EXPECT_LT(AlphaOfConcentrators(4, 0.1), 5);
}

TEST(ExpansionTheory, AcceptsNothingWhereAnInputHasTooFewLinks) {
  EXPECT_EQ(AlphaOfFact1(2, 1), 0);
  EXPECT_EQ(AlphaOfFact1(3, 2), 0);
  EXPECT_EQ(AlphaOfConcentrators(2, 1), 0);
  EXPECT_EQ(DeltaOfNeighbours(16, 11, 8), 0);
  EXPECT_EQ(DeltaOfNeighbours(4, 3, 8), 0);
  EXPECT_GT(DeltaOfNeighbours(16, 12, 8), 0);
}

}  // namespace
}  // namespace bfly

// SPDX-License-Identifier: Apache-2.0
#include "topologies/traffic_pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <map>

namespace bfly {
namespace {

using ::testing::HasSubstr;

TrafficPattern Named(const std::string& name, uint32_t rows, uint64_t seed = 1) {
  return TrafficPattern::Make({.name = name, .seed = seed}, rows).value();
}

std::vector<Row> TableOf(const TrafficPattern& pattern, uint32_t rows, uint64_t index = 0) {
  std::vector<Row> table;
  for (Row row = 0; row < rows; ++row) table.push_back(pattern.Destination(row, index));
  return table;
}

// Pearson's statistic of counts against probabilities.
double ChiSquare(const std::vector<uint64_t>& counts, const std::vector<double>& probability) {
  double total = 0, sum = 0;
  for (uint64_t count : counts) total += static_cast<double>(count);
  for (size_t i = 0; i < counts.size(); ++i) {
    const double expected = total * probability[i];
    sum += (static_cast<double>(counts[i]) - expected) *
           (static_cast<double>(counts[i]) - expected) / expected;
  }
  return sum;
}

// Written down by hand from BookSim's definitions: 3 bits, and a ring of 8.
TEST(TrafficPattern, OfEightRowsAreTheHandTables) {
  const std::map<std::string, std::vector<Row>> tables = {
      {"bitcomp", {7, 6, 5, 4, 3, 2, 1, 0}},
      {"bitrev", {0, 4, 2, 6, 1, 5, 3, 7}},
      // BookSim has no transpose of an odd number of bits; ours transposes a matrix of 4 rows and 2
      // columns into one of 2 rows and 4 columns.
      {"transpose", {0, 4, 1, 5, 2, 6, 3, 7}},
      {"shuffle", {0, 2, 4, 6, 1, 3, 5, 7}},
      {"tornado", {3, 4, 5, 6, 7, 0, 1, 2}},
      {"neighbor", {1, 2, 3, 4, 5, 6, 7, 0}},
  };
  for (const auto& [name, table] : tables) {
    EXPECT_EQ(TableOf(Named(name, 8), 8), table) << name;
    EXPECT_EQ(TableOf(Named(name, 8), 8, 12345), table) << name;
  }
}

TEST(TrafficPattern, OfSixteenRowsAreTheHandTables) {
  const std::map<std::string, std::vector<Row>> tables = {
      {"bitcomp", {15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0}},
      {"bitrev", {0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15}},
      {"transpose", {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15}},
      {"shuffle", {0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15}},
      {"tornado", {7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6}},
      {"neighbor", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0}},
  };
  for (const auto& [name, table] : tables) EXPECT_EQ(TableOf(Named(name, 16), 16), table) << name;
}

TEST(TrafficPattern, RandpermIsOnePermutationForEverAndChangesWithTheSeed) {
  for (uint32_t rows : {2u, 8u, 64u}) {
    const std::vector<Row> table = TableOf(Named("randperm", rows), rows);
    EXPECT_TRUE(CheckPermutation(table, rows).ok());
    EXPECT_EQ(TableOf(Named("randperm", rows), rows, 999), table);
  }
  EXPECT_NE(TableOf(Named("randperm", 64, 1), 64), TableOf(Named("randperm", 64, 2), 64));
}

TEST(TrafficPattern, APermutationIsFollowed) {
  const Permutation given{2, 0, 3, 1};
  const auto pattern =
      TrafficPattern::Make({.name = "permutation", .permutation = given}, 4).value();
  EXPECT_EQ(TableOf(pattern, 4, 7), given);
}

// 63 degrees of freedom: 103.4 is exceeded once in a thousand.
TEST(TrafficPattern, UniformReachesEveryRowAlikeFromEveryRow) {
  const TrafficPattern pattern = Named("uniform", 8);
  std::vector<uint64_t> counts(64);
  TrafficPattern::Words words;
  for (uint64_t index = 0; index < 8000; ++index) {
    for (Row row = 0; row < 8; ++row) {
      const Row to = pattern.Destination(row, index, words);
      ASSERT_EQ(to, pattern.Destination(row, index));
      ++counts[8 * row + to];
    }
  }
  EXPECT_LT(ChiSquare(counts, std::vector<double>(64, 1.0 / 64)), 103.4);
}

// The numbers of packets of a row do not end where the counter of a stream has no more room.
TEST(TrafficPattern, RowsStayIndependentBeyondEveryNumberOfPackets) {
  const std::vector<TrafficPattern> patterns = {
      Named("uniform", 1024), TrafficPattern::Make({.name = "p-flip", .p = 0.5}, 1024).value(),
      TrafficPattern::Make({.name = "hotspot", .hotspots = {0, 1, 2, 3, 4, 5, 6, 7}}, 1024)
          .value()};
  for (const TrafficPattern& pattern : patterns) {
    for (const Row other : {Row{1}, Row{4}}) {  // of a uniform pattern four rows share a block
      int same = 0;
      for (uint64_t k = 0; k < 100; ++k) {
        const Row late = pattern.Destination(0, (uint64_t{1} << 40) + k);
        const Row early = pattern.Destination(other, k);
        same += late == early || late == (early ^ other) ? 1 : 0;  // flips are of the source
      }
      EXPECT_LT(same, 60) << "row " << other;
    }
  }
}

// Pr[z|x] = p^H (1-p)^(d-H), section 1.2 of the theory; 7 degrees of freedom, 24.3 at one in a
// thousand.
TEST(TrafficPattern, PFlipFlipsEveryBitIndependently) {
  for (const double p : {0.1, 0.5, 0.7}) {
    const auto pattern = TrafficPattern::Make({.name = "p-flip", .p = p, .seed = 3}, 8).value();
    std::vector<double> probability;
    for (unsigned flips = 0; flips < 8; ++flips) {
      const int h = std::popcount(flips);
      probability.push_back(std::pow(p, h) * std::pow(1 - p, 3 - h));
    }
    std::vector<uint64_t> counts(8);
    for (uint64_t index = 0; index < 20000; ++index) {
      const Row row = static_cast<Row>(index % 8);
      ++counts[row ^ pattern.Destination(row, index)];
    }
    EXPECT_LT(ChiSquare(counts, probability), 24.3) << p;
  }
  const auto never = TrafficPattern::Make({.name = "p-flip", .p = 0}, 64).value();
  const auto always = TrafficPattern::Make({.name = "p-flip", .p = 1}, 64).value();
  for (Row row = 0; row < 64; ++row) {
    EXPECT_EQ(never.Destination(row, row), row);
    EXPECT_EQ(always.Destination(row, row), 63 - row);
  }
}

// 2 degrees of freedom: 13.8 at one in a thousand.
TEST(TrafficPattern, HotspotsAreHitByTheirWeights) {
  const auto pattern =
      TrafficPattern::Make({.name = "hotspot", .hotspots = {9, 2, 5}, .weights = {5, 3, 2}}, 16)
          .value();
  std::map<Row, uint64_t> hits;
  for (uint64_t index = 0; index < 20000; ++index) ++hits[pattern.Destination(index % 16, index)];
  ASSERT_EQ(hits.size(), 3u);
  EXPECT_LT(ChiSquare({hits[9], hits[2], hits[5]}, {0.5, 0.3, 0.2}), 13.8);

  // The last weight holds for the rest: 1, 3, 3. A weight of 0 is never hit.
  const auto rest =
      TrafficPattern::Make({.name = "hotspot", .hotspots = {0, 1, 2}, .weights = {0, 3}}, 4)
          .value();
  std::map<Row, uint64_t> rest_hits;
  for (uint64_t index = 0; index < 20000; ++index) ++rest_hits[rest.Destination(3, index)];
  EXPECT_EQ(rest_hits.count(0), 0u);
  EXPECT_LT(ChiSquare({rest_hits[1], rest_hits[2]}, {0.5, 0.5}), 10.8);

  const auto one = TrafficPattern::Make({.name = "hotspot", .hotspots = {3}}, 4).value();
  EXPECT_EQ(TableOf(one, 4, 17), (std::vector<Row>{3, 3, 3, 3}));
}

TEST(TrafficPattern, WhatIsWrongIsNamedWithItsRange) {
  const auto error = [](const TrafficPatternSpec& spec, uint32_t rows = 16) {
    const auto pattern = TrafficPattern::Make(spec, rows);
    EXPECT_EQ(pattern.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(pattern.status().message());
  };
  EXPECT_EQ(error({.name = "butterfly"}),
            "pattern: \"butterfly\" is unknown; use uniform, p-flip, bitcomp, bitrev, transpose, "
            "shuffle, tornado, neighbor, randperm, hotspot, permutation");
  EXPECT_THAT(error({.name = "random"}), HasSubstr("is unknown"));
  EXPECT_EQ(error({.name = "p-flip", .p = 1.5}), "p: 1.5 is not a probability, 0 to 1");
  EXPECT_EQ(error({.name = "p-flip", .p = -0.1}), "p: -0.1 is not a probability, 0 to 1");
  EXPECT_THAT(error({.name = "p-flip", .p = NAN}), HasSubstr("is not a probability"));
  EXPECT_EQ(error({.name = "hotspot"}), "hotspots: none is given; name at least one row");
  EXPECT_EQ(error({.name = "hotspot", .hotspots = {3, 16}}), "hotspots[1]: 16 is outside 0..15");
  EXPECT_EQ(error({.name = "hotspot", .hotspots = {3}, .weights = {1, 2}}),
            "weights: 2 given for 1 hotspots");
  EXPECT_EQ(error({.name = "hotspot", .hotspots = {3, 4}, .weights = {0}}),
            "weights: their sum, 0, is outside 1..4294967295");
  EXPECT_THAT(error({.name = "hotspot", .hotspots = {3, 4}, .weights = {4000000000}}),
              HasSubstr("their sum, 8000000000, is outside"));
  EXPECT_EQ(error({.name = "permutation", .permutation = {0, 0}}, 2),
            "permutation[1]: output 0 is given twice");
  EXPECT_EQ(error({.name = "uniform"}, 12), "rows: 12 is not a power of two");
}

}  // namespace
}  // namespace bfly

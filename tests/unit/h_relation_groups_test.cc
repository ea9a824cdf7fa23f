// SPDX-License-Identifier: Apache-2.0
#include "dataplane/steps/h_relation_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "tests/sanitized.h"
#include "topologies/crew.h"
#include "topologies/relation.h"

namespace bfly::dataplane {
namespace {

using ::testing::HasSubstr;

constexpr uint32_t kRows = 256;

Network PackNetwork() {
  NetworkSpec spec;
  spec.kind = NetworkKind::kMultibutterfly;
  spec.rows = kRows;
  spec.multiplicity = 16;
  spec.seed = 4;
  return *Network::Make(spec);
}

HRelationConfig PackConfig(uint32_t h) {
  HRelationConfig config;
  config.h = h;
  config.share = 64;
  return config;
}

// h messages of row 0 for one output, and one message of every other row for a row of its own.
Relation Skewed(uint32_t h) {
  Relation relation;
  for (Row row = 0; row < kRows; ++row) {
    relation.first.push_back(static_cast<uint32_t>(relation.destinations.size()));
    if (row == 0) {
      relation.destinations.insert(relation.destinations.end(), h, 77);
    } else {
      relation.destinations.push_back(row == 77 ? 0 : row);
    }
  }
  relation.first.push_back(static_cast<uint32_t>(relation.destinations.size()));
  return relation;
}

// The packs of the first round, counted group by group.
uint64_t PacksOfFirstRound(const Relation& relation, int columns, uint32_t most) {
  uint64_t packs = 0;
  for (Row row = 0; row < kRows; ++row) {
    std::map<Row, uint32_t> of_group;
    for (uint32_t m = relation.first[row]; m < relation.first[row + 1]; ++m) {
      ++of_group[relation.destinations[m] / (kRows >> columns)];
    }
    for (const auto& [group, count] : of_group) packs += (count + most - 1) / most;
  }
  return packs;
}

TEST(PackedHRelation, DeliversEveryRelationWhateverTheColumnsOfARound) {
  const Network network = PackNetwork();
  Crew crew(1);
  for (const uint32_t h : {1u, 24u}) {
    for (const char* name : {"random", "bitrev", "identity", "skewed"}) {
      const Relation relation =
          std::string(name) == "skewed" ? Skewed(h) : *RelationByName(name, kRows, h, /*seed=*/h);
      for (const int columns : {1, 2, 3, 5, 8}) {
        if (kSanitized && columns != 3) continue;
        SCOPED_TRACE(testing::Message() << name << ", h " << h << ", columns " << columns);
        const auto result = RunPackedHRelation(network, relation, PackConfig(h), columns, crew);
        ASSERT_TRUE(result.ok()) << result.status();
        ASSERT_TRUE(result->finished) << result->trouble;
        EXPECT_EQ(result->delivered, relation.destinations.size());
        ASSERT_EQ(result->rounds.size(), static_cast<size_t>((8 + columns - 1) / columns));
        const PackedRound& first = result->rounds[0];
        const uint32_t groups = 1u << columns;
        EXPECT_EQ(first.most_held, h);
        EXPECT_EQ(first.pack, (h + groups - 1) / groups);
        EXPECT_EQ(first.result.messages, PacksOfFirstRound(relation, columns, first.pack));
        int crossed = 0;
        for (const PackedRound& round : result->rounds) {
          EXPECT_EQ(round.result.h, 2u << (round.last_level - round.first_level));
          EXPECT_EQ(round.result.shortest_path, round.last_level - round.first_level);
          EXPECT_EQ(round.result.longest_path, round.last_level - round.first_level);
          crossed += round.result.longest_path;
        }
        EXPECT_EQ(crossed, 8);
      }
    }
  }
}

TEST(PackedHRelation, StorageDoesNotGrowWithH) {
  const Network network = PackNetwork();
  Crew crew(1);
  std::map<uint32_t, uint64_t> packed, plain;
  for (const uint32_t h : {16u, 64u, 256u}) {
    const Relation relation = *RelationByName("random", kRows, h, 1);
    const auto in_packs = RunPackedHRelation(network, relation, PackConfig(h), 2, crew);
    const auto alone = RunHRelation(network, relation, PackConfig(h), crew);
    ASSERT_TRUE(in_packs.ok() && alone.ok());
    packed[h] = in_packs->storage_bits;
    plain[h] = alone->storage_bits;
  }
  // 2 h-bar buffers of 7 bits, counters of log h-bar + 1 bits and two flags. With h = 8 (2 G, G =
  // 4), d = 16 and R = 8 the smallest power of two above 4 d h / (R - 4) = 128 is 256.
  EXPECT_EQ(packed[16], 2 * 256 * 7 + 4 * 9 + 2);
  EXPECT_EQ(packed[64], packed[16]);
  EXPECT_EQ(packed[256], packed[16]);
  EXPECT_GT(plain[64], 3 * plain[16]);
  EXPECT_GT(plain[256], 3 * plain[64]);
}

TEST(PackedHRelation, ARoundEndsWhereTheLinksThatWereCrossedLead) {
  const Network network = PackNetwork();
  Crew crew(1);
  const Relation relation = *RelationByName("random", kRows, 8, 3);
  CrossingLog log(network, relation.destinations.size());
  std::vector<Row> ended;
  HRelationConfig config = PackConfig(8);
  config.first_level = 2;
  config.last_level = 5;
  config.log = &log;
  config.ended = &ended;
  // From column 2 on only the rows of a quarter can be reached.
  Relation quarters = relation;
  for (Row row = 0; row < kRows; ++row) {
    for (uint32_t m = relation.first[row]; m < relation.first[row + 1]; ++m) {
      quarters.destinations[m] = (relation.destinations[m] + row) % 64 + row / 64 * 64;
    }
  }
  config.h = DegreeOf(quarters);
  const auto result = RunHRelation(network, quarters, config, crew);
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_TRUE(result->finished) << result->trouble;
  int elsewhere = 0;
  for (Row row = 0; row < kRows; ++row) {
    for (uint32_t m = quarters.first[row]; m < quarters.first[row + 1]; ++m) {
      Row at = row;
      for (int hop = 2; hop < 5; ++hop) {
        const auto ports = static_cast<uint32_t>(network.ports());
        const Crossing& crossing = log.at(hop, m);
        ASSERT_GT(crossing.step, 0u);
        ASSERT_EQ(crossing.link / ports, at) << "hop " << hop << " of message " << m;
        at = network.next_row(hop, at, static_cast<int>(crossing.link % ports));
      }
      EXPECT_EQ(log.at(1, m).step, 0u);
      EXPECT_EQ(log.at(5, m).step, 0u);
      EXPECT_EQ(ended[m], at);
      EXPECT_EQ(at / 8, quarters.destinations[m] / 8) << "the group of 2^(8-5) rows";
      elsewhere += at != quarters.destinations[m];
    }
  }
  EXPECT_GT(elsewhere, 0) << "a message stays where it comes to its group";
}

TEST(PackedHRelation, RefusesWhatItCannotDo) {
  const Network network = PackNetwork();
  Crew crew(1);
  const Relation relation = *RelationByName("random", kRows, 4, 1);
  const auto refusal = [&](const HRelationConfig& config, int columns) {
    return std::string(
        RunPackedHRelation(network, relation, config, columns, crew).status().message());
  };
  EXPECT_THAT(refusal(PackConfig(4), 0), HasSubstr("columns: 0 is not in 1..8"));
  EXPECT_THAT(refusal(PackConfig(4), 9), HasSubstr("columns: 9 is not in 1..8"));
  EXPECT_THAT(refusal(PackConfig(3), 2), HasSubstr("more than h = 3"));
  HRelationConfig long_messages = PackConfig(4);
  long_messages.message_bits = kMaxHRelationMessageBits;
  EXPECT_THAT(refusal(long_messages, 2), HasSubstr("use more columns or a smaller h"));
  // 9 * 256 nodes and 512 packs of each row take 3 MiB.
  HRelationConfig little = PackConfig(4);
  little.max_bytes = 2'000'000;
  EXPECT_THAT(refusal(little, 8), HasSubstr("columns: 8 give a row up to 512 packs"));
  EXPECT_TRUE(CheckPackedHRelation(network, little, 2).ok());
  EXPECT_FALSE(CheckPackedHRelation(network, little, 8).ok());
  HRelationConfig logged = PackConfig(4);
  CrossingLog log(network, relation.destinations.size());
  logged.log = &log;
  EXPECT_THAT(refusal(logged, 2), HasSubstr("have no log"));
}

}  // namespace
}  // namespace bfly::dataplane

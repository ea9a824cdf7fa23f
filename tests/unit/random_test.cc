// SPDX-License-Identifier: Apache-2.0
#include "topologies/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace bfly {
namespace {

constexpr RandomStream kStream = RandomStream::kTest;

// The vectors "philox4x32 10" of kat_vectors in the Random123 distribution.
TEST(Random, PhiloxGivesThePublishedKnownAnswers) {
  EXPECT_EQ(Philox4x32({0, 0, 0, 0}, {0, 0}),
            (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(Philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, BlocksPlaceSeedStreamAndCounterAsDocumented) {
  EXPECT_EQ(RandomBlock(0xa4093822'299f31d0, kStream, 0x85a308d3'243f6a88, 5),
            Philox4x32({0x243f6a88, 0x85a308d3, 1000, 5}, {0x299f31d0, 0xa4093822}));
  const PhiloxBlock block = RandomBlock(1, kStream, 2);
  EXPECT_EQ(Random64(1, kStream, 2), uint64_t{block[1]} << 32 | block[0]);
}

// The smallest word a draw below n may not use decides the bias: for n = 3 * 2^30, 2^32 mod n =
// 2^30, so a quarter of all words is rejected and each value must still come equally often.
TEST(Random, NumbersBelowNHaveNoModuloBias) {
  const uint32_t n = 3u << 30;
  std::array<int, 3> thirds = {};
  for (uint64_t counter = 0; counter < 300000; ++counter) {
    ++thirds[RandomBelow(3, kStream, counter, n) >> 30];
  }
  for (int count : thirds) EXPECT_NEAR(count, 100000, 5 * 258);  // sd = sqrt(3e5 * 1/3 * 2/3)
  std::array<int, 10> tenths = {};
  for (uint64_t counter = 0; counter < 100000; ++counter) {
    ++tenths[RandomBelow(4, kStream, counter, 10)];
  }
  for (int count : tenths) EXPECT_NEAR(count, 10000, 5 * 95);
  EXPECT_EQ(RandomBelow(5, kStream, 0, 1), 0u);
}

// A draw is the high half of word * n of the first word not rejected.
TEST(Random, NumbersBelowNFollowTheDefinitionWordByWord) {
  for (uint32_t n : {1u, 2u, 7u, 1000u, 1u << 31, 3u << 30, ~0u}) {
    const uint64_t rejected_below = (uint64_t{1} << 32) % n;
    for (uint64_t counter = 0; counter < 200; ++counter) {
      uint32_t expected = 0;
      bool found = false;
      for (uint32_t attempt = 0; !found; ++attempt) {
        for (uint32_t word : RandomBlock(9, kStream, counter, attempt)) {
          const uint64_t product = uint64_t{word} * n;
          if (!found && product % (uint64_t{1} << 32) >= rejected_below) {
            expected = static_cast<uint32_t>(product >> 32);
            found = true;
          }
        }
      }
      ASSERT_EQ(RandomBelow(9, kStream, counter, n), expected) << n;
    }
  }
}

TEST(Random, PermutationsAreUniformPureAndDependOnSeedAndStream) {
  std::map<std::vector<uint32_t>, int> seen;
  for (uint64_t seed = 0; seed < 24000; ++seed) ++seen[RandomPermutation(seed, kStream, 4)];
  ASSERT_EQ(seen.size(), 24u);
  for (const auto& [permutation, count] : seen) EXPECT_NEAR(count, 1000, 5 * 31);
  EXPECT_EQ(RandomPermutation(1, kStream, 100), RandomPermutation(1, kStream, 100));
  EXPECT_NE(RandomPermutation(1, kStream, 100), RandomPermutation(2, kStream, 100));
  EXPECT_NE(RandomPermutation(1, kStream, 100),
            RandomPermutation(1, RandomStream::kPermutation, 100));
  EXPECT_NE(RandomPermutation(1, kStream, 100), RandomPermutation(1, kStream, 100, 100));
  EXPECT_TRUE(RandomPermutation(1, kStream, 0).empty());
}

}  // namespace
}  // namespace bfly

// SPDX-License-Identifier: Apache-2.0
// The exact properties (i)-(iv) of the random paths of BB_n (Cole et al. 1998, section 2;
// THEORY.md 2.2).
#include "topologies/switch_settings.h"

#include <gtest/gtest.h>

#include "tests/property/paper.h"
#include "topologies/permutation.h"
#include "topologies/random.h"

namespace bfly {
namespace {

constexpr RandomStream kStream = RandomStream::kTest;

struct Initialised {
  Network network;
  SwitchSettings settings;
  CandidatePaths candidates;
};

Initialised Initialise(uint32_t rows, uint64_t seed) {
  Network network =
      Network::Make({.kind = NetworkKind::kTwoFoldButterfly, .rows = rows, .seed = seed}).value();
  SwitchSettings settings = SwitchSettings::Make(network).value();
  CandidatePaths candidates(settings);
  return {std::move(network), std::move(settings), std::move(candidates)};
}

std::vector<Row> PathOf(const Initialised& bb, Row input, Row output, int which) {
  return WalkTag(bb.network, input, bb.candidates.tag(input, output, which));
}

TEST(SwitchSettings, CandidatePathsAreThoseOfThePapersWalkForEveryPair) {
  for (uint32_t rows = 2; rows <= 64; rows *= 2) {
    for (uint64_t seed = 1; seed <= 4; ++seed) {
      const Initialised bb = Initialise(rows, seed);
      for (Row input = 0; input < rows; ++input) {
        for (Row output = 0; output < rows; ++output) {
          for (int which : {0, 1}) {
            ASSERT_EQ(
                PathOf(bb, input, output, which),
                paper::CandidatePath(bb.settings, bb.network.dimension(), input, output, which))
                << rows << " rows, seed " << seed;
          }
        }
      }
    }
  }
}

TEST(SwitchSettings, CandidatePathsAreThoseOfThePapersWalkOnLargeNetworks) {
  for (uint32_t rows : {512u, 4096u, 65536u}) {
    const Initialised bb = Initialise(rows, rows);
    for (uint64_t draw = 0; draw < 2000; ++draw) {
      const Row input = RandomBelow(7, kStream, 2 * draw, rows);
      const Row output = RandomBelow(7, kStream, 2 * draw + 1, rows);
      for (int which : {0, 1}) {
        ASSERT_EQ(PathOf(bb, input, output, which),
                  paper::CandidatePath(bb.settings, bb.network.dimension(), input, output, which));
      }
    }
  }
}

// (i) and (ii) for one permutation.
void ExpectOnePathOnEveryRandomEdge(const Initialised& bb, const Permutation& pi) {
  const Network& network = bb.network;
  const int d = network.dimension();
  std::vector<int> load(network.link_count());
  for (Row w = 0; w < network.rows(); ++w) {
    for (int which : {0, 1}) {
      const std::vector<Row> path = PathOf(bb, w, pi[w], which);
      for (int stage = 0; stage < 2 * d; ++stage) {
        const int port = network.next_row(stage, path[stage], 1) == path[stage + 1];
        ++load[network.link_index({stage, path[stage], port})];
      }
    }
  }
  const int h = d / 2;
  int collision_stages = 0;
  for (int stage = 0; stage < 2 * d; ++stage) {
    const bool random = stage < h || stage >= d + h;
    collision_stages += !random;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < 2 * uint64_t{network.rows()}; ++i) {
      const int on_link = load[2 * uint64_t{network.rows()} * stage + i];
      sum += on_link;
      if (random) {
        ASSERT_EQ(on_link, 1) << "stage " << stage << " of " << network.rows() << " rows";
      }
    }
    // (ii): 2n paths over the 2n links of a stage.
    ASSERT_EQ(sum, 2 * uint64_t{network.rows()});
  }
  ASSERT_EQ(collision_stages, d);
}

TEST(SwitchSettings, EveryRandomEdgeCarriesOnePathOfAFullPermutation) {
  for (uint32_t rows = 2; rows <= 64; rows *= 2) {
    for (uint64_t seed = 1; seed <= 40; ++seed) {
      const Initialised bb = Initialise(rows, seed);
      ExpectOnePathOnEveryRandomEdge(bb, RandomPermutation(seed, kStream, rows));
    }
    for (const char* name : {"identity", "bitrev", "transpose"}) {
      ExpectOnePathOnEveryRandomEdge(Initialise(rows, 3), PermutationByName(name, rows, 0).value());
    }
  }
  ExpectOnePathOnEveryRandomEdge(Initialise(8192, 11), RandomPermutation(11, kStream, 8192));
}

TEST(SwitchSettings, APathAndItsBuddyShareTheirEndsOnly) {
  for (uint32_t rows = 4; rows <= 64; rows *= 2) {
    for (uint64_t seed = 1; seed <= 8; ++seed) {
      const Initialised bb = Initialise(rows, seed);
      for (Row input = 0; input < rows; ++input) {
        for (Row output = 0; output < rows; ++output) {
          const std::vector<Row> p = PathOf(bb, input, output, 0);
          const std::vector<Row> buddy = PathOf(bb, input, output, 1);
          for (size_t level = 1; level + 1 < p.size(); ++level) {
            ASSERT_NE(p[level], buddy[level]) << "level " << level << " of " << rows << " rows";
          }
        }
      }
    }
  }
}

TEST(SwitchSettings, WithAllSwitchesStraightPKeepsItsRowsAndTheBuddyTheComplements) {
  for (uint32_t rows = 2; rows <= 64; rows *= 2) {
    const Network network =
        Network::Make({.kind = NetworkKind::kTwoFoldButterfly, .rows = rows}).value();
    const SwitchSettings straight = SwitchSettings::AllStraight(network).value();
    const CandidatePaths candidates(straight);
    const int d = network.dimension();
    const int h = d / 2;
    for (Row input = 0; input < rows; ++input) {
      for (Row output = 0; output < rows; ++output) {
        paper::Digits left = paper::DigitsOf(input, d);
        paper::Digits right = paper::DigitsOf(output, d);
        const std::vector<Row> p = WalkTag(network, input, candidates.tag(input, output, 0));
        EXPECT_EQ(p[h], input);
        EXPECT_EQ(p[d + h], output);
        for (int position = 1; position <= d; ++position) {
          int& digit = position <= h ? left[position - 1] : right[position - 1];
          digit = 1 - digit;
        }
        const std::vector<Row> buddy = WalkTag(network, input, candidates.tag(input, output, 1));
        EXPECT_EQ(buddy[h], paper::RowOf(left));
        EXPECT_EQ(buddy[d + h], paper::RowOf(right));
      }
    }
  }
}

// n * d fair bits: their sum is within 5 standard deviations of half, level by level.
TEST(SwitchSettings, AreFairCoins) {
  const Initialised bb = Initialise(65536, 99);
  const int d = bb.network.dimension();
  int random_levels = 0;
  for (int level = 0; level <= 2 * d; ++level) {
    if (!bb.settings.is_random(level)) continue;
    ++random_levels;
    int ones = 0;
    for (Row row = 0; row < 65536; ++row) ones += bb.settings.setting(level, row);
    EXPECT_NEAR(ones, 32768, 5 * 128) << "level " << level;  // sd = sqrt(65536) / 2
  }
  EXPECT_EQ(random_levels, d);
}

}  // namespace
}  // namespace bfly

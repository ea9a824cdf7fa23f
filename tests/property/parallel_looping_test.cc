// SPDX-License-Identifier: Apache-2.0
// Looping on several threads gives the paths of a slow sequential looping, whatever the number of
// threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <numeric>

#include "control/protocols/looping.h"
#include "control/protocols/orbits.h"
#include "tests/property/same_route.h"
#include "tests/sanitized.h"
#include "topologies/random.h"

namespace bfly::control {
namespace {

Permutation Random(uint64_t seed, uint32_t rows) {
  return RandomPermutation(seed, RandomStream::kTest, rows);
}

struct Message {
  Row input = 0;
  Row at = 0;  // within its block
  Row to = 0;
};

// Loop by loop, each from its smallest row, with a search for every partner's place; block by block
// by the definition.
void SettleSlowly(std::vector<Message> block, Row first, std::vector<Row>& middle) {
  const auto half = static_cast<Row>(block.size() / 2);
  if (half == 0) {
    middle[block[0].input] = first;
    return;
  }
  std::vector<Row> row_of(2 * half);  // by output
  std::sort(block.begin(), block.end(), [](auto& a, auto& b) { return a.at < b.at; });
  for (const Message& message : block) row_of[message.to] = message.at;
  std::vector<int> side(2 * half, -1);
  for (Row row = 0; row < 2 * half; ++row) {
    for (Row here = row; side[here] < 0;) {
      side[here] = 0;
      const Row mate = here < half ? here + half : here - half;
      side[mate] = 1;
      const Row to = block[mate].to;
      here = row_of[to < half ? to + half : to - half];
    }
  }
  std::array<std::vector<Message>, 2> halves;
  for (const Message& message : block) {
    halves[side[message.at]].push_back({message.input, message.at % half, message.to % half});
  }
  SettleSlowly(halves[0], first, middle);
  SettleSlowly(halves[1], first + half, middle);
}

std::vector<Row> SlowMiddleRows(const Permutation& pi) {
  std::vector<Message> block;
  for (Row input = 0; input < pi.size(); ++input) block.push_back({input, input, pi[input]});
  std::vector<Row> middle(pi.size());
  SettleSlowly(block, 0, middle);
  return middle;
}

// THEORY.md 2.1: transition l sets position l + 1 for l < d and 2d - l from there on, position 1
// leftmost; a tag has a bit for each, the first in front. No two paths are in a node together.
void ExpectNodeDisjoint(int d, const Permutation& pi, const std::vector<CircuitPath>& paths) {
  ASSERT_EQ(paths.size(), pi.size());
  std::vector<Row> at(pi.size());
  for (size_t i = 0; i < paths.size(); ++i) {
    ASSERT_EQ(paths[i].input, i);
    ASSERT_EQ(paths[i].output, pi[i]);
    at[i] = paths[i].input;
  }
  for (int l = 0; l < 2 * d; ++l) {
    const int position = l < d ? l + 1 : 2 * d - l;
    const Row mask = Row{1} << (d - position);
    std::vector<bool> taken(pi.size());
    for (size_t i = 0; i < paths.size(); ++i) {
      const bool one = paths[i].tag >> (2 * d - 1 - l) & 1;
      at[i] = one ? at[i] | mask : at[i] & ~mask;
      ASSERT_FALSE(taken[at[i]]) << "level " << l + 1;
      taken[at[i]] = true;
    }
  }
  for (size_t i = 0; i < paths.size(); ++i) ASSERT_EQ(at[i], pi[i]);
}

TEST(ParallelLooping, SettlesEveryPermutationOfUpToEightRowsAsOneThreadDoes) {
  std::vector<std::unique_ptr<Crew>> crews;
  for (const int workers : {1, 2, 3, 8}) crews.push_back(std::make_unique<Crew>(workers));
  for (const uint32_t rows : {2u, 4u, 8u}) {
    Permutation pi(rows);
    std::iota(pi.begin(), pi.end(), 0u);
    uint32_t number = 0;
    do {
      const std::vector<Row> expected = SlowMiddleRows(pi);
      ASSERT_EQ(MiddleRows(pi, *crews[0]), expected);
      // On a machine that has other work each hand-over takes long: of 8 rows every 16th.
      if (++number % (kSanitized ? 256 : 16) != 0 && rows == 8) continue;
      for (const auto& crew : crews) ASSERT_EQ(MiddleRows(pi, *crew), expected);
    } while (std::next_permutation(pi.begin(), pi.end()));
  }
}

TEST(ParallelLooping, SettlesLargePermutationsAsOneThreadDoes) {
  std::vector<Permutation> all;
  for (const uint32_t rows : {16u, 512u, 4096u, 65536u}) {
    if (kSanitized && rows > 4096) continue;
    for (uint64_t seed = 1; seed <= 3; ++seed) all.push_back(Random(seed, rows));
    for (const std::string& name : PermutationNames()) {
      all.push_back(PermutationByName(name, rows, 1).value());
    }
  }
  for (const Permutation& pi : all) {
    const std::vector<Row> expected = SlowMiddleRows(pi);
    for (const int workers : {1, 2, 3, 8}) {
      Crew crew(workers);
      ASSERT_EQ(MiddleRows(pi, crew), expected) << pi.size() << " rows, " << workers;
    }
  }
}

TEST(ParallelLooping, RoutesTheSameForAnyNumberOfWorkersAndNodeDisjointly) {
  for (const int d : {1, 3, 7, 16}) {
    const Network benes = Network::Make({.kind = NetworkKind::kBenes, .rows = 1u << d}).value();
    for (uint64_t seed = 1; seed <= 2; ++seed) {
      const Permutation pi = Random(seed, 1u << d);
      const RouteResult one = RoutePermutation("benes", benes, pi).value();
      EXPECT_EQ(one.congestion, 1u);
      ExpectNodeDisjoint(d, pi, one.paths);
      for (const uint32_t workers : {1u, 2u, 3u, 8u}) {
        ExpectSameRoute(one, RoutePermutation("benes", benes, pi, {.workers = workers}).value());
      }
    }
  }
}

// By element: the smallest element of its orbit, with each orbit walked twice.
std::vector<Row> SlowSmallest(const std::vector<Row>& next) {
  std::vector<Row> smallest(next.size(), ~Row{0});
  for (Row start = 0; start < next.size(); ++start) {
    for (Row row = start; smallest[row] == ~Row{0}; row = next[row]) smallest[row] = start;
  }
  return smallest;
}

TEST(Orbits, FindTheSmallestRowInLogarithmicallyManyRounds) {
  const auto shifted = [](uint32_t rows, uint32_t by) {
    Permutation next(rows);
    for (Row row = 0; row < rows; ++row) next[row] = (row + by) % rows;
    return next;
  };
  std::vector<Permutation> all = {
      {0}, {1, 0}, shifted(40000, 1), shifted(40000, 39999), shifted(65536, 32768)};
  for (const uint32_t rows : {3u, 31u, 1000u, 40000u}) {
    for (uint64_t seed = 1; seed <= 4; ++seed) all.push_back(Random(seed, rows));
  }
  for (const int workers : {1, 2, 3, 8}) {
    Crew crew(workers);
    Orbits orbits;
    for (const Permutation& next : all) {
      const auto rows = static_cast<Row>(next.size());
      const std::vector<Row> expected = SlowSmallest(next);
      orbits.Find(next.data(), rows, crew);
      for (Row row = 0; row < rows; ++row) ASSERT_EQ(orbits.smallest(row), expected[row]);
      EXPECT_LE(orbits.rounds(), 2 + static_cast<int>(std::bit_width(orbits.stretches())));
    }
    // Of 40,000 rows on one orbit only one in 32, give or take, takes part in the jumping.
    orbits.Find(all[2].data(), 40000, crew);
    EXPECT_NEAR(static_cast<double>(orbits.stretches()), 40000 / 32, 200);
    EXPECT_GE(orbits.rounds(), 10);
    EXPECT_LE(orbits.rounds(), 13);
    // Nothing to jump to: every row is an orbit.
    orbits.Find(shifted(40000, 0).data(), 40000, crew);
    EXPECT_EQ(orbits.rounds(), 1);
  }
}

}  // namespace
}  // namespace bfly::control

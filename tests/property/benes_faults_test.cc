// SPDX-License-Identifier: Apache-2.0
// Requests of the Benes protocol that no solution of the looping algorithm leaves whole, compared
// with a look at all their paths.
#include "control/protocols/benes_faults.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <optional>
#include <random>

#include "tests/property/random_requests.h"

namespace bfly::control {
namespace {

Network BenesOf(uint32_t rows) {
  return Network::Make({.kind = NetworkKind::kBenes, .rows = rows}).value();
}

FaultSet RandomFaults(const Network& network, uint64_t seed, size_t links) {
  FaultSet faults(network);
  std::mt19937_64 random(seed);
  for (size_t i = 0; i < links; ++i) {
    faults.SetLinkUp(network.link_at(random() % network.link_count()), false);
  }
  return faults;
}

// The first of the least loaded whole paths, of all n; nothing if none is whole.
std::optional<Tag> BestOfAll(const Network& benes, const std::vector<uint32_t>& load,
                             const FaultSet& faults, const CircuitPath& path) {
  std::optional<Tag> best;
  uint32_t least = ~0u;
  for (Row middle = 0; middle < benes.rows(); ++middle) {
    const Tag tag = TagThrough(benes, middle, path.output);
    uint32_t most = 0;
    bool whole = true;
    ForEachLink(benes, path.input, tag, [&](uint64_t link) {
      most = std::max(most, load[link]);
      whole = whole && !faults.blocks(link);
    });
    if (!whole || most >= least) continue;
    least = most;
    best = tag;
  }
  return best;
}

TEST(BenesFaults, APathThatIsReplacedIsTheFirstOfTheLeastLoadedOnes) {
  int replaced = 0, lost = 0;
  for (uint32_t rows : {4u, 16u, 64u}) {
    for (uint64_t seed = 1; seed <= 10; ++seed) {
      const Network benes = BenesOf(rows);
      const FaultSet faults = RandomFaults(benes, seed, rows);
      // Straight through the middle row of the input's number, whatever is in the way.
      RouteResult result;
      for (const auto& [input, output] : RandomRequests(rows, seed)) {
        result.paths.push_back(
            {input, output, TagThrough(benes, input, output), PathChoice::kLooping});
      }
      std::vector<uint32_t> load(benes.link_count());
      const auto add = [&](const CircuitPath& path, uint32_t circuits) {
        ForEachLink(benes, path.input, path.tag, [&](uint64_t link) { load[link] += circuits; });
      };
      for (const CircuitPath& path : result.paths) add(path, 1);
      std::vector<CircuitPath> expected = result.paths;
      std::vector<uint32_t> broken;
      for (uint32_t i = 0; i < rows; ++i) {
        CircuitPath& path = expected[i];
        if (faults.IsWhole(path.input, path.tag)) continue;
        broken.push_back(i);
        add(path, ~0u);  // one less
        const std::optional<Tag> best = BestOfAll(benes, load, faults, path);
        if (best.has_value()) {
          path.tag = *best;
          path.choice = PathChoice::kArbitrary;
        }
        add(path, 1);
        replaced += best.has_value();
        lost += !best.has_value();
      }
      ASSERT_TRUE(RerouteBroken(benes, nullptr, faults, {}, result).ok());
      EXPECT_EQ(result.paths, expected) << rows << " rows, seed " << seed;
      EXPECT_EQ(result.requests_left, broken);
    }
  }
  EXPECT_GT(replaced, 100);
  EXPECT_GT(lost, 0);
}

// A look at all 65,536 paths of each of these requests would take minutes.
TEST(BenesFaults, ManyFaultsOfALargeNetworkTakeSeconds) {
  constexpr uint32_t kRows = 1 << 16;
  const Network benes = BenesOf(kRows);
  const FaultSet faults = RandomFaults(benes, 1, 4000);
  const std::clock_t start = std::clock();
  const auto result =
      RoutePermutation("benes", LinkLoad(benes), RandomRequests(kRows, 1), {.faults = &faults});
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_GT(result->requests_left.size(), 500u);
  EXPECT_LT(seconds, 30);
}

TEST(BenesFaults, RoutingEndsWhenItIsInterrupted) {
  const Network benes = BenesOf(64);
  const FaultSet faults = RandomFaults(benes, 1, 60);
  uint32_t asked = 0, answers_before = ~0u;
  const Interrupt interrupt = [&] {
    return ++asked > answers_before ? absl::CancelledError("enough") : absl::OkStatus();
  };
  const auto route = [&] {
    asked = 0;
    return RoutePermutation("benes", LinkLoad(benes), RandomRequests(64, 1),
                            {.faults = &faults, .interrupt = interrupt});
  };
  const auto all = route();
  ASSERT_TRUE(all.ok()) << all.status();
  ASSERT_GT(all->requests_left.size(), 3u);
  EXPECT_EQ(asked, all->requests_left.size());
  answers_before = 2;
  EXPECT_EQ(route().status(), absl::CancelledError("enough"));
  EXPECT_EQ(asked, 3u);
}

}  // namespace
}  // namespace bfly::control

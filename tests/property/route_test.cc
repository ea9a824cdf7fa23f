// SPDX-License-Identifier: Apache-2.0
// Protocols that route a whole permutation, compared with slow implementations of the paper.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

#include "control/protocols/circuit_set.h"
#include "control/protocols/protocol.h"
#include "control/protocols/q_limited.h"
#include "tests/property/paper.h"
#include "topologies/random.h"

namespace bfly::control {
namespace {

Network Make(NetworkKind kind, uint32_t rows, uint64_t seed = 1) {
  return Network::Make({.kind = kind, .rows = rows, .seed = seed}).value();
}

// Every path joins its request's ends over links of the network, and the congestion equals a
// recount.
void ExpectPathsAndCongestion(const Network& network, const std::vector<Request>& requests,
                              const RouteResult& result) {
  // On a hypercube a path that keeps its row crosses no link.
  const bool is_cube = network.kind() == NetworkKind::kHypercube;
  paper::EdgeLoad load;
  int dilation = 0;
  ASSERT_EQ(result.paths.size(), requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    ASSERT_EQ(result.paths[i].input, requests[i].input);
    ASSERT_EQ(result.paths[i].output, requests[i].output);
    const std::vector<Row> rows = WalkTag(network, requests[i].input, result.paths[i].tag);
    ASSERT_EQ(rows.back(), requests[i].output);
    paper::Count(load, rows);
    int links = 0;
    for (size_t hop = 1; hop < rows.size(); ++hop) links += !is_cube || rows[hop - 1] != rows[hop];
    dilation = std::max(dilation, links);
  }
  std::vector<uint32_t> stage_congestion(network.stages());
  for (const auto& [edge, count] : load) {
    if (is_cube && edge[1] == edge[2]) continue;
    stage_congestion[edge[0]] = std::max(stage_congestion[edge[0]], static_cast<uint32_t>(count));
  }
  EXPECT_EQ(result.stage_congestion, stage_congestion);
  EXPECT_EQ(result.congestion, *std::max_element(stage_congestion.begin(), stage_congestion.end()));
  EXPECT_EQ(result.dilation, dilation);
}

std::vector<Request> RequestsOf(const Permutation& pi) {
  std::vector<Request> requests;
  for (Row input = 0; input < pi.size(); ++input) requests.push_back({input, pi[input]});
  return requests;
}

struct SlowCollision {
  std::vector<int> choice;  // 0, 1, or -1
  std::vector<uint32_t> left_per_round;
  uint64_t messages = 0;
};

// Section 2.1 to the letter: all edges of all active paths, counted in a map. With `count_selected`
// the count is of active plus selected paths, as section 3.1 has it.
SlowCollision RunSlowCollision(const SwitchSettings& settings, int d,
                               const std::vector<Request>& requests, int c, bool count_selected) {
  std::vector<std::array<std::vector<Row>, 2>> paths;
  for (const auto& [input, output] : requests) {
    paths.push_back({paper::CandidatePath(settings, d, input, output, 0),
                     paper::CandidatePath(settings, d, input, output, 1)});
  }
  SlowCollision run;
  run.choice.assign(requests.size(), -1);
  for (;;) {
    const std::vector<int> before = run.choice;
    uint32_t left = std::count(before.begin(), before.end(), -1);
    if (left == 0) return run;
    run.messages += 2 * 2 * left;
    paper::EdgeLoad load;
    for (size_t i = 0; i < paths.size(); ++i) {
      if (before[i] < 0) {
        for (int which : {0, 1}) paper::Count(load, paths[i][which]);
      } else if (count_selected) {
        paper::Count(load, paths[i][before[i]]);
      }
    }
    for (size_t i = 0; i < paths.size(); ++i) {
      for (int which : {0, 1}) {
        bool eligible = before[i] < 0;
        for (size_t level = 0; eligible && level + 1 < paths[i][which].size(); ++level) {
          eligible =
              load[{static_cast<Row>(level), paths[i][which][level], paths[i][which][level + 1]}] <=
              c;
        }
        if (eligible && run.choice[i] < 0) run.choice[i] = which;
      }
    }
    run.left_per_round.push_back(std::count(run.choice.begin(), run.choice.end(), -1));
    if (run.left_per_round.back() == left) return run;
  }
}

TEST(Collision, SelectsRoundByRoundWhatThePaperSays) {
  for (uint32_t rows : {2u, 4u, 8u, 16u, 64u, 256u}) {
    for (uint64_t seed = 1; seed <= 6; ++seed) {
      const Network bb = Make(NetworkKind::kTwoFoldButterfly, rows, seed);
      const SwitchSettings settings = SwitchSettings::Make(bb).value();
      std::vector<Request> requests =
          RequestsOf(RandomPermutation(seed, RandomStream::kTest, rows));
      if (seed % 3 == 0) requests.resize(rows / 2);  // some inputs ask for nothing
      for (uint32_t c : {1u, 2u, 3u, 4u}) {
        const RouteResult result =
            RoutePermutation("collision", LinkLoad(bb), requests,
                             {.c = c, .workers = static_cast<uint32_t>(seed % 3)})
                .value();
        ExpectPathsAndCongestion(bb, requests, result);
        const SlowCollision slow =
            RunSlowCollision(settings, bb.dimension(), requests, c, /*count_selected=*/false);
        EXPECT_EQ(result.left_per_round, slow.left_per_round) << rows << " rows, c = " << c;
        EXPECT_EQ(result.rounds, slow.left_per_round.size());
        EXPECT_EQ(result.messages, slow.messages);
        // THEORY.md 2.6: counting active plus selected paths selects exactly the same.
        const SlowCollision other =
            RunSlowCollision(settings, bb.dimension(), requests, c, /*count_selected=*/true);
        EXPECT_EQ(slow.choice, other.choice);
        EXPECT_EQ(slow.left_per_round, other.left_per_round);
        std::vector<uint32_t> left;
        for (size_t i = 0; i < requests.size(); ++i) {
          ASSERT_EQ(result.buddies[i],
                    CandidatePaths(settings).tags(requests[i].input, requests[i].output));
          if (slow.choice[i] < 0) left.push_back(i);
          const PathChoice expected = slow.choice[i] < 0    ? PathChoice::kArbitrary
                                      : slow.choice[i] == 0 ? PathChoice::kP
                                                            : PathChoice::kPPrime;
          ASSERT_EQ(result.paths[i].choice, expected);
          ASSERT_EQ(result.paths[i].tag, result.buddies[i][slow.choice[i] == 1]);
        }
        EXPECT_EQ(result.requests_left, left);
        // Section 2.1: on termination the congestion is at most c.
        if (left.empty()) {
          EXPECT_LE(result.congestion, c);
        }
      }
    }
  }
}

// With c! > log n every permutation tried ends, with congestion at most c; several patterns, larger
// networks.
TEST(Collision, EndsWithCongestionAtMostCOnEveryPattern) {
  for (uint32_t rows : {64u, 1024u, 16384u}) {
    for (const std::string& name : PermutationNames()) {
      for (uint64_t seed = 1; seed <= 3; ++seed) {
        const Network bb = Make(NetworkKind::kTwoFoldButterfly, rows, seed);
        const auto pi = PermutationByName(name, rows, seed).value();
        const RouteResult result = RoutePermutation("collision", bb, pi).value();
        EXPECT_TRUE(result.requests_left.empty()) << name << " " << rows;
        EXPECT_LE(result.congestion, 4u) << name << " " << rows;
        EXPECT_EQ(result.left_per_round.back(), 0u);
      }
    }
  }
}

TEST(Collision, ThresholdIsTheSmallestWhoseFactorialExceedsLogN) {
  // THEORY.md 2.3: c = 4 for 6 <= log n <= 23.
  EXPECT_EQ(CollisionThreshold(1), 2u);
  EXPECT_EQ(CollisionThreshold(2), 3u);
  EXPECT_EQ(CollisionThreshold(5), 3u);
  for (int d = 6; d <= 20; ++d) EXPECT_EQ(CollisionThreshold(d), 4u);
}

TEST(Collision, StopsAfterTheRoundsItIsGiven) {
  const Network bb = Make(NetworkKind::kTwoFoldButterfly, 1024);
  const auto pi = PermutationByName("random", 1024, 1).value();
  const RouteResult whole = RoutePermutation("collision", bb, pi, {.c = 3}).value();
  ASSERT_GT(whole.rounds, 1u);
  const RouteResult one = RoutePermutation("collision", bb, pi, {.c = 3, .max_rounds = 1}).value();
  EXPECT_EQ(one.rounds, 1u);
  EXPECT_EQ(one.left_per_round, (std::vector<uint32_t>{whole.left_per_round[0]}));
  EXPECT_EQ(one.requests_left.size(), whole.left_per_round[0]);
  EXPECT_FALSE(one.requests_left.empty());
  for (uint32_t i : one.requests_left) EXPECT_EQ(one.paths[i].choice, PathChoice::kArbitrary);
}

TEST(Collision, CountsTheCircuitsThatStand) {
  const Network bb = Make(NetworkKind::kTwoFoldButterfly, 64, 3);
  const auto pi = PermutationByName("random", 64, 3).value();
  for (uint32_t c : {2u, 4u}) {
    CircuitSet circuits(bb);
    const auto valiant = MakeChooser("valiant", bb, {.seed = 1}).value();
    for (Row input = 0; input < 32; ++input) {
      ASSERT_TRUE(circuits.SetUp(*valiant, input, pi[input]).ok());
    }
    std::vector<Request> rest;
    for (Row input = 32; input < 64; ++input) rest.push_back({input, pi[input]});
    const RouteResult result =
        RoutePermutation("collision", circuits.load(), rest, {.c = c}).value();
    ASSERT_EQ(result.paths.size(), rest.size());
    ASSERT_TRUE(circuits.SetUpAll(result.paths).ok());
    EXPECT_EQ(result.stage_congestion, circuits.load().StageCongestion());
    for (const CircuitPath& path : result.paths) {
      if (path.choice != PathChoice::kArbitrary) {
        EXPECT_LE(circuits.load().MaxOnPath(path.input, path.tag), c);
      }
    }
  }
}

// THEORY.md 2.8: congestion 1, and no two paths share a node.
TEST(Benes, RoutesEveryPermutationNodeDisjointly) {
  const auto expect_disjoint = [](const Network& benes, const Permutation& pi) {
    const RouteResult result = RoutePermutation("benes", benes, pi).value();
    ExpectPathsAndCongestion(benes, RequestsOf(pi), result);
    EXPECT_EQ(result.congestion, 1u);
    std::vector<std::vector<bool>> used(benes.levels(), std::vector<bool>(benes.rows()));
    for (const CircuitPath& path : result.paths) {
      const std::vector<Row> rows = WalkTag(benes, path.input, path.tag);
      for (size_t level = 0; level < rows.size(); ++level) {
        ASSERT_FALSE(used[level][rows[level]]);
        used[level][rows[level]] = true;
      }
    }
  };
  // All permutations of 2 and of 4 rows. Of 8 rows every 13th of the 40,320, so that every input
  // goes to every output.
  for (uint32_t rows : {2u, 4u, 8u}) {
    const Network benes = Make(NetworkKind::kBenes, rows);
    Permutation pi(rows);
    std::iota(pi.begin(), pi.end(), 0u);
    const int stride = rows < 8 ? 1 : 13;
    std::set<std::pair<Row, Row>> asked;
    int number = 0;
    do {
      if (number++ % stride != 0) continue;
      expect_disjoint(benes, pi);
      for (Row input = 0; input < rows; ++input) asked.insert({input, pi[input]});
    } while (std::next_permutation(pi.begin(), pi.end()));
    EXPECT_EQ(asked.size(), rows * rows);
  }
  for (uint32_t rows : {16u, 64u, 1024u}) {
    const Network benes = Make(NetworkKind::kBenes, rows);
    for (const std::string& name : PermutationNames()) {
      expect_disjoint(benes, PermutationByName(name, rows, 5).value());
    }
  }
}

TEST(Benes, RoutesPartOfAPermutationToo) {
  const Network benes = Make(NetworkKind::kBenes, 32);
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    std::vector<Request> requests = RequestsOf(RandomPermutation(seed, RandomStream::kTest, 32));
    requests.resize(seed);
    const RouteResult result = RoutePermutation("benes", LinkLoad(benes), requests).value();
    ExpectPathsAndCongestion(benes, requests, result);
    EXPECT_EQ(result.congestion, 1u);
  }
}

TEST(Baselines, GiveEveryRequestAPathAndReportItsLoad) {
  for (NetworkKind kind : AllKinds()) {
    for (uint32_t rows : {2u, 8u, 64u}) {
      const Network network = Make(kind, rows, 2);
      const auto requests = RequestsOf(RandomPermutation(4, RandomStream::kTest, rows));
      for (const char* name : {"greedy", "valiant", "one_choice", "minimum"}) {
        if (!FindProtocol(name, kind).ok()) continue;
        const auto result = RoutePermutation(name, LinkLoad(network), requests, {.seed = 3});
        ASSERT_TRUE(result.ok()) << name;
        ExpectPathsAndCongestion(network, requests, *result);
      }
    }
  }
}

// The middle rows of Valiant's paths are uniform: 64 rows, 64 * 200 draws, each row 200 times
// within 5 sd.
TEST(Valiant, GoesThroughUniformRows) {
  const Network bb = Make(NetworkKind::kTwoFoldButterfly, 64);
  const auto pi = PermutationByName("identity", 64, 0).value();
  std::vector<int> seen(64);
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const RouteResult result = RoutePermutation("valiant", bb, pi, {.seed = seed}).value();
    for (const CircuitPath& path : result.paths) {
      ++seen[path.tag >> bb.dimension()];
    }
  }
  for (int count : seen) EXPECT_NEAR(count, 200, 5 * 14.1);
}

// The recursion of THEORY.md 2.8 for q = 1: x_1 = 1/2, x_{k+1} = x_k - x_k^2 / 4, fraction 2 x_d.
TEST(QLimited, ExpectationFollowsTheRecursionForOneCircuitALink) {
  double x = 0.5;
  for (int d = 1; d <= 20; ++d) {
    EXPECT_NEAR(ExpectedLockedFraction(d, 1), 2 * x, 1e-12);
    x -= x * x / 4;
  }
  // Two stages by hand, q = 2: nothing can be lost before three requests want one link.
  EXPECT_NEAR(ExpectedLockedFraction(2, 2), 1, 1e-12);
}

TEST(QLimited, LocksDownTheExpectedFractionOfUniformRequests) {
  for (uint32_t q : {1u, 2u, 3u}) {
    for (uint32_t rows : {64u, 1024u}) {
      const Network b = Make(NetworkKind::kButterfly, rows);
      const int trials = 200;
      double sum = 0, squares = 0;
      for (uint64_t seed = 1; seed <= trials; ++seed) {
        const double fraction = static_cast<double>(LockDownUniform(b, q, seed)) / rows;
        sum += fraction;
        squares += fraction * fraction;
      }
      const double mean = sum / trials;
      const double sd = std::sqrt((squares / trials - mean * mean) / trials);
      EXPECT_NEAR(mean, ExpectedLockedFraction(b.dimension(), q), 5 * sd + 1e-12)
          << "q = " << q << ", " << rows << " rows";
    }
  }
}

// The paths that lock down fit the links. Every other path wanted a link that was full when it came
// there.
TEST(QLimited, KeepsExactlyAsManyAsALinkBears) {
  for (NetworkKind kind : {NetworkKind::kButterfly, NetworkKind::kTwoFoldButterfly}) {
    for (uint32_t q : {1u, 2u}) {
      for (uint64_t seed = 1; seed <= 10; ++seed) {
        const Network network = Make(kind, 128, seed);
        const auto requests = RequestsOf(RandomPermutation(seed, RandomStream::kTest, 128));
        const RouteResult result =
            RoutePermutation("q_limited", LinkLoad(network), requests, {.seed = seed, .q = q})
                .value();
        EXPECT_EQ(result.paths.size() + result.requests_left.size(), 128u);
        EXPECT_LE(result.congestion, q);
        EXPECT_GT(result.paths.size(), 0u);
        std::vector<bool> input_used(128);
        for (const CircuitPath& path : result.paths) input_used[path.input] = true;
        for (uint32_t i : result.requests_left) EXPECT_FALSE(input_used[requests[i].input]);
      }
    }
  }
  // A bit reversal loads one link of B_16 with 2 paths: with q = 2 all lock down, with q = 1 not.
  const Network b = Make(NetworkKind::kButterfly, 16);
  const auto bitrev = PermutationByName("bitrev", 16, 0).value();
  EXPECT_TRUE(RoutePermutation("q_limited", b, bitrev, {.q = 2})->requests_left.empty());
  EXPECT_FALSE(RoutePermutation("q_limited", b, bitrev, {.q = 1})->requests_left.empty());
}

}  // namespace
}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
// Protocols around links that are down, compared with slow protocols that know every edge by its
// two ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "control/protocols/data_server.h"
#include "control/protocols/protocol.h"
#include "tests/property/paper.h"
#include "tests/property/random_requests.h"
#include "tests/property/slow_data_server.h"

namespace bfly::control {
namespace {

using Edge = std::array<Row, 3>;  // level, row, next row

Network FaultlessNetwork(NetworkKind kind, uint32_t rows, uint64_t seed = 1) {
  return Network::Make({.kind = kind, .rows = rows, .seed = seed}).value();
}

// Links drawn at random, and the same as edges.
struct Faults {
  Faults(const Network& network, uint64_t seed, uint32_t links) : set(network) {
    std::mt19937_64 random(seed);
    for (uint32_t i = 0; i < links; ++i) {
      const LinkId link = network.link_at(random() % network.link_count());
      set.SetLinkUp(link, false);
      edges.insert({static_cast<Row>(link.stage), link.row,
                    network.next_row(link.stage, link.row, link.port)});
    }
  }
  bool IsWhole(const std::vector<Row>& path) const {
    for (size_t level = 0; level + 1 < path.size(); ++level) {
      if (edges.count({static_cast<Row>(level), path[level], path[level + 1]}) != 0) return false;
    }
    return true;
  }

  FaultSet set;
  std::set<Edge> edges;
};

std::array<std::vector<Row>, 2> CandidatesOf(const SwitchSettings& settings, int d,
                                             const Request& request) {
  return {paper::CandidatePath(settings, d, request.input, request.output, 0),
          paper::CandidatePath(settings, d, request.input, request.output, 1)};
}

int MostOn(paper::EdgeLoad& load, const std::vector<Row>& path, size_t first, size_t last) {
  int most = 0;
  for (size_t level = first; level < last; ++level) {
    most = std::max(most, load[{static_cast<Row>(level), path[level], path[level + 1]}]);
  }
  return most;
}

// Rounds to the letter; a path that is not whole asks like any other and is never eligible.
TEST(Faults, CollisionSelectsAmongWholePaths) {
  int moved = 0, lost = 0;
  for (uint32_t rows : {4u, 16u, 64u, 256u}) {
    for (uint64_t seed = 1; seed <= 6; ++seed) {
      const Network bb = FaultlessNetwork(NetworkKind::kTwoFoldButterfly, rows, seed);
      const SwitchSettings settings = SwitchSettings::Make(bb).value();
      const int d = bb.dimension();
      const Faults faults(bb, seed, rows / 4);
      const std::vector<Request> requests = RandomRequests(rows, seed);
      const int c = 2 + static_cast<int>(seed % 2);
      const RouteResult result = RoutePermutation("collision", LinkLoad(bb), requests,
                                                  {.c = static_cast<uint32_t>(c),
                                                   .workers = static_cast<uint32_t>(seed % 3),
                                                   .faults = &faults.set})
                                     .value();
      std::vector<int> choice(requests.size(), -1);
      std::vector<uint32_t> left_per_round;
      for (size_t before = requests.size(); before > 0;) {
        paper::EdgeLoad load;
        for (size_t i = 0; i < requests.size(); ++i) {
          if (choice[i] >= 0) continue;
          for (const auto& path : CandidatesOf(settings, d, requests[i])) paper::Count(load, path);
        }
        for (size_t i = 0; i < requests.size(); ++i) {
          if (choice[i] >= 0) continue;
          const auto paths = CandidatesOf(settings, d, requests[i]);
          for (int which : {1, 0}) {
            if (faults.IsWhole(paths[which]) && MostOn(load, paths[which], 0, 2 * d) <= c) {
              choice[i] = which;
            }
          }
        }
        const size_t left = std::count(choice.begin(), choice.end(), -1);
        left_per_round.push_back(static_cast<uint32_t>(left));
        if (left == before) break;
        before = left;
      }
      EXPECT_EQ(result.left_per_round, left_per_round);
      for (size_t i = 0; i < requests.size(); ++i) {
        const auto paths = CandidatesOf(settings, d, requests[i]);
        // What is left takes p, or p' if only that is whole.
        const bool arbitrary = choice[i] < 0;
        if (arbitrary) choice[i] = !faults.IsWhole(paths[0]) && faults.IsWhole(paths[1]);
        ASSERT_EQ(WalkTag(bb, requests[i].input, result.paths[i].tag), paths[choice[i]]);
        EXPECT_EQ(result.paths[i].choice == PathChoice::kArbitrary, arbitrary);
        const bool whole = faults.IsWhole(paths[choice[i]]);
        ASSERT_EQ(whole, faults.IsWhole(paths[0]) || faults.IsWhole(paths[1]));
        lost += !whole;
        moved += whole && !faults.IsWhole(paths[1 - choice[i]]);
      }
    }
  }
  EXPECT_GT(moved, 50);
  EXPECT_GT(lost, 0);
}

TEST(Faults, MinimumTakesTheWholePathWhereThereIsOne) {
  int moved = 0;
  for (uint32_t rows : {4u, 16u, 64u, 256u}) {
    for (uint64_t seed = 1; seed <= 6; ++seed) {
      const Network bb = FaultlessNetwork(NetworkKind::kTwoFoldButterfly, rows, seed);
      const SwitchSettings settings = SwitchSettings::Make(bb).value();
      const int d = bb.dimension();
      const Faults faults(bb, seed, rows / 4);
      const std::vector<Request> requests = RandomRequests(rows, seed);
      const RouteResult result =
          RoutePermutation("minimum", LinkLoad(bb), requests, {.faults = &faults.set}).value();
      paper::EdgeLoad load;
      for (size_t i = 0; i < requests.size(); ++i) {
        const auto paths = CandidatesOf(settings, d, requests[i]);
        const size_t h = d / 2;
        int which = MostOn(load, paths[1], h, h + d) < MostOn(load, paths[0], h, h + d);
        if (!faults.IsWhole(paths[which]) && faults.IsWhole(paths[1 - which])) {
          which = 1 - which;
          ++moved;
        }
        ASSERT_EQ(WalkTag(bb, requests[i].input, result.paths[i].tag), paths[which]);
        paper::Count(load, paths[which]);
      }
    }
  }
  EXPECT_GT(moved, 50);
}

// The same seed makes the same choice as without faults, wherever that choice is whole.
TEST(Faults, ProtocolsOfOnePathKeepTheirChoiceWhereItIsWholeAndElseTakeAWholeOne) {
  struct Case {
    const char* protocol;
    NetworkKind kind;
    bool chooses;
  };
  for (const auto& [protocol, kind, chooses] :
       {Case{"one_choice", NetworkKind::kTwoFoldButterfly, true},
        Case{"valiant", NetworkKind::kTwoFoldButterfly, true},
        Case{"valiant", NetworkKind::kBenes, true},
        Case{"greedy", NetworkKind::kTwoFoldButterfly, false},
        Case{"greedy", NetworkKind::kButterfly, false},
        Case{"ranade_flip", NetworkKind::kTwoFoldButterfly, false}}) {
    int moved = 0, without_choice = 0;
    for (uint64_t seed = 1; seed <= 6; ++seed) {
      const uint32_t rows = 64;
      const Network network = FaultlessNetwork(kind, rows, seed);
      const Faults faults(network, seed, 24);
      const std::vector<Request> requests = RandomRequests(rows, seed);
      const RouteResult free =
          RoutePermutation(protocol, LinkLoad(network), requests, {.seed = seed}).value();
      const RouteResult result = RoutePermutation(protocol, LinkLoad(network), requests,
                                                  {.seed = seed, .faults = &faults.set})
                                     .value();
      const auto rows_of = [&](const CircuitPath& path) {
        return WalkTag(network, path.input, path.tag);
      };
      for (size_t i = 0; i < requests.size(); ++i) {
        ASSERT_EQ(rows_of(result.paths[i]).back(), requests[i].output);
        if (faults.IsWhole(rows_of(free.paths[i])) || !chooses) {
          ASSERT_EQ(result.paths[i].tag, free.paths[i].tag) << protocol;
          without_choice += !faults.IsWhole(rows_of(result.paths[i]));
          continue;
        }
        bool any = false;
        if (std::string(protocol) == "one_choice") {
          const auto other = PathChoice::kP == free.paths[i].choice ? 1 : 0;
          any = faults.IsWhole(paper::CandidatePath(SwitchSettings::Make(network).value(),
                                                    network.dimension(), requests[i].input,
                                                    requests[i].output, other));
        } else {
          for (Row middle = 0; middle < rows; ++middle) {
            const Tag tag = TagThrough(network, middle, requests[i].output);
            any |= faults.IsWhole(WalkTag(network, requests[i].input, tag));
          }
        }
        ASSERT_EQ(faults.IsWhole(rows_of(result.paths[i])), any) << protocol;
        moved += any;
      }
    }
    EXPECT_EQ(moved > 10, chooses) << protocol;
    EXPECT_EQ(without_choice > 10, !chooses) << protocol;
  }
}

// Hardly any row is left between the copies. The protocol finds the only one.
TEST(Faults, ValiantFindsTheOnlyMiddleRowThatIsLeft) {
  for (Row left : {0u, 17u, 63u}) {
    const Network bb = FaultlessNetwork(NetworkKind::kTwoFoldButterfly, 64);
    FaultSet faults(bb);
    for (Row middle = 0; middle < 64; ++middle) {
      if (middle != left) faults.SetNodeUp({6, middle}, false);
    }
    const RouteResult result = RoutePermutation("valiant", LinkLoad(bb), RandomRequests(64, 1),
                                                {.seed = 5, .faults = &faults})
                                   .value();
    ASSERT_EQ(result.paths.size(), 64u);
    for (const CircuitPath& path : result.paths) {
      ASSERT_EQ(WalkTag(bb, path.input, path.tag)[6], left);
    }
  }
}

// A faulty link carries no circuit, and a request that would cross it takes no place on other
// links.
TEST(Faults, QLimitedLosesWhatHasNoWholePath) {
  for (const NetworkKind kind : {NetworkKind::kButterfly, NetworkKind::kTwoFoldButterfly}) {
    const Network network = FaultlessNetwork(kind, 64);
    const Faults faults(network, 7, 20);
    const std::vector<Request> requests = RandomRequests(64, 7);
    const RouteResult result = RoutePermutation("q_limited", LinkLoad(network), requests,
                                                {.seed = 2, .q = 254, .faults = &faults.set})
                                   .value();
    // With room for all only faults lose requests.
    std::set<uint32_t> lost(result.requests_left.begin(), result.requests_left.end());
    size_t next = 0;
    for (uint32_t i = 0; i < requests.size(); ++i) {
      if (lost.count(i) != 0) continue;
      const CircuitPath& path = result.paths[next++];
      ASSERT_EQ(path.input, requests[i].input);
      EXPECT_TRUE(faults.IsWhole(WalkTag(network, path.input, path.tag)));
    }
    EXPECT_EQ(next, result.paths.size());
    for (const uint32_t i : lost) {
      const Tag only = GreedyTag(network, requests[i].input, requests[i].output);
      if (kind == NetworkKind::kButterfly) {
        EXPECT_FALSE(faults.IsWhole(WalkTag(network, requests[i].input, only)));
      } else {
        EXPECT_FALSE(faults.set.ReachableFrom(requests[i].input)[requests[i].output]);
      }
    }
    if (kind == NetworkKind::kButterfly) {
      EXPECT_GT(lost.size(), 5u);
    }
  }
}

// Every node of a Benes network that a whole permutation crosses uses one of its two links: a fault
// is met by half of the solutions, and the n of them that differ by a mask suffice for a few.
TEST(Faults, BenesKeepsOneCircuitALinkAroundAFewFaults) {
  for (uint32_t rows : {4u, 16u, 64u, 1024u}) {
    for (uint64_t seed = 1; seed <= 12; ++seed) {
      const Network benes = FaultlessNetwork(NetworkKind::kBenes, rows, seed);
      const uint32_t links = rows == 4 ? 1 : rows == 16 ? 1 + seed % 2 : 1 + seed % 4;
      // Not at the ends: there a request has a single link or two.
      FaultSet faults(benes);
      std::mt19937_64 random(seed);
      while (faults.down_links().size() < links) {
        const LinkId link = benes.link_at(random() % benes.link_count());
        if (link.stage > 0 && link.stage < benes.stages() - 1) faults.SetLinkUp(link, false);
      }
      const std::vector<Request> requests = RandomRequests(rows, seed);
      const RouteResult result =
          RoutePermutation("benes", LinkLoad(benes), requests,
                           {.workers = static_cast<uint32_t>(seed % 3), .faults = &faults})
              .value();
      paper::EdgeLoad load;
      ASSERT_EQ(result.paths.size(), rows);
      for (const CircuitPath& path : result.paths) {
        const std::vector<Row> walk = WalkTag(benes, path.input, path.tag);
        ASSERT_EQ(walk.back(), path.output);
        EXPECT_TRUE(faults.IsWhole(path.input, path.tag)) << rows << " rows, seed " << seed;
        paper::Count(load, walk);
      }
      if (result.requests_left.empty()) {
        for (const auto& [edge, count] : load) ASSERT_EQ(count, 1);
        EXPECT_EQ(result.congestion, 1u);
      }
      // A thousand solutions leave none of four faults in the way.
      if (rows == 1024) {
        EXPECT_TRUE(result.requests_left.empty());
      }
    }
  }
}

// So many faults that no solution is whole. Paths over faults are replaced by others, and the
// result says so.
TEST(Faults, BenesReroutesWhatNoSolutionLeavesWhole) {
  int rerouted = 0, lost = 0;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    const Network benes = FaultlessNetwork(NetworkKind::kBenes, 64, seed);
    const Faults faults(benes, seed, 60);
    const std::vector<Request> requests = RandomRequests(64, seed);
    const RouteResult result =
        RoutePermutation("benes", LinkLoad(benes), requests, {.faults = &faults.set}).value();
    const std::set<uint32_t> left(result.requests_left.begin(), result.requests_left.end());
    paper::EdgeLoad load;
    for (uint32_t i = 0; i < requests.size(); ++i) {
      const CircuitPath& path = result.paths[i];
      const bool whole = faults.IsWhole(WalkTag(benes, path.input, path.tag));
      EXPECT_EQ(whole, faults.set.ReachableFrom(path.input)[path.output]);
      EXPECT_EQ(path.choice == PathChoice::kArbitrary, left.count(i) != 0 && whole);
      if (left.count(i) == 0) paper::Count(load, WalkTag(benes, path.input, path.tag));
      rerouted += path.choice == PathChoice::kArbitrary;
      lost += !whole;
    }
    for (const auto& [edge, count] : load) ASSERT_EQ(count, 1);
  }
  EXPECT_GT(rerouted, 10);
  EXPECT_GT(lost, 0);
}

TEST(Faults, ReadsGoToTheCopyThatIsWithinReach) {
  int moved = 0;
  for (uint32_t rows : {8u, 32u, 128u}) {
    for (uint64_t seed = 1; seed <= 6; ++seed) {
      const Network rb = FaultlessNetwork(NetworkKind::kRandomlyWiredButterfly, rows, seed);
      const Faults faults(rb, seed, rows / 4);
      const std::vector<Copies> placed = PlaceInTwoCopies(rows, rows, seed);
      std::vector<DataServerRequest> requests;
      for (Row user = 0; user < rows; ++user) requests.push_back({user, placed[user]});
      const StandingReads standing{.links = nullptr, .disks = nullptr, .faults = &faults.set};
      // One after the other.
      const DataServerResult minimum = RouteDataServerMinimum(rb, requests, standing).value();
      paper::ServerLoad load;
      for (size_t i = 0; i < requests.size(); ++i) {
        const auto& [user, copies] = requests[i];
        const std::vector<Row> paths[] = {paper::PathTo(rb, user, copies[0]),
                                          paper::PathTo(rb, user, copies[1])};
        int which = load.Cost(paths[1]) < load.Cost(paths[0]);
        if (!faults.IsWhole(paths[which]) && faults.IsWhole(paths[1 - which])) {
          which = 1 - which;
          ++moved;
        }
        ASSERT_EQ(minimum.route.paths[i].output, copies[which]);
        load.Count(paths[which]);
      }
      // In rounds: whole wherever one of the two is.
      const DataServerResult rounds =
          RouteDataServerCollision(rb, requests, {.c = 3, .c_disk = 5}, standing).value();
      std::vector<int> choice(requests.size(), -1);
      for (size_t before = requests.size() + 1;;) {
        const size_t left = std::count(choice.begin(), choice.end(), -1);
        if (left == before || left == 0) break;
        before = left;
        paper::ServerLoad asking;
        for (size_t i = 0; i < requests.size(); ++i) {
          if (choice[i] >= 0) continue;
          for (const Row disk : requests[i].copies) {
            asking.Count(paper::PathTo(rb, requests[i].user, disk));
          }
        }
        for (size_t i = 0; i < requests.size(); ++i) {
          if (choice[i] >= 0) continue;
          for (int copy : {1, 0}) {
            const auto path = paper::PathTo(rb, requests[i].user, requests[i].copies[copy]);
            if (faults.IsWhole(path) && asking.MostOnEdges(path) <= 3 &&
                asking.readers[path.back()] <= 5) {
              choice[i] = copy;
            }
          }
        }
      }
      for (size_t i = 0; i < requests.size(); ++i) {
        const auto& [user, copies] = requests[i];
        const bool whole[] = {faults.IsWhole(paper::PathTo(rb, user, copies[0])),
                              faults.IsWhole(paper::PathTo(rb, user, copies[1]))};
        const int expected = choice[i] >= 0 ? choice[i] : !whole[0] && whole[1];
        ASSERT_EQ(rounds.route.paths[i].output, copies[expected]);
      }
    }
  }
  EXPECT_GT(moved, 20);
}

}  // namespace
}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
// Link-disjoint circuits, compared on small networks with a search that tries all paths, and
// counted by hand on large ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "control/protocols/circuit_set.h"
#include "control/protocols/disjoint_cut.h"
#include "control/protocols/disjoint_search.h"
#include "control/protocols/level_matching.h"
#include "control/protocols/protocol.h"
#include "topologies/random.h"

namespace bfly::control {
namespace {

using testing::HasSubstr;
using Links = std::set<uint64_t>;

Network SmallNetwork(NetworkKind kind, uint32_t rows, int multiplicity, uint64_t seed) {
  return Network::Make({.kind = kind, .rows = rows, .seed = seed, .multiplicity = multiplicity})
      .value();
}

// Whether requests i, i + 1, ... have link-disjoint paths that avoid `taken`; `row` is where the
// path of request i has come to at `stage`. Tries every port of every hop.
bool Exists(const Network& network, const std::vector<Request>& requests, size_t i, int stage,
            Row row, Links& taken) {
  if (stage == network.stages()) {
    EXPECT_EQ(row, requests[i].output);
    if (i + 1 == requests.size()) return true;
    return Exists(network, requests, i + 1, 0, requests[i + 1].input, taken);
  }
  const int d = network.multiplicity();
  const int direction = static_cast<int>(requests[i].output >> (network.stages() - 1 - stage) & 1);
  for (int port = direction * d; port < (direction + 1) * d; ++port) {
    const uint64_t link = network.link_index({stage, row, port});
    if (!taken.insert(link).second) continue;
    const bool found =
        Exists(network, requests, i, stage + 1, network.next_row(stage, row, port), taken);
    taken.erase(link);
    if (found) return true;
  }
  return false;
}

// The outputs that `input` reaches by paths towards `output` that avoid `taken`: {output} or {}.
bool HasPath(const Network& network, const Request& request, Links taken) {
  return Exists(network, {request}, 0, 0, request.input, taken);
}

// What is closed before: faults, and links with circuits.
struct Before {
  explicit Before(const Network& network) : faults(network), standing(network) {}
  FaultSet faults;
  LinkLoad standing;
  Links closed;
};

void CheckDisjoint(const Network& network, const std::vector<Request>& requests,
                   const RouteResult& result, const Links& closed) {
  ASSERT_EQ(result.paths.size(), requests.size());
  std::map<uint64_t, int> load;
  for (size_t i = 0; i < requests.size(); ++i) {
    const CircuitPath& path = result.paths[i];
    EXPECT_EQ(path.input, requests[i].input);
    EXPECT_EQ(path.choice, PathChoice::kDisjoint);
    const std::vector<int> ports = PortsOfTag(network, path.tag);
    Row row = path.input;
    for (int stage = 0; stage < network.stages(); ++stage) {
      const uint64_t link = network.link_index({stage, row, ports[size_t(stage)]});
      EXPECT_EQ(++load[link], 1);
      EXPECT_EQ(closed.count(link), 0u);
      row = network.next_row(stage, row, ports[size_t(stage)]);
    }
    EXPECT_EQ(row, requests[i].output);
  }
}

TEST(Disjoint, FindsPathsExactlyWhereATrialOfAllPathsFindsThem) {
  int found = 0, none = 0, with_cut = 0, matched = 0, routed = 0;
  for (const NetworkKind kind : {NetworkKind::kMultibutterfly, NetworkKind::kDilatedButterfly}) {
    for (const auto& [rows, d] : {std::pair{4u, 1}, {4u, 2}, {8u, 1}, {8u, 2}, {8u, 3}}) {
      for (uint64_t seed = 1; seed <= 60; ++seed) {
        const Network network = SmallNetwork(kind, rows, d, seed);
        const auto links = static_cast<uint32_t>(network.link_count());
        Before before(network);
        const Permutation permutation = PermutationByName("random", rows, seed).value();
        std::vector<Request> requests;
        for (Row input = 0; input < rows; ++input) {
          if (seed % 3 != 0 || input % 4 != 1) {
            requests.push_back({input, permutation[input]});
            continue;
          }
          const Tag tag = GreedyTag(network, input, permutation[input]);
          before.standing.Add(input, tag);
          ForEachLink(network, input, tag, [&](uint64_t link) { before.closed.insert(link); });
        }
        for (uint64_t i = 0; seed % 2 == 0 && i < seed % 7 * d; ++i) {
          const uint64_t link = RandomBelow(seed, RandomStream::kTest, i, links);
          before.faults.SetLinkUp(network.link_at(link), false);
          before.closed.insert(link);
        }
        Links taken = before.closed;
        const bool exists = Exists(network, requests, 0, 0, requests[0].input, taken);
        const auto result =
            RoutePermutation("disjoint", before.standing, requests, {.faults = &before.faults});
        ASSERT_EQ(result.ok(), exists) << result.status();
        const OpenLinks open(network, &before.standing, &before.faults);
        const auto cut = FindDisjointCut(open, requests, 1 << 20);
        if (exists) {
          ++found;
          CheckDisjoint(network, requests, *result, before.closed);
          EXPECT_FALSE(cut.has_value());
          EXPECT_EQ(TryAllWays(open, requests, 1 << 24).end, SearchResult::End::kFound);
          matched += MatchLevelByLevel(open, requests).has_value();
          routed += RouteHardestFirst(open, requests, 1 << 24).has_value();
          continue;
        }
        ++none;
        EXPECT_EQ(TryAllWays(open, requests, 1 << 24).end, SearchResult::End::kExhausted);
        EXPECT_FALSE(RouteHardestFirst(open, requests, 1 << 24).has_value());
        EXPECT_FALSE(MatchLevelByLevel(open, requests).has_value());
        const std::string message(result.status().message());
        EXPECT_THAT(message, testing::AnyOf(HasSubstr("no link-disjoint paths exist"),
                                            HasSubstr("no path of free links leads from")));
        if (!cut.has_value()) continue;
        // The witness holds: the inputs are more than the links and the outputs, and without the
        // links only requests for these outputs have paths.
        ++with_cut;
        EXPECT_GT(cut->inputs.size(), cut->links.size() + cut->near_outputs.size());
        Links without = before.closed;
        without.insert(cut->links.begin(), cut->links.end());
        for (const Request& request : requests) {
          if (std::count(cut->inputs.begin(), cut->inputs.end(), request.input) == 0) continue;
          if (std::count(cut->near_outputs.begin(), cut->near_outputs.end(), request.output) != 0) {
            continue;
          }
          EXPECT_FALSE(HasPath(network, request, without));
        }
        for (const uint64_t link : cut->links) EXPECT_EQ(before.closed.count(link), 0u);
      }
    }
  }
  EXPECT_GT(found, 100);
  EXPECT_GT(none, 50);
  EXPECT_GT(with_cut, 50);
  EXPECT_GT(matched, 100);
  EXPECT_GT(routed, 100);
  RecordProperty("found", found);
  RecordProperty("none", none);
  RecordProperty("with_cut", with_cut);
  RecordProperty("matched", matched);
  RecordProperty("routed", routed);
}

TEST(Disjoint, RoutesEveryPermutationOfFourRowsThatCanBeRouted) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    for (const int d : {1, 2}) {
      const Network network = SmallNetwork(NetworkKind::kMultibutterfly, 4, d, seed);
      Permutation permutation{0, 1, 2, 3};
      do {
        std::vector<Request> requests;
        for (Row input = 0; input < 4; ++input) requests.push_back({input, permutation[input]});
        Links taken;
        const bool exists = Exists(network, requests, 0, 0, 0, taken);
        const auto result = RoutePermutation("disjoint", network, permutation, {});
        ASSERT_EQ(result.ok(), exists);
        if (exists) CheckDisjoint(network, requests, *result, {});
      } while (std::next_permutation(permutation.begin(), permutation.end()));
    }
  }
}

TEST(Disjoint, PutsOneCircuitOnALinkOfLargeNetworks) {
  for (const int d : {2, 3, 4}) {
    const Network network = SmallNetwork(NetworkKind::kMultibutterfly, 1024, d, 1);
    for (const char* name : {"random", "bitrev", "transpose", "identity"}) {
      const Permutation permutation = PermutationByName(name, 1024, 3).value();
      std::vector<Request> requests;
      for (Row input = 0; input < 1024; ++input) requests.push_back({input, permutation[input]});
      const auto result = RoutePermutation("disjoint", network, permutation, {});
      ASSERT_TRUE(result.ok()) << result.status();
      CheckDisjoint(network, requests, *result, {});
      EXPECT_EQ(result->congestion, 1u);
    }
  }
}

// Half of the circuits stand, some links are down, and the other half goes around them.
TEST(Disjoint, GoesAroundFaultsAndCircuitsOnLargeNetworks) {
  const Network network = SmallNetwork(NetworkKind::kMultibutterfly, 1024, 3, 2);
  const Permutation permutation = PermutationByName("random", 1024, 5).value();
  Before before(network);
  for (uint64_t i = 0; i < 200; ++i) {
    const uint64_t link =
        RandomBelow(9, RandomStream::kTest, i, static_cast<uint32_t>(network.link_count()));
    before.faults.SetLinkUp(network.link_at(link), false);
    before.closed.insert(link);
  }
  for (Row half : {0u, 1u}) {
    std::vector<Request> requests;
    for (Row input = half; input < 1024; input += 2) {
      requests.push_back({input, permutation[input]});
    }
    const auto result =
        RoutePermutation("disjoint", before.standing, requests, {.faults = &before.faults});
    ASSERT_TRUE(result.ok()) << result.status();
    CheckDisjoint(network, requests, *result, before.closed);
    for (const CircuitPath& path : result->paths) {
      before.standing.Add(path.input, path.tag);
      ForEachLink(network, path.input, path.tag,
                  [&](uint64_t link) { before.closed.insert(link); });
    }
  }
}

// Both links of input 0 towards the upper half are down.
TEST(Disjoint, NamesTheLinksThatBlockASingleCircuit) {
  const Network network = SmallNetwork(NetworkKind::kMultibutterfly, 16, 2, 3);
  FaultSet faults(network);
  faults.SetLinkUp({0, 0, 0}, false);
  faults.SetLinkUp({0, 0, 1}, false);
  const auto routed =
      RoutePermutation("disjoint", LinkLoad(network), {{0, 5}, {1, 9}}, {.faults = &faults});
  EXPECT_EQ(routed.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(routed.status().message()),
              HasSubstr("from 0 to 5: stage 0 blocks the last of them; s0 r0 p0 is down, "
                        "s0 r0 p1 is down"));
}

// A dilated butterfly of four rows: inputs 0 and 2 meet in row 0 on the way to outputs 0 and 1, and
// go on by links of their own. With two of the three circuits towards output 0's side of a single
// port the third has no link.
TEST(Disjoint, NamesACutOfASplitter) {
  const Network network = SmallNetwork(NetworkKind::kDilatedButterfly, 4, 1, 0);
  // 0 -> 0 and 2 -> 1 both come to row 0 and leave it in different directions: disjoint.
  EXPECT_TRUE(RoutePermutation("disjoint", LinkLoad(network), {{0, 0}, {2, 1}}, {}).ok());
  // 0 -> 2 and 2 -> 3: row 2, directions 0 and 1. 1 -> 0 and 3 -> 1: row 1, the same.
  // 0 -> 0 and 1 -> 1 share nothing. On an 8-row butterfly 0 -> 0 and 4 -> 1 share s1 r0 p0.
  const Network eight = SmallNetwork(NetworkKind::kDilatedButterfly, 8, 1, 0);
  const auto routed = RoutePermutation("disjoint", LinkLoad(eight), {{0, 0}, {4, 1}}, {});
  EXPECT_EQ(routed.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(routed.status().message()),
              HasSubstr("no link-disjoint paths exist: the 2 circuits of inputs 0, 4 can only "
                        "cross 1 free link (s1 r0 p0)"));
}

TEST(Disjoint, ASingleCircuitTakesFreeLinksUntilThereAreNone) {
  const Network network = SmallNetwork(NetworkKind::kDilatedButterfly, 4, 2, 0);
  CircuitSet circuits(network);
  const auto chooser = MakeChooser("disjoint", network, {}).value();
  // Inputs 0 and 2 share the row 0 behind stage 0; its two links to output 0's side carry both.
  ASSERT_TRUE(circuits.SetUp(*chooser, 0, 0).ok());
  ASSERT_TRUE(circuits.SetUp(*chooser, 2, 1).ok());
  EXPECT_EQ(circuits.load().Congestion(), 1u);
  EXPECT_EQ(circuits.AtInput(0)->choice, PathChoice::kDisjoint);

  const Network eight = SmallNetwork(NetworkKind::kDilatedButterfly, 8, 1, 0);
  CircuitSet single(eight);
  const auto one = MakeChooser("disjoint", eight, {}).value();
  ASSERT_TRUE(single.SetUp(*one, 0, 0).ok());
  const auto blocked = single.SetUp(*one, 4, 1);
  EXPECT_EQ(blocked.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(blocked.status().message()),
              HasSubstr("from 4 to 1: stage 1 blocks the last of them; s1 r0 p0 carries 1 "
                        "circuit"));
  EXPECT_EQ(single.size(), 1u);
}

TEST(Disjoint, SaysThatItStoppedWhereItProvedNothing) {
  const Network network = SmallNetwork(NetworkKind::kMultibutterfly, 8, 2, 1);
  const OpenLinks open(network, nullptr, nullptr);
  std::vector<Request> requests;
  for (Row input = 0; input < 8; ++input) requests.push_back({input, 7 - input});
  EXPECT_EQ(TryAllWays(open, requests, 0).end, SearchResult::End::kStopped);
  EXPECT_FALSE(FindDisjointCut(open, requests, 0).has_value());
}

}  // namespace
}  // namespace bfly::control

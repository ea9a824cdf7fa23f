// SPDX-License-Identifier: Apache-2.0
// Collision where a direction has several ports, compared with a textbook version that counts paths
// link by link and knows no masks and no columns.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "control/protocols/protocol.h"
#include "control/protocols/set_up_steps.h"
#include "topologies/random.h"

namespace bfly::control {
namespace {

using Ports = std::vector<int>;

Network NetworkWithPorts(NetworkKind kind, uint32_t rows, int multiplicity, uint64_t seed) {
  return Network::Make({.kind = kind, .rows = rows, .seed = seed, .multiplicity = multiplicity})
      .value();
}

// The ports of candidate k, drawn as docs/multibutterfly.md says.
Ports CandidateByHand(const Network& network, uint64_t seed, const Request& request, int k) {
  Ports ports;
  const int hops = network.dimension(), d = network.multiplicity();
  for (int hop = 0; hop < hops; ++hop) {
    const auto drawn = static_cast<int>(RandomBelow(seed, RandomStream::kPortCandidates,
                                                    request.input * uint64_t(hops) + uint64_t(hop),
                                                    static_cast<uint32_t>(d)));
    const int direction = static_cast<int>(request.output >> (hops - 1 - hop) & 1);
    ports.push_back(direction * d + (drawn + k) % d);
  }
  return ports;
}

std::vector<uint64_t> LinksOf(const Network& network, Row row, const Ports& ports) {
  std::vector<uint64_t> links;
  for (int stage = 0; stage < network.stages(); ++stage) {
    links.push_back(network.link_index({stage, row, ports[stage]}));
    row = network.next_row(stage, row, ports[stage]);
  }
  return links;
}

struct Textbook {
  std::vector<int> choice;  // -1: none
  std::vector<uint32_t> left_per_round;
};

// `at_most` is the number of paths that a link may have.
template <typename AtMost>
Textbook RunTextbook(const std::vector<std::vector<std::vector<uint64_t>>>& paths,
                     const std::map<uint64_t, uint32_t>& standing, const FaultSet& faults,
                     const AtMost& at_most) {
  Textbook book{std::vector<int>(paths.size(), -1), {}};
  for (;;) {
    std::map<uint64_t, uint32_t> count = standing;
    for (size_t i = 0; i < paths.size(); ++i) {
      if (book.choice[i] >= 0) continue;
      for (const auto& path : paths[i]) {
        for (const uint64_t link : path) ++count[link];
      }
    }
    bool selected = false;
    uint32_t left = 0;
    for (size_t i = 0; i < paths.size(); ++i) {
      if (book.choice[i] >= 0) continue;
      for (size_t k = 0; k < paths[i].size() && book.choice[i] < 0; ++k) {
        bool eligible = true;
        for (const uint64_t link : paths[i][k]) {
          eligible = eligible && !faults.blocks(link) && count[link] <= at_most(link);
        }
        if (eligible) book.choice[i] = static_cast<int>(k);
      }
      selected = selected || book.choice[i] >= 0;
      left += book.choice[i] < 0;
    }
    book.left_per_round.push_back(left);
    if (left == 0 || !selected) return book;
  }
}

TEST(CollisionOverPorts, SelectsWhatTheTextbookSelects) {
  int finished = 0, stuck = 0, limited = 0;
  for (const NetworkKind kind : {NetworkKind::kMultibutterfly, NetworkKind::kDilatedButterfly}) {
    for (const int d : {1, 2, 3, 4}) {
      for (uint64_t seed = 1; seed <= 8; ++seed) {
        const uint32_t rows = seed % 2 == 0 ? 64 : 16;
        const Network network = NetworkWithPorts(kind, rows, d, seed);
        const auto links = static_cast<uint32_t>(network.link_count());
        FaultSet faults(network);
        LinkCapacity capacity;
        LinkLoad standing(network);
        std::map<uint64_t, uint32_t> stands;
        const Permutation permutation = PermutationByName("random", rows, seed).value();
        std::vector<Request> requests;
        for (Row input = 0; input < rows; ++input) {
          if (seed % 4 < 2 || input % 3 != 0) {
            requests.push_back({input, permutation[input]});
            continue;
          }
          const Tag tag = GreedyTag(network, input, permutation[input]);
          standing.Add(input, tag);
          ForEachLink(network, input, tag, [&](uint64_t link) { ++stands[link]; });
        }
        for (uint64_t i = 0; seed % 3 == 0 && i < 8; ++i) {
          const auto draw = [&](uint64_t at) {
            return RandomBelow(seed, RandomStream::kTest, at, links);
          };
          faults.SetLinkUp(network.link_at(draw(i)), false);
          capacity.of_link[draw(100 + i)] = 1;
        }
        const uint32_t c = 1 + static_cast<uint32_t>(seed % 4);
        std::vector<std::vector<std::vector<uint64_t>>> paths;
        for (const Request& request : requests) {
          paths.emplace_back();
          std::set<uint64_t> together;
          for (int k = 0; k < d; ++k) {
            paths.back().push_back(
                LinksOf(network, request.input, CandidateByHand(network, seed, request, k)));
            together.insert(paths.back().back().begin(), paths.back().back().end());
          }
          // No two candidates of a request share a link.
          ASSERT_EQ(together.size(), size_t(d) * size_t(network.stages()));
        }
        const Textbook book = RunTextbook(paths, stands, faults, [&](uint64_t link) {
          const uint32_t most = capacity.at(link);
          return most == LinkCapacity::kUnlimited ? c : std::min(c, most);
        });
        const RouteResult result = RoutePermutation("collision", standing, requests,
                                                    {.seed = seed,
                                                     .c = c,
                                                     .workers = static_cast<uint32_t>(seed % 3),
                                                     .faults = &faults,
                                                     .capacity = &capacity})
                                       .value();
        EXPECT_EQ(result.left_per_round, book.left_per_round);
        EXPECT_EQ(result.rounds, book.left_per_round.size());
        EXPECT_EQ(result.c, c);
        std::map<uint64_t, uint32_t> load = stands;
        for (size_t i = 0; i < requests.size(); ++i) {
          const CircuitPath& path = result.paths[i];
          const bool left = book.choice[i] < 0;
          int taken = book.choice[i];
          for (int k = d; left && k-- > 0;) {
            const auto& links_of_k = paths[i][size_t(k)];
            const bool whole = std::none_of(links_of_k.begin(), links_of_k.end(),
                                            [&](uint64_t link) { return faults.blocks(link); });
            if (whole || (k == 0 && taken < 0)) taken = k;
          }
          EXPECT_EQ(path.choice, left ? PathChoice::kArbitrary : PathChoice::kCandidate);
          ASSERT_EQ(LinksOf(network, path.input, PortsOfTag(network, path.tag)),
                    paths[i][size_t(taken)]);
          EXPECT_EQ(OutputOfTag(network, path.tag), requests[i].output);
          for (const uint64_t link : paths[i][size_t(taken)]) ++load[link];
        }
        if (book.left_per_round.back() != 0) {
          ++stuck;
          continue;
        }
        // The guarantee: no link that the paths cross is over c or over its capacity.
        ++finished;
        for (const CircuitPath& path : result.paths) {
          ForEachLink(network, path.input, path.tag, [&](uint64_t link) {
            EXPECT_LE(load[link], c);
            if (capacity.at(link) == LinkCapacity::kUnlimited) return;
            EXPECT_LE(load[link], capacity.at(link));
            ++limited;
          });
        }
      }
    }
  }
  EXPECT_GT(finished, 20);
  EXPECT_GT(stuck, 5);
  EXPECT_GT(limited, 0);
}

TEST(CollisionOverPorts, ReachesItsThresholdOnLargeNetworks) {
  for (const int d : {2, 3, 4}) {
    const Network network = NetworkWithPorts(NetworkKind::kMultibutterfly, 1024, d, 1);
    for (const char* name : {"random", "bitrev", "transpose"}) {
      const Permutation permutation = PermutationByName(name, 1024, 7).value();
      const RouteResult result =
          RoutePermutation("collision", network, permutation, {.seed = 7}).value();
      EXPECT_TRUE(result.requests_left.empty());
      EXPECT_EQ(result.c, 4u);  // 4! > log 1024
      std::map<uint64_t, uint32_t> load;
      for (const CircuitPath& path : result.paths) {
        for (const uint64_t link : LinksOf(network, path.input, PortsOfTag(network, path.tag))) {
          EXPECT_LE(++load[link], 4u);
        }
      }
      EXPECT_LE(result.congestion, 4u);
    }
  }
}

// Every active candidate is a packet forward and one back.
TEST(CollisionOverPorts, CountsThePacketsOfItsRounds) {
  const Network network = NetworkWithPorts(NetworkKind::kMultibutterfly, 64, 3, 5);
  const Permutation permutation = PermutationByName("random", 64, 2).value();
  const RouteResult result =
      RoutePermutation("collision", network, permutation, {.seed = 2, .c = 2}).value();
  uint64_t asked = 64;
  uint64_t messages = 0;
  for (const uint32_t left : result.left_per_round) {
    messages += 2 * 3 * asked;
    asked = left;
  }
  EXPECT_EQ(result.messages, messages);
  // A pass takes a step a hop at least, and there are two in each round.
  EXPECT_GE(SetUpSteps(network, result), 2u * 6 * result.rounds);
}

}  // namespace
}  // namespace bfly::control

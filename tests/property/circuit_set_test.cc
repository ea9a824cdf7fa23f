// SPDX-License-Identifier: Apache-2.0
#include "control/protocols/circuit_set.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/property/paper.h"
#include "topologies/random.h"

namespace bfly::control {
namespace {

// Recounts every link from the list of circuits, node by node.
std::map<std::array<Row, 3>, int> Recount(const CircuitSet& circuits) {
  paper::EdgeLoad load;
  for (const CircuitPath& path : circuits.circuits()) {
    std::vector<Row> rows = WalkTag(circuits.network(), path.input, path.tag);
    // A wrapped network of two passes uses the same links again.
    for (int hop = 0; hop < circuits.network().hops(); ++hop) {
      ++load[{static_cast<Row>(circuits.network().stage_of_hop(hop)), rows[hop], rows[hop + 1]}];
    }
  }
  return load;
}

void ExpectCountsEqualRecount(const CircuitSet& circuits) {
  const Network& network = circuits.network();
  const paper::EdgeLoad recount = Recount(circuits);
  int most = 0;
  for (uint64_t index = 0; index < network.link_count(); ++index) {
    const LinkId link = network.link_at(index);
    const auto found = recount.find({static_cast<Row>(link.stage), link.row,
                                     network.next_row(link.stage, link.row, link.port)});
    const int expected = found == recount.end() ? 0 : found->second;
    ASSERT_EQ(circuits.load().on(link), static_cast<uint32_t>(expected));
    // On a hypercube a circuit that keeps its row crosses no link.
    const bool free = network.kind() == NetworkKind::kHypercube &&
                      network.next_row(link.stage, link.row, link.port) == link.row;
    if (!free) most = std::max(most, expected);
  }
  ASSERT_EQ(circuits.load().Congestion(), static_cast<uint32_t>(most));
}

// Set-ups, releases, given paths and batches in random order, many of them wrong. A plain map has
// the expected circuits.
TEST(CircuitSet, CountsEqualARecountAfterRandomSetUpsReleasesAndRefusals) {
  for (NetworkKind kind : AllKinds()) {
    for (uint64_t seed = 1; seed <= 4; ++seed) {
      const uint32_t rows = 4u << (seed % 3);
      const int passes = kind == NetworkKind::kWrappedButterfly ? 1 + seed % 2 : 1;
      const Network network =
          Network::Make({.kind = kind, .rows = rows, .seed = seed, .passes = passes}).value();
      const char* protocol = kind == NetworkKind::kTwoFoldButterfly ? "minimum" : "greedy";
      const auto chooser = MakeChooser(protocol, network).value();
      CircuitSet circuits(network);
      std::map<Row, Row> stands;  // input -> output
      const auto output_taken = [&](Row output) {
        return std::any_of(stands.begin(), stands.end(),
                           [&](const auto& circuit) { return circuit.second == output; });
      };
      uint64_t counter = 0;
      const auto draw = [&](uint32_t n) {
        return RandomBelow(seed, RandomStream::kTest, counter++, n);
      };
      for (int step = 0; step < 600; ++step) {
        const Row input = draw(rows + 1), output = draw(rows + 1);  // sometimes out of range
        const bool in_range = input < rows && output < rows;
        const bool free = in_range && !stands.contains(input) && !output_taken(output);
        switch (draw(4)) {
          case 0: {
            const auto path = circuits.SetUp(*chooser, input, output);
            ASSERT_EQ(path.ok(), free) << path.status();
            if (free) stands[input] = output;
            break;
          }
          case 1: {
            const auto released = circuits.Release(input);
            ASSERT_EQ(released.ok(), stands.erase(input) == 1) << released.status();
            break;
          }
          case 2: {
            const Tag tag = Random64(seed, RandomStream::kTest, counter++) >> (64 - network.hops());
            const bool ends_there = in_range && OutputOfTag(network, tag) == output;
            const absl::Status status =
                circuits.SetUp(CircuitPath{input, output, tag, PathChoice::kGiven});
            ASSERT_EQ(status.ok(), free && ends_there) << status;
            if (status.ok()) stands[input] = output;
            break;
          }
          case 3: {
            // All or nothing: the second of the batch takes the same output again.
            const Row other = draw(rows);
            std::vector<CircuitPath> batch;
            for (Row from : {input, other}) {
              batch.push_back({from, output, in_range ? GreedyTag(network, from, output) : 0,
                               PathChoice::kGreedy});
            }
            ASSERT_FALSE(circuits.SetUpAll(batch).ok());
            break;
          }
        }
        ASSERT_EQ(circuits.size(), stands.size());
        for (const CircuitPath& path : circuits.circuits()) {
          ASSERT_EQ(stands.at(path.input), path.output);
          ASSERT_EQ(WalkTag(network, path.input, path.tag).back(), path.output);
          ASSERT_EQ(circuits.AtOutput(path.output)->input, path.input);
        }
        if (step % 20 == 0) ExpectCountsEqualRecount(circuits);
      }
      ExpectCountsEqualRecount(circuits);
      while (!stands.empty()) {
        ASSERT_TRUE(circuits.Release(stands.begin()->first).ok());
        stands.erase(stands.begin());
      }
      ASSERT_EQ(circuits.load().Congestion(), 0u);
    }
  }
}

// The whole protocol once more from the paper: candidate paths by walking the switches, loads in a
// map keyed by edge, collision edges only, ties to p.
TEST(Minimum, ChoosesAsThePaperSaysUnderRandomArrivalsAndDepartures) {
  for (uint32_t rows : {2u, 4u, 8u, 32u, 128u}) {
    const Network network =
        Network::Make({.kind = NetworkKind::kTwoFoldButterfly, .rows = rows, .seed = rows}).value();
    const SwitchSettings settings = SwitchSettings::Make(network).value();
    const int d = network.dimension();
    const int h = d / 2;
    const auto chooser = MakeChooser("minimum", network).value();
    CircuitSet circuits(network);
    paper::EdgeLoad load;
    std::map<Row, std::vector<Row>> paths;
    const auto most_on_collision_edges = [&](const std::vector<Row>& path) {
      int most = 0;
      for (int level = h; level < d + h; ++level) {
        most = std::max(most, load[{static_cast<Row>(level), path[level], path[level + 1]}]);
      }
      return most;
    };
    uint64_t counter = 0;
    for (int step = 0; step < 2000; ++step) {
      const Row input = RandomBelow(rows, RandomStream::kTest, counter++, rows);
      const Row output = RandomBelow(rows, RandomStream::kTest, counter++, rows);
      if (paths.contains(input)) {
        ASSERT_TRUE(circuits.Release(input).ok());
        paper::Count(load, paths[input], -1);
        paths.erase(input);
      } else if (circuits.AtOutput(output) == nullptr) {
        const auto p = paper::CandidatePath(settings, d, input, output, 0);
        const auto buddy = paper::CandidatePath(settings, d, input, output, 1);
        const bool take_p = most_on_collision_edges(p) <= most_on_collision_edges(buddy);
        const CircuitPath path = circuits.SetUp(*chooser, input, output).value();
        ASSERT_EQ(path.choice, take_p ? PathChoice::kP : PathChoice::kPPrime);
        ASSERT_EQ(WalkTag(network, input, path.tag), take_p ? p : buddy);
        paths[input] = take_p ? p : buddy;
        paper::Count(load, paths[input]);
      }
    }
  }
}

}  // namespace
}  // namespace bfly::control

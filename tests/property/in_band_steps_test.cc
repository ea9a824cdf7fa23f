// SPDX-License-Identifier: Apache-2.0
// The steps of a pass, held against a plain simulation of the model: a queue for each link, and in
// every step each link carries its first packet.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>

#include "dataplane/programs/report.h"
#include "topologies/permutation.h"
#include "topologies/switch_settings.h"
#include "topologies/tag.h"

namespace bfly::dataplane {
namespace {

// Links of each packet, in the order it crosses them.
using Itineraries = std::vector<std::vector<uint64_t>>;

uint64_t SimulatedSteps(const Itineraries& packets) {
  std::map<uint64_t, std::deque<size_t>> queues;
  std::vector<size_t> crossed(packets.size());
  size_t moving = packets.size();
  for (size_t i = 0; i < packets.size(); ++i) queues[packets[i][0]].push_back(i);
  uint64_t steps = 0;
  for (; moving > 0; ++steps) {
    std::vector<size_t> carried;
    for (auto& [link, queue] : queues) {
      if (queue.empty()) continue;
      carried.push_back(queue.front());
      queue.pop_front();
    }
    std::sort(carried.begin(), carried.end());
    for (const size_t i : carried) {
      if (++crossed[i] == packets[i].size()) {
        --moving;
      } else {
        queues[packets[i][crossed[i]]].push_back(i);
      }
    }
  }
  return steps;
}

PassSteps Simulated(const Network& network, const std::vector<TaggedPath>& paths) {
  Itineraries there, back;
  for (const TaggedPath& path : paths) {
    auto& links = there.emplace_back();
    ForEachLink(network, path.input, path.tag, [&](uint64_t link) { links.push_back(link); });
    back.emplace_back(links.rbegin(), links.rend());
  }
  return {.forward = SimulatedSteps(there), .backward = SimulatedSteps(back)};
}

uint64_t CongestionOf(const Network& network, const std::vector<TaggedPath>& paths) {
  std::map<uint64_t, uint64_t> load;
  uint64_t most = 0;
  for (const TaggedPath& path : paths) {
    ForEachLink(network, path.input, path.tag,
                [&](uint64_t link) { most = std::max(most, ++load[link]); });
  }
  return most;
}

TEST(ModelSteps, OfAllCandidatePathsAreThoseOfThePlainSimulation) {
  for (uint32_t rows = 2; rows <= 512; rows *= 2) {
    for (const char* name : {"random", "identity", "bitrev"}) {
      for (uint64_t seed = 0; seed < 3; ++seed) {
        SCOPED_TRACE(testing::Message() << rows << " rows, " << name << ", seed " << seed);
        const Network network =
            *Network::Make({.kind = NetworkKind::kTwoFoldButterfly, .rows = rows, .seed = seed});
        const CandidatePaths candidates(*SwitchSettings::Make(network));
        const Permutation permutation = *PermutationByName(name, rows, seed);
        std::vector<TaggedPath> paths;
        for (Row input = 0; input < rows; ++input) {
          for (const Tag tag : candidates.tags(input, permutation[input])) {
            paths.push_back({input, tag});
          }
        }
        const PassSteps steps = CountSteps(network, paths);
        EXPECT_EQ(steps, Simulated(network, paths));
        // One packet must wait for C - 1 others somewhere, and each crosses 2 log n links.
        const uint64_t congestion = CongestionOf(network, paths);
        const uint64_t least = std::max<uint64_t>(network.hops(), congestion);
        EXPECT_GE(steps.forward, least);
        EXPECT_GE(steps.backward, least);
        // A packet waits at most C - 1 steps for each link that others share.
        const uint64_t most = network.hops() + (congestion - 1) * network.dimension();
        EXPECT_LE(steps.forward, most);
        EXPECT_LE(steps.backward, most);
      }
    }
  }
}

// Everything through one link: n packets that are at its tail in step log n or later leave it one a
// step.
TEST(ModelSteps, OfPathsThroughOneNodeAreThoseOfThePlainSimulation) {
  const Network network =
      *Network::Make({.kind = NetworkKind::kTwoFoldButterfly, .rows = 32, .seed = 1});
  std::vector<TaggedPath> paths;
  for (Row input = 0; input < 32; ++input) paths.push_back({input, TagThrough(network, 7, 3)});
  const PassSteps steps = CountSteps(network, paths);
  EXPECT_EQ(steps, Simulated(network, paths));
  // 5 stages gather them two to one; the node in the middle gets two a step and sends on one.
  EXPECT_GE(steps.forward, 32u + network.hops() - network.dimension());
}

TEST(ModelSteps, OfTheTwoPathsOfARequestAreOneALink) {
  for (uint32_t rows = 2; rows <= 256; rows *= 2) {
    const Network network =
        *Network::Make({.kind = NetworkKind::kTwoFoldButterfly, .rows = rows, .seed = rows});
    const CandidatePaths candidates(*SwitchSettings::Make(network));
    for (Row input = 0; input < rows; ++input) {
      const auto tags = candidates.tags(input, (input * 5 + 3) % rows);
      const auto hops = static_cast<uint64_t>(network.hops());
      EXPECT_EQ(CountSteps(network, {{input, tags[0]}, {input, tags[1]}}),
                (PassSteps{.forward = hops, .backward = hops}));
    }
  }
}

TEST(ModelSteps, OfNothingAreNone) {
  const Network network =
      *Network::Make({.kind = NetworkKind::kTwoFoldButterfly, .rows = 4, .seed = 1});
  EXPECT_EQ(CountSteps(network, {}), PassSteps{});
}

}  // namespace
}  // namespace bfly::dataplane

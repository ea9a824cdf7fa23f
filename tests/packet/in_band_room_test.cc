// SPDX-License-Identifier: Apache-2.0
// Links with a circuit capacity under running stage workers. A request that does not fit is refused
// with the link's name and leaves nothing behind, and data goes on flowing.
#include <numeric>
#include <optional>
#include <utility>

#include "control/protocols/protocol.h"
#include "dataplane/in_band/in_band.h"
#include "tests/packet/fabric_fixture.h"
#include "topologies/permutation.h"

namespace bfly::dataplane {
namespace {

using control::LinkLoad;
using Destination = SourceConfig::Destination;

FabricConfig FoldInParts(uint32_t rows, uint64_t seed, int runs, LinkCapacity capacity) {
  FabricConfig config = InParts(NetworkKind::kTwoFoldButterfly, rows, seed, runs);
  config.circuit_capacity = std::move(capacity);
  return config;
}

std::vector<control::CircuitPath> ByController(const std::string& protocol,
                                               const std::vector<InBandRequest>& requests,
                                               const LinkLoad& load) {
  std::vector<control::Request> wanted;
  for (const auto& [input, output] : requests) wanted.push_back({input, output});
  return control::RoutePermutation(protocol, load, wanted)->paths;
}

// Whole permutations over capacities from 1 on are refused until they fit, and no circuit stands
// after a refusal.
TEST(InBandRoom, APermutationIsRefusedUntilItFits) {
  int refused = 0, set_up = 0;
  for (const uint32_t rows : {8u, 64u, 256u}) {
    const Permutation permutation = *PermutationByName("random", rows, rows);
    std::vector<InBandRequest> requests;
    for (Row input = 0; input < rows; ++input) requests.push_back({input, permutation[input]});
    for (const int runs : {1, 2, 3}) {
      for (uint32_t most = 1; most <= 5; ++most) {
        const LinkCapacity capacity{.every_link = most, .of_link = {}};
        const std::unique_ptr<Fabric> fabric = MustLoad(FoldInParts(rows, 3, runs, capacity));
        ASSERT_NE(fabric, nullptr);
        const Network& network = fabric->network();
        std::vector<Row> all(rows);
        std::iota(all.begin(), all.end(), 0u);
        ASSERT_TRUE(
            fabric->SetSources({{.rows = all, .destination = Destination::kUniform, .seed = 4}})
                .ok());
        InBand& in_band = **fabric->in_band();
        for (const std::string protocol : {"collision", "minimum"}) {
          SCOPED_TRACE(testing::Message() << rows << " rows, " << runs << " parts, capacity "
                                          << most << ", " << protocol);
          const std::vector<control::CircuitPath> wanted =
              ByController(protocol, requests, LinkLoad(network));
          LinkLoad load(network);
          std::optional<InBandRefusal> expected;
          for (uint32_t i = 0; i < rows && !expected.has_value(); ++i) {
            const auto full = FirstFullLink(capacity, load, network, i, wanted[i].tag);
            if (full.has_value()) expected = {i, network.link_at(*full), most, most};
            load.Add(i, wanted[i].tag);
          }
          const absl::StatusOr<InBandReport> report =
              protocol == "minimum"
                  ? in_band.SetUp(requests, MinimumParameters{})
                  : in_band.SetUp(
                        requests,
                        CollisionParameters{.c = control::CollisionThreshold(network.dimension())});
          ASSERT_TRUE(report.ok()) << report.status();
          ASSERT_EQ(report->refusal.has_value(), expected.has_value());
          if (expected.has_value()) {
            EXPECT_EQ(report->refusal->request, expected->request);
            EXPECT_EQ(report->refusal->link, expected->link);
            EXPECT_EQ(report->refusal->circuits, most);
            EXPECT_EQ(report->refusal->capacity, most);
            EXPECT_EQ(in_band.circuits_on_links(), LinkLoad(network).counts());
            EXPECT_TRUE(fabric->circuits().empty());
            ++refused;
          } else {
            EXPECT_EQ(in_band.circuits_on_links(), load.counts());
            ASSERT_TRUE(in_band.Release(all).ok());
            ++set_up;
          }
        }
        ASSERT_TRUE(fabric->SetSources({}).ok());
        const Snapshot drained =
            WaitUntil(*fabric, [](const Snapshot& s) { return s.conservation.in_flight == 0; });
        EXPECT_EQ(drained.conservation.injected,
                  drained.conservation.delivered + drained.conservation.dropped);
      }
    }
  }
  EXPECT_GT(refused, 10);
  EXPECT_GT(set_up, 10);
}

// Circuits that a controller installs count against the capacity too, even if they exceed it.
TEST(InBandRoom, CircuitsInstalledByOthersTakeRoom) {
  const std::unique_ptr<Fabric> fabric =
      MustLoad(FoldInParts(16, 5, 2, {.every_link = 1, .of_link = {}}));
  ASSERT_NE(fabric, nullptr);
  const Network& network = fabric->network();
  LinkLoad load(network);
  // All over one middle row.
  for (Row input = 0; input < 8; ++input) {
    const Tag tag = TagThrough(network, 3, input);
    ASSERT_TRUE(fabric->InstallCircuit(input, tag).ok());
    load.Add(input, tag);
  }
  InBand& in_band = **fabric->in_band();
  int refused = 0;
  for (Row input = 8; input < 16; ++input) {
    const absl::StatusOr<InBandReport> report =
        in_band.SetUp({{input, input}}, MinimumParameters{.other_if_full = true});
    ASSERT_TRUE(report.ok()) << report.status();
    if (report->refusal.has_value()) {
      EXPECT_EQ(report->refusal->circuits, load.on(report->refusal->link));
      EXPECT_GE(report->refusal->circuits, report->refusal->capacity);
      ++refused;
    } else {
      EXPECT_FALSE(FirstFullLink(fabric->config().circuit_capacity, load, network, input,
                                 report->paths[0].tag)
                       .has_value());
      load.Add(input, report->paths[0].tag);
    }
    EXPECT_EQ(in_band.circuits_on_links(), load.counts());
  }
  EXPECT_GT(refused, 0);
  EXPECT_LT(refused, 8);
}

}  // namespace
}  // namespace bfly::dataplane

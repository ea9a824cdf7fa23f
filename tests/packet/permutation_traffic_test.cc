// SPDX-License-Identifier: Apache-2.0
// Traffic over all circuits of a random permutation at once, by each protocol on each network that
// it is defined on. Every link carries the packets of its circuits and no others, and the fullest
// link carries as many circuits as the protocol said.
#include <algorithm>
#include <numeric>

#include "control/protocols/protocol.h"
#include "tests/packet/fabric_fixture.h"
#include "topologies/permutation.h"

namespace bfly::dataplane {
namespace {

constexpr uint32_t kRows = 64;
constexpr uint64_t kPackets = 7;  // of each circuit

// The stages on two workers in turn, so that every packet changes hands.
FabricConfig OnTwoWorkers(NetworkKind kind) {
  const int stages = Network::Make({.kind = kind, .rows = kRows})->stages();
  std::vector<int> cpu_of_stage(stages);
  for (int s = 0; s < stages; ++s) cpu_of_stage[s] = s % 2 == 0 ? 0 : OtherCpu();
  return Placed(kind, kRows, cpu_of_stage);
}

void SendOver(const control::Protocol& protocol, NetworkKind kind, const FabricConfig& config) {
  SCOPED_TRACE(testing::Message() << protocol.name << " on " << KindName(kind) << ", "
                                  << config.placement.size() << " parts");
  const std::unique_ptr<Fabric> fabric = MustLoad(config);
  ASSERT_NE(fabric, nullptr);
  const Network& network = fabric->network();
  const Permutation permutation = *PermutationByName("random", kRows, 11);
  const absl::StatusOr<control::RouteResult> routed =
      control::RoutePermutation(protocol.name, network, permutation, {.seed = 3});
  ASSERT_TRUE(routed.ok()) << routed.status();
  // Only links of limited room lose requests.
  ASSERT_EQ(routed->paths.size(), kRows - (routed->c == 0 ? routed->requests_left.size() : 0));
  std::vector<std::pair<Row, Tag>> circuits;
  for (const control::CircuitPath& path : routed->paths) {
    ASSERT_EQ(path.output, permutation[path.input]);
    ASSERT_TRUE(fabric->InstallCircuit(path.input, path.tag).ok());
    circuits.emplace_back(path.input, path.tag);
  }
  std::vector<Row> senders(kRows);
  std::iota(senders.begin(), senders.end(), 0u);
  ASSERT_TRUE(fabric->SetSources({{.rows = senders, .packets = kPackets}}).ok());
  const Snapshot s = WaitForDeliveries(*fabric, kPackets * circuits.size());
  EXPECT_EQ(s.conservation.delivered, kPackets * circuits.size());
  EXPECT_EQ(s.conservation.dropped, 0u);

  std::vector<uint64_t> expected = WalkedCounts(network, circuits);
  EXPECT_EQ(*std::max_element(expected.begin(), expected.end()), routed->congestion);
  for (uint64_t& packets : expected) packets *= kPackets;
  EXPECT_EQ(PacketCounts(s), expected);
}

TEST(PermutationTraffic, EveryLinkCarriesItsCircuitsPackets) {
  for (const control::Protocol* protocol : control::AllProtocols()) {
    for (const NetworkKind kind : AllKinds()) {
      // On the hypercube a packet that keeps its row crosses no link, which a circuit's path does.
      if (!protocol->defined_on(kind) || kind == NetworkKind::kHypercube) continue;
      for (FabricConfig config : {OneWorker(kind, kRows), OnTwoWorkers(kind)}) {
        // At most 4 circuits of 64 can need the same link of a butterfly.
        if (kind == NetworkKind::kDilatedButterfly || kind == NetworkKind::kMultibutterfly) {
          config.network.multiplicity = 4;
        }
        SendOver(*protocol, kind, config);
      }
    }
  }
}

}  // namespace
}  // namespace bfly::dataplane

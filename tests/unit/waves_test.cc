// SPDX-License-Identifier: Apache-2.0
#include "dataplane/steps/waves.h"

#include <string>
#include <vector>

#include "dataplane/steps/waves_rule.h"
#include "gtest/gtest.h"
#include "topologies/edge_colouring.h"
#include "topologies/permutation.h"

namespace bfly::dataplane {
namespace {

constexpr Row kNobody = UINT32_MAX;

Network Multibutterfly(uint32_t rows, int c, ParallelEdges edges = ParallelEdges::kKeep) {
  return *Network::Make({.kind = NetworkKind::kMultibutterfly,
                         .rows = rows,
                         .seed = 3,
                         .multiplicity = c,
                         .parallel_edges = edges});
}

// The pseudo-code of Diebold's section 3 as it stands (THEORY.md 5.2): all levels and all rows, one
// step after the other, every decision by what stood there before the step.
class PlainWave {
 public:
  PlainWave(const Network& network, const FaultSet* faults = nullptr)
      : network_(network),
        faults_(faults),
        colouring_(*EdgeColouring::Make(network)),
        held(static_cast<size_t>(network.dimension()) + 1,
             std::vector<Row>(network.rows(), kNobody)) {}

  // Returns whether a packet moved.
  bool Step(uint64_t step) {
    const int c2 = network_.ports(), d = network_.dimension();
    const auto before = held;
    bool moved = false;
    for (int level = 0; level < d; ++level) {
      if (static_cast<uint64_t>(level % 2) != step / static_cast<uint64_t>(c2) % 2) continue;
      for (Row row = 0; row < network_.rows(); ++row) {
        const auto l = static_cast<size_t>(level);
        const Row packet = before[l][row];
        if (packet == kNobody) continue;
        const int colour = static_cast<int>(step % static_cast<uint64_t>(c2));
        const LinkId link{level, row, colouring_.port(level, colour, row)};
        const int wanted = static_cast<int>(packet >> (d - 1 - level) & 1);
        if (faults_ != nullptr && faults_->blocks(network_.link_index(link))) continue;
        if (network_.direction_of(link.port) != wanted) continue;
        const Row head = network_.next_row(level, row, link.port);
        if (before[l + 1][head] != kNobody) continue;
        EXPECT_EQ(held[l + 1][head], kNobody) << "two packets in one node";
        held[l + 1][head] = packet;
        held[l][row] = kNobody;
        moved = true;
      }
    }
    return moved;
  }

  uint32_t PacketsAt(int level) const {
    uint32_t count = 0;
    for (const Row packet : held[static_cast<size_t>(level)]) count += packet != kNobody;
    return count;
  }
  uint32_t PacketsOnTheWay() const {
    uint32_t count = 0;
    for (int level = 0; level < network_.dimension(); ++level) count += PacketsAt(level);
    return count;
  }

 private:
  const Network& network_;
  const FaultSet* faults_;
  EdgeColouring colouring_;

 public:
  std::vector<std::vector<Row>> held;  // by level and row
};

WaveResult RunPlainWave(const Network& network, const Permutation& destinations, uint32_t waves,
                        uint32_t wave, const FaultSet* faults = nullptr) {
  PlainWave plain(network, faults);
  WaveResult result;
  for (Row input = 0; input < network.rows(); ++input) {
    if (destinations[input] % waves != wave) continue;
    plain.held[0][input] = destinations[input];
    ++result.packets;
  }
  const auto record = [&] {
    for (int level = 0; level < network.dimension(); ++level) {
      result.level_packets.push_back(plain.PacketsAt(level));
    }
  };
  record();
  const auto phase = static_cast<uint64_t>(network.ports());
  for (uint64_t idle = 0; plain.PacketsOnTheWay() > 0;) {
    if (idle == 2 * phase) {
      result.end = StepEnd::kStuck;
      break;
    }
    idle = plain.Step(result.steps) ? 0 : idle + 1;
    if (++result.steps % phase == 0) record();
  }
  if (result.steps % phase != 0) record();
  result.phases = (result.steps + phase - 1) / phase;
  result.steps = result.phases * phase;
  result.delivered = plain.PacketsAt(network.dimension());
  return result;
}

TEST(Waves, EveryPacketIsWhereThePseudoCodeHasItAfterEveryStep) {
  for (const ParallelEdges edges : {ParallelEdges::kKeep, ParallelEdges::kAvoid}) {
    for (const int c : {1, 2, 3}) {
      const Network network = Multibutterfly(128, c, edges);
      const absl::StatusOr<WaveWiring> wiring = WaveWiring::Make(network, nullptr);
      ASSERT_TRUE(wiring.ok()) << wiring.status();
      const WavesRule<uint32_t> rule(*wiring);
      for (const uint32_t blocks : {1, 3}) {
        Crew crew(2);
        StepClock<WavesRule<uint32_t>> clock(network, rule, crew, blocks);
        PlainWave plain(network);
        const Permutation to = *PermutationByName(c == 2 ? "bitrev" : "random", 128, 7);
        for (Row input = 0; input < network.rows(); ++input) {
          plain.held[0][input] = clock.node(0, input).packet = to[input];
          clock.Wake(0, input);
        }
        while (clock.AnyActive()) {
          ASSERT_LT(clock.step(), 5000u);
          plain.Step(clock.step());
          clock.Step();
          for (int level = 0; level <= network.dimension(); ++level) {
            for (Row row = 0; row < network.rows(); ++row) {
              ASSERT_EQ(clock.node(level, row).packet, plain.held[static_cast<size_t>(level)][row])
                  << "step " << clock.step() << ", level " << level << ", row " << row;
            }
          }
        }
        EXPECT_EQ(plain.PacketsOnTheWay(), 0u);
        for (Row row = 0; row < network.rows(); ++row) {
          EXPECT_EQ(clock.node(network.dimension(), row).packet, row);
        }
      }
    }
  }
}

void EqualsPlainWaves(const Network& network, const WavesConfig& config, const std::string& what) {
  std::vector<WaveResult> plain;
  for (uint32_t wave = 0; wave < config.waves; ++wave) {
    plain.push_back(RunPlainWave(network, config.destinations, config.waves, wave, config.faults));
    if (plain.back().end != StepEnd::kDone) break;
  }
  for (const int workers : {1, 2, 3}) {
    Crew crew(workers);
    const absl::StatusOr<WavesResult> result = RunWaves(network, config, crew);
    ASSERT_TRUE(result.ok()) << result.status();
    ASSERT_EQ(result->waves.size(), plain.size()) << what;
    uint64_t phases = 0, delivered = 0;
    for (size_t w = 0; w < plain.size(); ++w) {
      const WaveResult& wave = result->waves[w];
      EXPECT_EQ(wave.packets, plain[w].packets);
      EXPECT_EQ(wave.delivered, plain[w].delivered);
      EXPECT_EQ(wave.phases, plain[w].phases) << what << ", wave " << w;
      EXPECT_EQ(wave.steps, plain[w].steps);
      EXPECT_EQ(wave.end, plain[w].end);
      EXPECT_EQ(wave.level_packets, plain[w].level_packets) << what << ", wave " << w;
      phases += plain[w].phases;
      delivered += plain[w].delivered;
      if (wave.end != StepEnd::kDone) continue;
      // THEORY.md 5.3: at least d phases, and as many modulo 2.
      const auto d = static_cast<uint64_t>(network.dimension());
      if (wave.packets > 0) {
        EXPECT_GE(wave.phases, d);
        EXPECT_EQ(wave.phases % 2, d % 2);
      }
      EXPECT_EQ(wave.moves, wave.packets * d);
    }
    EXPECT_EQ(result->phases, phases);
    EXPECT_EQ(result->delivered, delivered);
    EXPECT_EQ(result->end, plain.back().end);
  }
}

TEST(Waves, TakeThePhasesOfThePseudoCode) {
  for (const int c : {1, 2, 4}) {
    for (const uint32_t rows : {8, 64, 256}) {
      const Network network = Multibutterfly(rows, c);
      for (const char* name : {"random", "bitrev", "identity"}) {
        for (const uint32_t waves : {1, 3, 8}) {
          EqualsPlainWaves(network,
                           {.destinations = *PermutationByName(name, rows, 11), .waves = waves},
                           absl::StrCat(rows, " rows, c ", c, ", ", name, ", ", waves, " waves"));
        }
      }
    }
  }
}

TEST(Waves, TakeDPhasesWithOnePacketAWave) {
  const Network network = Multibutterfly(64, 2);
  Crew crew(1);
  const absl::StatusOr<WavesResult> result =
      RunWaves(network, {.destinations = *PermutationByName("random", 64, 1), .waves = 64}, crew);
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ(result->waves.size(), 64u);
  for (const WaveResult& wave : result->waves) {
    EXPECT_EQ(wave.packets, 1u);
    EXPECT_EQ(wave.phases, 6u);
    EXPECT_EQ(wave.steps, 6u * 4);
    // The packet is at level k after k phases.
    for (size_t at = 0; at < wave.level_packets.size(); ++at) {
      EXPECT_EQ(wave.level_packets[at], at / 6 == at % 6);
    }
  }
  EXPECT_EQ(result->steps, 64u * 24);
}

TEST(Waves, RunOnOtherNetworksWithTheSameStages) {
  for (const NetworkKind kind : {NetworkKind::kButterfly, NetworkKind::kRandomlyWiredButterfly,
                                 NetworkKind::kWrappedButterfly, NetworkKind::kDilatedButterfly}) {
    const Network network = *Network::Make(
        {.kind = kind, .rows = 64, .multiplicity = kind == NetworkKind::kDilatedButterfly ? 2 : 1});
    EqualsPlainWaves(network, {.destinations = *PermutationByName("bitrev", 64, 0), .waves = 2},
                     std::string(KindName(kind)));
  }
}

TEST(Waves, EndWithAReportWhenNoPacketCanMove) {
  const Network network = Multibutterfly(64, 2);
  for (const NodeId node : {NodeId{6, 5}, NodeId{6, 60}, NodeId{3, 17}, NodeId{0, 9}}) {
    FaultSet faults(network);
    faults.SetNodeUp(node, false);
    // A node of an inner level may be gone round; with its splitter's other rows down it may not.
    if (node.level == 3) {
      for (Row row = 16; row < 24; ++row) faults.SetNodeUp({3, row}, false);
    }
    const WavesConfig config{
        .destinations = *PermutationByName("random", 64, 5), .waves = 4, .faults = &faults};
    EqualsPlainWaves(network, config, NodeText(node));
    Crew crew(1);
    const absl::StatusOr<WavesResult> result = RunWaves(network, config, crew);
    EXPECT_EQ(result->end, StepEnd::kStuck);
    EXPECT_LT(result->delivered, result->packets);
  }
}

TEST(Waves, StopAtThePhaseLimit) {
  const Network network = Multibutterfly(64, 2);
  for (const int workers : {1, 2}) {
    Crew crew(workers);
    const absl::StatusOr<WavesResult> result = RunWaves(
        network,
        {.destinations = *PermutationByName("random", 64, 5), .waves = 2, .phase_limit = 5}, crew);
    EXPECT_EQ(result->end, StepEnd::kLimit);
    ASSERT_EQ(result->waves.size(), 1u);
    EXPECT_EQ(result->waves[0].phases, 5u);
    EXPECT_EQ(result->waves[0].delivered, 0u);
    EXPECT_EQ(result->waves[0].level_packets.size(), 6u * 6);
  }
}

// Two levels, packets by phase: (3, 1), (0, 2); omega = 1/2.
TEST(Waves, PotentialIsTheWeightedSum) {
  EXPECT_EQ(PotentialByPhase({3, 1, 0, 2}, 2, 0.5), (std::vector<double>{3.5, 1.0}));
}

TEST(Waves, RefuseWhatTheyAreNotDefinedFor) {
  Crew crew(1);
  const Network network = Multibutterfly(8, 2);
  const auto message = [&](const Network& on, const WavesConfig& config) {
    const absl::StatusOr<WavesResult> result = RunWaves(on, config, crew);
    EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(result.status().message());
  };
  const Permutation to = *PermutationByName("identity", 8, 0);
  EXPECT_EQ(message(network, {.destinations = to, .waves = 0}),
            "waves: 0 is outside 1..8, the rows of the network");
  EXPECT_EQ(message(network, {.destinations = to, .waves = 9}),
            "waves: 9 is outside 1..8, the rows of the network");
  EXPECT_NE(message(network, {.destinations = {0, 1, 2, 3, 4, 5, 6, 6}}).find("destinations: "),
            std::string::npos);
  EXPECT_NE(message(network, {.destinations = {0, 1}}).find("destinations: "), std::string::npos);
  for (const NetworkKind kind :
       {NetworkKind::kTwoFoldButterfly, NetworkKind::kHypercube, NetworkKind::kBenes}) {
    EXPECT_NE(message(*Network::Make({.kind = kind, .rows = 8}), {.destinations = to})
                  .find(std::string(KindName(kind))),
              std::string::npos);
  }
  EXPECT_NE(message(*Network::Make({.kind = NetworkKind::kButterfly, .rows = 8, .extra_stages = 1}),
                    {.destinations = to})
                .find("4 hops for 3 positions"),
            std::string::npos);
}

}  // namespace
}  // namespace bfly::dataplane

// SPDX-License-Identifier: Apache-2.0
// What the tests of a loaded fabric share: small configs, bounded waiting, and a slow walker that
// computes what the links must have counted.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <numeric>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "dataplane/fabric/fabric.h"
#include "dataplane/runtime/cpus.h"
#include "topologies/tag.h"

namespace bfly::dataplane {

inline FabricConfig OneWorker(NetworkKind kind, uint32_t rows, int passes = 1) {
  FabricConfig config;
  config.name = "test";
  config.network = {.kind = kind, .rows = rows, .seed = 1, .passes = passes};
  const int stages = Network::Make(config.network)->stages();
  config.placement = {{.first_stage = 0, .last_stage = stages - 1, .lcore = UsableCpus().front()}};
  return config;
}

// Stage s on usable CPU number cpu_of_stage[s].
inline FabricConfig Placed(NetworkKind kind, uint32_t rows, const std::vector<int>& cpu_of_stage,
                           int passes = 1) {
  FabricConfig config = OneWorker(kind, rows, passes);
  config.placement.clear();
  for (size_t s = 0; s < cpu_of_stage.size(); ++s) {
    config.placement.push_back({.first_stage = static_cast<int>(s),
                                .last_stage = static_cast<int>(s),
                                .lcore = UsableCpus()[cpu_of_stage[s]]});
  }
  return config;
}

// The number of a second usable CPU. A test that asks for two workers fails on a machine with one
// CPU, because both workers on one CPU would test one worker only.
inline int OtherCpu() {
  if (UsableCpus().size() < 2) {
    throw std::runtime_error("this test runs two workers and may use one CPU alone (" +
                             FormatCpus(UsableCpus()) + "): give it two, see taskset");
  }
  return 1;
}

// `runs` consecutive parts of the stages on two CPUs in turn.
inline FabricConfig InParts(NetworkKind kind, uint32_t rows, uint64_t seed, int runs) {
  const int stages = Network::Make({.kind = kind, .rows = rows})->stages();
  std::vector<int> cpu_of_stage(stages);
  for (int s = 0; s < stages; ++s) cpu_of_stage[s] = s * runs / stages % 2 == 0 ? 0 : OtherCpu();
  FabricConfig config = Placed(kind, rows, cpu_of_stage);
  config.network.seed = seed;
  return config;
}

// Two workers: the lower half of the rows and the upper half, all stages each.
inline FabricConfig Halves(NetworkKind kind, uint32_t rows, int passes = 1) {
  FabricConfig config = OneWorker(kind, rows, passes);
  const StagePlacement whole = config.placement[0];
  config.placement = {whole, whole};
  config.placement[0].rows = {0, rows / 2 - 1};
  config.placement[1].rows = {rows / 2, rows - 1};
  config.placement[1].lcore = UsableCpus()[OtherCpu()];
  return config;
}

inline std::vector<Row> AllRows(uint32_t rows) {
  std::vector<Row> all(rows);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

inline void ExpectConserved(const Snapshot& s) {
  const Conservation& c = s.conservation;
  EXPECT_EQ(c.injected + s.trunk_in, c.delivered + c.dropped + c.in_flight + s.trunk_out);
  // The sum above holds modulo 2^64. No more packets can be inside than have entered, so this check
  // finds a count that fell below 0.
  EXPECT_LE(c.in_flight, c.injected + s.trunk_in);
}

// Polls until `done` holds or two minutes have passed; returns the last snapshot. Conservation is
// checked on each.
inline Snapshot WaitUntil(const Fabric& fabric, const std::function<bool(const Snapshot&)>& done) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  Snapshot s = fabric.snapshot();
  ExpectConserved(s);
  while (!done(s)) {
    if (std::chrono::steady_clock::now() > deadline) {
      ADD_FAILURE() << "waited two minutes in vain";
      return s;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    s = fabric.snapshot();
    ExpectConserved(s);
  }
  return s;
}

inline Snapshot WaitForDeliveries(const Fabric& fabric, uint64_t packets) {
  return WaitUntil(fabric, [packets](const Snapshot& s) {
    return s.conservation.delivered + s.conservation.dropped >= packets;
  });
}

inline uint64_t DroppedBy(const Snapshot& s, DropReason reason) {
  return s.drops[static_cast<int>(reason)];
}

// Packets every link must have carried after one packet along each (input, tag): walked hop by hop
// over the network's own next_row, with none of the data plane's code.
inline std::vector<uint64_t> WalkedCounts(const Network& network,
                                          const std::vector<std::pair<Row, Tag>>& packets) {
  std::vector<uint64_t> counts(network.link_count());
  // A hop's bits in the tag: the direction, then the port within it.
  int port_bits = 0;
  while (1 << port_bits < network.multiplicity()) ++port_bits;
  for (const auto& [input, tag] : packets) {
    Row row = input;
    for (int hop = 0; hop < network.hops(); ++hop) {
      const int stage = hop % network.stages();
      const auto bits = static_cast<int>(tag >> (network.hops() - 1 - hop) * (1 + port_bits));
      const int port =
          (bits >> port_bits & 1) * network.multiplicity() + (bits & ((1 << port_bits) - 1));
      ++counts[network.link_index({stage, row, port})];
      row = network.next_row(stage, row, port);
    }
  }
  return counts;
}

// One packet from every input to every output, by one source a pair.
inline std::vector<SourceConfig> AllPairs(const Network& network) {
  std::vector<SourceConfig> sources;
  for (Row output = 0; output < network.rows(); ++output) {
    SourceConfig source;
    source.rows = AllRows(network.rows());
    source.destination = SourceConfig::Destination::kRow;
    source.row = output;
    source.packets = 1;
    sources.push_back(source);
  }
  return sources;
}

inline std::vector<std::pair<Row, Tag>> AllPairsGreedy(const Network& network) {
  std::vector<std::pair<Row, Tag>> packets;
  for (Row input = 0; input < network.rows(); ++input) {
    for (Row output = 0; output < network.rows(); ++output) {
      packets.push_back({input, GreedyTag(network, input, output)});
    }
  }
  return packets;
}

inline std::vector<uint64_t> PacketCounts(const Snapshot& s) {
  std::vector<uint64_t> counts;
  for (const LinkCounters& link : s.links) counts.push_back(link.packets);
  return counts;
}

// Sends a packet from every row to every row, and expects that each follows its greedy path.
inline Snapshot SendAllPairs(Fabric& fabric) {
  const Network& network = fabric.network();
  EXPECT_TRUE(fabric.SetSources(AllPairs(network)).ok());
  const uint64_t packets = uint64_t{network.rows()} * network.rows();
  Snapshot s = WaitForDeliveries(fabric, packets);
  EXPECT_EQ(s.conservation.injected, packets);
  EXPECT_EQ(s.conservation.delivered, packets);
  EXPECT_EQ(s.conservation.in_flight, 0u);
  EXPECT_EQ(PacketCounts(s), WalkedCounts(network, AllPairsGreedy(network)));
  return s;
}

inline std::unique_ptr<Fabric> MustLoad(const FabricConfig& config) {
  absl::StatusOr<std::unique_ptr<Fabric>> fabric = Fabric::Load(config);
  if (!fabric.ok()) {
    ADD_FAILURE() << fabric.status();
    return nullptr;
  }
  // Every part runs on the CPU it was given, on a worker of its own.
  std::set<int> given, running;
  for (const auto& part : config.placement) given.insert(part.lcore);
  for (const WorkerCounters& worker : (*fabric)->snapshot().workers) running.insert(worker.lcore);
  EXPECT_TRUE(std::includes(running.begin(), running.end(), given.begin(), given.end()));
  return *std::move(fabric);
}

}  // namespace bfly::dataplane

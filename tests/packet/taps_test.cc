// SPDX-License-Identifier: Apache-2.0
// Taps of a running fabric against hand counts, and against what the hosts sent.
#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>

#include "dataplane/taps/tap.h"
#include "tests/packet/fabric_fixture.h"
#include "tests/packet/ring_port.h"

namespace bfly::dataplane {
namespace {

struct Copy {
  TappedFrame frame;
  std::vector<uint8_t> bytes;
};

std::vector<Copy> TakeAll(Tap& tap) {
  std::vector<Copy> copies;
  while (tap.Take(1000, [&](const TappedFrame& frame, std::span<const uint8_t> bytes) {
    copies.push_back({frame, {bytes.begin(), bytes.end()}});
  }) != 0) {
  }
  return copies;
}

std::shared_ptr<Tap> MustTap(Fabric& fabric, const TapConfig& config) {
  absl::StatusOr<std::shared_ptr<Tap>> tap = fabric.taps()->Start(config);
  if (!tap.ok()) throw std::runtime_error(tap.status().ToString());
  return *std::move(tap);
}

TapConfig AllLinks(const Network& network) {
  TapConfig config;
  for (uint64_t i = 0; i < network.link_count(); ++i) config.links.push_back(network.link_at(i));
  return config;
}

// Copies by the network's index of the link.
std::vector<uint64_t> CountByLink(const Network& network, const std::vector<Copy>& copies) {
  std::vector<uint64_t> counts(network.link_count());
  for (const Copy& copy : copies) {
    EXPECT_EQ(copy.frame.place, TapPlace::kLink);
    const auto ports = static_cast<uint32_t>(network.ports());
    ++counts[network.link_index({copy.frame.stage, copy.frame.number / ports,
                                 static_cast<int>(copy.frame.number % ports)})];
    EXPECT_EQ(copy.frame.row, copy.frame.number / ports);
  }
  return counts;
}

// Every pair sends one packet, and every link is tapped: each link has as many copies as the walk
// over the network says, and its own counter.
void ExpectEveryFrameOnce(const FabricConfig& config) {
  const std::unique_ptr<Fabric> fabric = MustLoad(config);
  ASSERT_NE(fabric, nullptr);
  const Network& network = fabric->network();
  const auto tap = MustTap(*fabric, AllLinks(network));
  EXPECT_EQ(tap->places(), network.link_count());
  SendAllPairs(*fabric);
  const std::vector<Copy> copies = TakeAll(*tap);
  EXPECT_EQ(CountByLink(network, copies), WalkedCounts(network, AllPairsGreedy(network)));
  EXPECT_EQ(tap->counts().seen, copies.size());
  EXPECT_EQ(tap->counts().dropped, 0u);
  for (const Copy& copy : copies) {
    EXPECT_TRUE(copy.bytes.empty()) << "a synthetic packet has no frame";
    EXPECT_GE(copy.frame.copied, copy.frame.arrival);
  }
}

TEST(Taps, SeeEveryFrameOnceAtEveryLinkOfOneWorker) {
  ExpectEveryFrameOnce(OneWorker(NetworkKind::kTwoFoldButterfly, 8));
}

TEST(Taps, SeeEveryFrameOnceOverTwoWorkers) {
  ExpectEveryFrameOnce(Halves(NetworkKind::kButterfly, 16));
}

TEST(Taps, SeeEveryFrameOnceWhereStagesAreCrossedTwice) {
  ExpectEveryFrameOnce(OneWorker(NetworkKind::kWrappedButterfly, 8, 2));
}

TEST(Taps, SeeEveryFrameOnceWhereNodesPickPorts) {
  FabricConfig config = OneWorker(NetworkKind::kDilatedButterfly, 8);
  config.network.multiplicity = 2;
  const std::unique_ptr<Fabric> fabric = MustLoad(config);
  ASSERT_NE(fabric, nullptr);
  const Network& network = fabric->network();
  const auto tap = MustTap(*fabric, AllLinks(network));
  ASSERT_TRUE(fabric->SetSources(AllPairs(network)).ok());
  const Snapshot s = WaitForDeliveries(*fabric, 64);
  EXPECT_EQ(CountByLink(network, TakeAll(*tap)), PacketCounts(s));
  EXPECT_EQ(tap->counts().seen, 64u * 3);
}

TEST(Taps, OfOneLinkLeaveOtherLinksAlone) {
  const std::unique_ptr<Fabric> fabric = MustLoad(OneWorker(NetworkKind::kButterfly, 8));
  ASSERT_NE(fabric, nullptr);
  // Of a butterfly of 8, the first link of row 3 in direction 1 carries 3 -> 4..7.
  TapConfig config;
  config.links = {{0, 3, 1}, {0, 3, 1}};
  const auto tap = MustTap(*fabric, config);
  SendAllPairs(*fabric);
  const std::vector<Copy> copies = TakeAll(*tap);
  ASSERT_EQ(copies.size(), 4u) << "a link that is named twice is tapped once";
  std::set<Tag> outputs;
  for (const Copy& copy : copies) {
    EXPECT_EQ(copy.frame.input, 3);
    outputs.insert(FromWire(copy.frame.tag, 3));
  }
  EXPECT_EQ(outputs, (std::set<Tag>{4, 5, 6, 7}));
}

TEST(Taps, OfAPathSeeOnlyWhatFollowsIt) {
  const std::unique_ptr<Fabric> fabric = MustLoad(OneWorker(NetworkKind::kTwoFoldButterfly, 8));
  ASSERT_NE(fabric, nullptr);
  const Network& network = fabric->network();
  TapConfig config;
  config.paths = {{.input = 3, .tag = GreedyTag(network, 3, 6)}};
  const auto tap = MustTap(*fabric, config);
  EXPECT_EQ(tap->places(), 6u);
  SendAllPairs(*fabric);
  const std::vector<Copy> copies = TakeAll(*tap);
  ASSERT_EQ(copies.size(), 6u);  // one packet, at each of its six hops
  const std::vector<Row> rows = WalkTag(network, 3, GreedyTag(network, 3, 6));
  for (size_t hop = 0; hop < copies.size(); ++hop) {
    EXPECT_EQ(copies[hop].frame.stage, hop);
    EXPECT_EQ(copies[hop].frame.row, rows[hop]);
    EXPECT_EQ(copies[hop].frame.birth, copies[0].frame.birth);
  }
}

TEST(Taps, OfAPathSeeItsEndToo) {
  const std::unique_ptr<Fabric> fabric = MustLoad(Halves(NetworkKind::kButterfly, 8));
  ASSERT_NE(fabric, nullptr);
  TapConfig config;
  config.paths = {{.input = 3, .tag = 6, .end = true}};
  const auto tap = MustTap(*fabric, config);
  SendAllPairs(*fabric);
  std::vector<Copy> copies = TakeAll(*tap);
  ASSERT_EQ(copies.size(), 4u);  // three hops and the sink
  const auto end = std::find_if(copies.begin(), copies.end(), [](const Copy& copy) {
    return copy.frame.place == TapPlace::kPortOut;
  });
  ASSERT_NE(end, copies.end());
  EXPECT_EQ(end->frame.row, 6u);
  EXPECT_EQ(end->frame.number, kNoPort);
  EXPECT_EQ(end->frame.input, 3);
}

TEST(Taps, KeepOneOfSoManyFrames) {
  const std::unique_ptr<Fabric> fabric = MustLoad(OneWorker(NetworkKind::kButterfly, 8));
  ASSERT_NE(fabric, nullptr);
  TapConfig config = AllLinks(fabric->network());
  config.every = 5;
  const auto tap = MustTap(*fabric, config);
  SendAllPairs(*fabric);
  EXPECT_EQ(tap->counts().seen, 192u);
  EXPECT_EQ(TakeAll(*tap).size(), 39u);  // number 0, 5, ..., 190
}

// Nobody reads, so the ring fills. Packets go on as without a tap.
TEST(Taps, DropOnlyCopiesWhenNobodyReads) {
  const std::unique_ptr<Fabric> fabric = MustLoad(OneWorker(NetworkKind::kButterfly, 4));
  ASSERT_NE(fabric, nullptr);
  const auto tap = MustTap(*fabric, AllLinks(fabric->network()));
  SourceConfig source;
  source.rows = AllRows(4);
  source.destination = SourceConfig::Destination::kUniform;
  source.packets = 20'000;
  ASSERT_TRUE(fabric->SetSources({source}).ok());
  const Snapshot s = WaitForDeliveries(*fabric, 80'000);
  EXPECT_EQ(s.conservation.delivered, 80'000u);
  EXPECT_EQ(s.conservation.dropped, 0u);
  const TapCounts counts = tap->counts();
  EXPECT_EQ(counts.seen, 160'000u);
  EXPECT_GT(counts.dropped, 0u);
  EXPECT_EQ(counts.copied + counts.dropped, counts.seen);
  EXPECT_EQ(TakeAll(*tap).size(), counts.copied);
}

TEST(Taps, TakeFromWorkersInTurn) {
  Tap tap({}, /*workers=*/3);
  const auto offer = [&tap](uint16_t worker, int copies) {
    TappedFrame frame;
    frame.input = worker;
    for (int i = 0; i < copies; ++i) tap.writer(worker).ring().Offer(frame, nullptr);
  };
  // Every worker has more copies each time than a reader takes.
  std::map<uint16_t, uint32_t> taken;
  for (int round = 0; round < 3; ++round) {
    for (uint16_t worker = 0; worker < 3; ++worker) offer(worker, 20);
    EXPECT_EQ(tap.Take(10, [&](const TappedFrame& frame, auto) { ++taken[frame.input]; }), 10u);
  }
  EXPECT_EQ(taken, (std::map<uint16_t, uint32_t>{{0, 10}, {1, 10}, {2, 10}}));
  // And all that is left comes, wherever a reader begins.
  EXPECT_EQ(tap.Take(1000, [](const TappedFrame&, auto) {}), 3u * 3 * 20 - 30);
  EXPECT_EQ(tap.counts().dropped, 0u);
}

// Of a frame that goes on to another worker while a reader takes copies, the later copy alone must
// not come first.
TEST(Taps, LeaveCopiesMadeMeanwhileForTheNextTake) {
  Tap tap({}, /*workers=*/3);
  const auto offer = [&tap](uint16_t worker) {
    TappedFrame frame;
    frame.input = worker;
    frame.copied = rte_rdtsc();
    tap.writer(worker).ring().Offer(frame, nullptr);
  };
  for (uint16_t worker = 0; worker < 3; ++worker) offer(worker);
  std::vector<std::multiset<uint16_t>> takes(4);
  for (std::multiset<uint16_t>& taken : takes) {
    tap.Take(1000, [&](const TappedFrame& frame, auto) {
      if (frame.input > 0) offer(frame.input - 1);
      taken.insert(frame.input);
    });
  }
  EXPECT_EQ(takes, (std::vector<std::multiset<uint16_t>>{{0, 1, 2}, {0, 1}, {0}, {}}));
}

// Under load, taps come and go. No packet is lost, and every packet is counted once at its links.
TEST(Taps, AreSetAndRemovedUnderTraffic) {
  const std::unique_ptr<Fabric> fabric = MustLoad(Halves(NetworkKind::kTwoFoldButterfly, 8));
  ASSERT_NE(fabric, nullptr);
  const Network& network = fabric->network();
  SourceConfig source;
  source.rows = AllRows(8);
  source.destination = SourceConfig::Destination::kUniform;
  source.packets = 300'000;
  ASSERT_TRUE(fabric->SetSources({source}).ok());
  uint64_t seen = 0;
  for (int round = 0; round < 30; ++round) {
    TapConfig config;
    config.links = {{round % 6, static_cast<Row>(round % 8), 0}, {(round + 3) % 6, 5, 1}};
    config.paths = {{.input = 1, .tag = GreedyTag(network, 1, 6)}};
    const auto tap = MustTap(*fabric, config);
    size_t taken = TakeAll(*tap).size();
    ExpectConserved(fabric->snapshot());
    fabric->taps()->Stop(tap);
    taken += TakeAll(*tap).size();
    const TapCounts counts = tap->counts();
    EXPECT_EQ(taken, counts.copied) << "a tap that was ended still has copies";
    EXPECT_EQ(counts.copied + counts.dropped, counts.seen);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(tap->counts().seen, counts.seen) << "a tap that was ended still sees frames";
    seen += counts.seen;
  }
  EXPECT_GT(seen, 0u);
  const Snapshot s = WaitForDeliveries(*fabric, 8 * 300'000);
  EXPECT_EQ(s.conservation.delivered, 8u * 300'000);
  uint64_t crossings = 0;
  for (const uint64_t packets : PacketCounts(s)) crossings += packets;
  EXPECT_EQ(crossings, 8u * 300'000 * 6);
}

// Hops in sampled batches that crossed so many stages at a time, from stage 0 on.
uint64_t SampledHops(const Snapshot& s, int stages) {
  const std::vector<StageCost>& costs = s.workers[0].stages;
  const auto found = std::find_if(costs.begin(), costs.end(), [&](const StageCost& cost) {
    return cost.first_stage == 0 && cost.stages == stages;
  });
  return found == costs.end() ? 0 : found->sampled.hops;
}

// Waits until packets have crossed stages 0 to 3 in one step, or one stage at a time, and expects
// that none has crossed them the other way since the call.
void ExpectCrossedFromNowOn(const Fabric& fabric, bool in_one_step) {
  const int stages = in_one_step ? 4 : 1, others = in_one_step ? 1 : 4;
  const Snapshot before = fabric.snapshot();
  const Snapshot after = WaitUntil(fabric, [&](const Snapshot& now) {
    return SampledHops(now, stages) >= SampledHops(before, stages) + 1000;
  });
  EXPECT_EQ(SampledHops(after, others), SampledHops(before, others)) << in_one_step;
}

TEST(Taps, HaveStagesCrossedOneAtATimeUntilTheyEnd) {
  const std::unique_ptr<Fabric> fabric = MustLoad(OneWorker(NetworkKind::kButterfly, 16));
  ASSERT_NE(fabric, nullptr);
  SourceConfig source;
  source.rows = AllRows(16);
  source.destination = SourceConfig::Destination::kUniform;
  ASSERT_TRUE(fabric->SetSources({source}).ok());
  ExpectCrossedFromNowOn(*fabric, true);
  TapConfig config;
  config.links = {{2, 5, 1}};
  for (int round = 0; round < 3; ++round) {
    const auto tap = MustTap(*fabric, config);
    ExpectCrossedFromNowOn(*fabric, false);
    fabric->taps()->Stop(tap);
    ExpectCrossedFromNowOn(*fabric, true);
  }
}

TEST(Taps, OfLinksWithADelayTellWhenAFrameCame) {
  FabricConfig config = OneWorker(NetworkKind::kButterfly, 8);
  config.links.base.delay_ns = 2'000'000;
  const std::unique_ptr<Fabric> fabric = MustLoad(config);
  ASSERT_NE(fabric, nullptr);
  TapConfig taps;
  taps.paths = {{.input = 3, .tag = 6}};
  const auto tap = MustTap(*fabric, taps);
  SendAllPairs(*fabric);
  const std::vector<Copy> copies = TakeAll(*tap);
  ASSERT_EQ(copies.size(), 3u);
  const auto hz = static_cast<double>(fabric->snapshot().tsc_hz);
  for (size_t hop = 0; hop < 3; ++hop) {
    const auto after = static_cast<double>(copies[hop].frame.arrival - copies[0].frame.birth);
    EXPECT_NEAR(after / hz, 0.002 * static_cast<double>(hop), 1e-8) << "hop " << hop;
  }
}

TEST(Taps, RefuseWhatTheNetworkDoesNotHave) {
  const std::unique_ptr<Fabric> fabric = MustLoad(OneWorker(NetworkKind::kButterfly, 8));
  ASSERT_NE(fabric, nullptr);
  TapConfig config;
  config.links = {{0, 1, 0}, {3, 1, 0}, {0, 8, 0}};
  config.paths = {{.input = 8, .tag = 8}};
  config.snaplen = 0;
  config.every = 0;
  const absl::Status status = fabric->taps()->Start(config).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  for (const char* wrong : {"links[1].stage", "links[2].row", "paths[0].input", "paths[0].tag",
                            "snaplen: 0", "every: 0"}) {
    EXPECT_NE(std::string(status.message()).find(wrong), std::string::npos) << status;
  }
  EXPECT_EQ(fabric->taps()->Start({}).status().code(), absl::StatusCode::kInvalidArgument);
  std::vector<std::shared_ptr<Tap>> taps;
  TapConfig one;
  one.links = {{0, 1, 0}};
  for (size_t i = 0; i < kMostTaps; ++i) taps.push_back(MustTap(*fabric, one));
  EXPECT_EQ(fabric->taps()->Start(one).status().code(), absl::StatusCode::kResourceExhausted);
  fabric->taps()->Stop(taps[3]);
  EXPECT_NE(MustTap(*fabric, one), nullptr);
  ASSERT_TRUE(fabric->Unload().ok());
  EXPECT_TRUE(taps[0]->over());
  EXPECT_EQ(fabric->taps()->Start(one).status().code(), absl::StatusCode::kFailedPrecondition);
}

// Rows 0..3 of a butterfly of 4, each with a port of its own.
class TappedHosts : public testing::Test {
 protected:
  void ExpectBytes(FabricConfig config) {
    for (Row row = 0; row < 4; ++row) config.ports.push_back(hosts_[row].Config({row}));
    const std::unique_ptr<Fabric> fabric = MustLoad(config);
    ASSERT_NE(fabric, nullptr);
    TapConfig taps;
    taps.ports = {config.ports[1].name, config.ports[2].name, "elsewhere"};
    taps.links = {{0, 1, 1}};
    taps.snaplen = 40;
    const auto tap = MustTap(*fabric, taps);
    EXPECT_EQ(tap->places(), 3u);
    for (uint32_t id = 0; id < 50; ++id) {
      ASSERT_TRUE(hosts_[1].Send(frames_.Make(1, 2, id, 100)));
      ASSERT_TRUE(hosts_[3].Send(frames_.Make(3, 0, 1000 + id, 100)));
    }
    WaitForDeliveries(*fabric, 100);
    // Frames 1 -> 2 come in by the first port, cross the link, and leave by the second port.
    std::map<TapPlace, std::vector<uint32_t>> ids;
    for (const Copy& copy : TakeAll(*tap)) {
      EXPECT_EQ(copy.frame.bytes, 100);
      EXPECT_EQ(copy.frame.input, 1);
      ASSERT_EQ(copy.bytes.size(), 40u);
      EXPECT_EQ(copy.bytes[5], 2);   // to
      EXPECT_EQ(copy.bytes[11], 1);  // from
      uint32_t id;
      std::memcpy(&id, &copy.bytes[14], sizeof(id));
      ids[copy.frame.place].push_back(id);
      if (copy.frame.place != TapPlace::kLink) {
        EXPECT_EQ(copy.frame.number, copy.frame.place == TapPlace::kPortIn ? 1u : 2u);
      }
    }
    std::vector<uint32_t> all(50);
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(ids[TapPlace::kPortIn], all);
    EXPECT_EQ(ids[TapPlace::kLink], all);
    EXPECT_EQ(ids[TapPlace::kPortOut], all);
    fabric->taps()->Stop(tap);
    for (uint32_t id = 0; id < 50; ++id) ASSERT_TRUE(hosts_[1].Send(frames_.Make(1, 2, id, 100)));
    WaitForDeliveries(*fabric, 150);
    EXPECT_TRUE(TakeAll(*tap).empty());
    for (RingPort& host : hosts_) {
      while (rte_mbuf* frame = host.Receive()) rte_pktmbuf_free(frame);
    }
  }

  FrameSource frames_;  // outlives the ports, which hold its frames
  RingPort hosts_[4];
};

TEST_F(TappedHosts, AreCopiedOnTheirWay) { ExpectBytes(OneWorker(NetworkKind::kButterfly, 4)); }

TEST_F(TappedHosts, AreCopiedOnTheirWayOverTwoWorkers) {
  ExpectBytes(Placed(NetworkKind::kButterfly, 4, {0, OtherCpu()}));
}

}  // namespace
}  // namespace bfly::dataplane

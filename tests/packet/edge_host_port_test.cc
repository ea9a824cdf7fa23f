// SPDX-License-Identifier: Apache-2.0
#include <rte_cycles.h>

#include <random>

#include "dataplane/core/tsc_hz.h"
#include "dataplane/ports/host_port.h"
#include "tests/packet/edge_fixture.h"
#include "tests/packet/plain_slots.h"

namespace bfly::dataplane {
namespace {

using testing::Test;

const Bytes kAlice = Hex("52 54 00 12 34 56");
const Bytes kBob = Hex("ee 0b 0b 0b 0b 0b");
const Bytes kNobody = Zeros(6);
constexpr uint32_t kAliceIp = Ip(192, 0, 2, 1);
constexpr uint32_t kBobIp = Ip(192, 0, 2, 2);

TEST_F(EdgeTest, AFrameOfRowAddressesCrossesUnchanged) {
  Build({.ports = {{3}, {12}}});
  for (size_t size : {0, 1, 46, 1504}) {
    const Bytes frame = Ethernet(RowAddress(12), RowAddress(3), 0x0800, Pattern(size));
    Send(0, frame);
    Run();
    EXPECT_EQ(Take(1), std::vector<Bytes>{frame});
    EXPECT_TRUE(Take(0).empty());
  }
  EXPECT_EQ(ledger_.delivered, 4u);
  EXPECT_EQ(counters(0).rx_packets, 4u);
  EXPECT_EQ(counters(0).rx_bytes, 4 * 14 + 0 + 1 + 46 + 1504u);
  EXPECT_EQ(counters(1).tx_packets, 4u);
  EXPECT_EQ(counters(1).tx_bytes, counters(0).rx_bytes);
}

TEST_F(EdgeTest, TwoHostsWithAddressesOfTheirOwnFindEachOtherByArp) {
  Build({.ports = {{3}, {12}}});
  Send(0, Ethernet(kBroadcast, kAlice, 0x0806, Arp(1, kAlice, kAliceIp, kNobody, kBobIp)));
  Run();
  EXPECT_EQ(Take(1),
            std::vector<Bytes>{Ethernet(kBroadcast, RowAddress(3), 0x0806,
                                        Arp(1, RowAddress(3), kAliceIp, kNobody, kBobIp))});

  Send(1, Ethernet(RowAddress(3), kBob, 0x0806, Arp(2, kBob, kBobIp, RowAddress(3), kAliceIp)));
  Run();
  EXPECT_EQ(Take(0),
            std::vector<Bytes>{Ethernet(kAlice, RowAddress(12), 0x0806,
                                        Arp(2, RowAddress(12), kBobIp, kAlice, kAliceIp))});

  const Bytes ping = Ipv4(kAliceIp, kBobIp, Pattern(64));
  Send(0, Ethernet(RowAddress(12), kAlice, 0x0800, ping));
  Run();
  EXPECT_EQ(Take(1), std::vector<Bytes>{Ethernet(kBob, RowAddress(3), 0x0800, ping)});
}

TEST_F(EdgeTest, ByIpv4PrefixHostsNeedAnAddressAndTheirFramesStayAsTheyAre) {
  constexpr uint32_t kBase = Ip(10, 77, 0, 16);
  Build({.addressing = {.mode = AddressingMode::kIpv4Prefix,
                        .ipv4_base = kBase,
                        .ipv4_prefix_len = 28},
         .ports = {{3}, {12}, {5}}});
  const Bytes ask =
      Ethernet(kBroadcast, kAlice, 0x0806, Arp(1, kAlice, kBase + 3, kNobody, kBase + 12));
  Send(0, ask);
  Run();
  EXPECT_EQ(Take(1), std::vector<Bytes>{ask});
  EXPECT_TRUE(Take(2).empty()) << "ARP is for the row of its target alone";
  const Bytes answer = Ethernet(kAlice, kBob, 0x0806, Arp(2, kBob, kBase + 12, kAlice, kBase + 3));
  const Bytes ping = Ethernet(kAlice, kBob, 0x0800, Ipv4(kBase + 12, kBase + 3, Pattern(64)));
  Send(1, answer);
  Send(1, ping);
  Run();
  EXPECT_EQ(Take(0), (std::vector<Bytes>{answer, ping}));
}

TEST_F(EdgeTest, ABroadcastReachesEveryOtherAttachedRowOnceAndEachCopyIsInjected) {
  Build({.ports = {{3}, {0, 1, 2, 15}, {12}}});
  const Bytes frame = Ethernet(kBroadcast, RowAddress(3), 0x0800, Pattern(46));
  Send(0, frame);
  Run();
  EXPECT_TRUE(Take(0).empty());
  EXPECT_EQ(Take(1), std::vector<Bytes>(4, frame));
  EXPECT_EQ(Take(2), std::vector<Bytes>{frame});
  EXPECT_EQ(ledger_.injected, 5u);
  EXPECT_EQ(ledger_.delivered, 5u);
}

TEST_F(EdgeTest, AFloodLargerThanABurstGoesOnInTheNextPasses) {
  std::vector<Row> rows;
  for (Row row = 1; row < 256; ++row) rows.push_back(row);
  Build({.rows = 256, .ports = {{0}, rows}});
  std::vector<Bytes> expected;
  for (uint8_t i = 0; i < 3; ++i) {
    const Bytes flood = Ethernet(kBroadcast, RowAddress(0), 0x0800, Pattern(46, i));
    const Bytes single = Ethernet(RowAddress(77), RowAddress(0), 0x0800, Pattern(46, i));
    Send(0, flood);
    Send(0, single);
    expected.insert(expected.end(), 255, flood);
    expected.push_back(single);
  }
  Run(200, 7);
  EXPECT_EQ(Take(1), expected);
  EXPECT_EQ(ledger_.injected, 3 * 256u);
}

TEST_F(EdgeTest, ABroadcastWithNobodyElseAttachedIsDropped) {
  Build({.ports = {{3}}});
  Send(0, Ethernet(kBroadcast, kAlice, 0x0800, Pattern(46)));
  Run();
  EXPECT_EQ(dropped(DropReason::kNoPortAtRow), 1u);
}

TEST_F(EdgeTest, ThePortOfSeveralRowsTellsThemByTheSourceAddress) {
  Build({.ports = {{4, 5}, {12}}});
  Send(0, Ethernet(RowAddress(12), RowAddress(5), 0x0800, Pattern(46)));
  Send(0, Ethernet(RowAddress(12), RowAddress(6), 0x0800, Pattern(46)));   // attached nowhere
  Send(0, Ethernet(RowAddress(12), RowAddress(12), 0x0800, Pattern(46)));  // attached elsewhere
  Send(0, Ethernet(RowAddress(12), RowAddress(99), 0x0800, Pattern(46)));  // no row
  Send(0, Ethernet(RowAddress(12), kAlice, 0x0800, Pattern(46)));
  Run();
  EXPECT_EQ(Take(1).size(), 1u);
  ASSERT_EQ(seen_.size(), 1u);
  EXPECT_EQ(seen_[0].row, 5u);
  EXPECT_EQ(dropped(DropReason::kUnknownInput), 4u);
  EXPECT_EQ(counters(0).drops, ledger_.dropped);
}

TEST_F(EdgeTest, ATestersFrameStartsWhereItSaysAndIsDeliveredUnchanged) {
  Build({.ports = {{4, 5}, {12}}});
  const auto tester = [](int flags, Row row) {
    return Ethernet(kAlice, kAlice, 0x88b5,
                    Hex("01 01 20") + Number(flags, 1) + Number(row, 4) + Hex("c800000000000000") +
                        Number(0, 4) + Number(0, 2) + Number(4, 2) + Zeros(8) + Pattern(4));
  };
  Send(0, tester(1, 5));
  Send(0, tester(1, 6));
  Send(0, tester(0, 0));
  Run();
  EXPECT_EQ(Take(1), std::vector<Bytes>{tester(1, 5)});
  ASSERT_EQ(seen_.size(), 1u);
  EXPECT_EQ(seen_[0].row, 5u);
  EXPECT_EQ(seen_[0].tag, 0xc800000000000000u);
  EXPECT_EQ(dropped(DropReason::kUnknownInput), 2u);
}

// The circuit of the slot leads straight on. The frame of a tester goes across at once.
TEST_F(EdgeTest, ATestersFrameEntersWhicheverSlotIsOn) {
  Build({.rows = 2, .ports = {{0}, {1}}});
  const Bytes across = Ethernet(kAlice, kAlice, 0x88b5,
                                Hex("01 01 20 00") + Zeros(4) + Hex("c000000000000000") + Zeros(6) +
                                    Number(4, 2) + Zeros(8) + Pattern(4));
  Send(0, across);
  Send(0, Ethernet(RowAddress(1), RowAddress(0), 0x0800, Pattern(46)));
  Run();
  EXPECT_EQ(Take(1).size(), 2u);
  ASSERT_EQ(seen_.size(), 2u);
  const StraightAndAcross slots;
  SlotRun run = slots.Make(LatePolicy::kWait);
  EXPECT_EQ(run.Release(kOrigin, nullptr, 0), 0);
  for (Descriptor& packet : seen_) {
    packet.mbuf = nullptr;  // both frames have left
    packet.time = kOrigin;
  }
  Ledger ledger;
  ASSERT_EQ(run.Admit(seen_.data(), 2, ledger), 1) << "the other frame waits for its slot";
  EXPECT_EQ(seen_[0].tag, 0xc000000000000000u);
  EXPECT_EQ(run.held(), 1u);
  EXPECT_EQ(slots.counts->slots[0].frames, 0u) << "it came to no slot";
}

TEST_F(EdgeTest, WithoutCircuitDropsFramesOfOtherPairs) {
  Build({.ports = {{3}, {12}, {7}}, .without_circuit = WithoutCircuit::kDrop});
  InstallCircuit(3, 12);
  Send(0, Ethernet(RowAddress(12), kAlice, 0x0800, Pattern(46)));
  Send(0, Ethernet(RowAddress(7), kAlice, 0x0800, Pattern(46)));
  Send(0, Ethernet(kBroadcast, kAlice, 0x0800, Pattern(46)));  // a copy to 12, one for 7
  Run();
  EXPECT_EQ(Take(1).size(), 2u);
  EXPECT_TRUE(Take(2).empty());
  EXPECT_EQ(dropped(DropReason::kNoCircuit), 2u);
  EXPECT_EQ(ledger_.injected, 4u);
}

TEST_F(EdgeTest, EveryBadFrameIsDroppedForItsReasonAndCountedAtItsPort) {
  Build({.ports = {{3}, {12}}});
  const struct {
    Bytes frame;
    DropReason reason;
  } cases[] = {
      {Pattern(13), DropReason::kTruncated},
      {Ethernet(RowAddress(12), kAlice, 0x0800, Pattern(1505)), DropReason::kOversized},
      {Ethernet(kBob, kAlice, 0x0800, Pattern(46)), DropReason::kNotForFabric},
      {Ethernet(RowAddress(16), kAlice, 0x0800, Pattern(46)), DropReason::kUnknownRow},
      {Ethernet(kBob, kAlice, 0x88b5, Pattern(46)), DropReason::kBadHeader},
      {Ethernet(RowAddress(8), kAlice, 0x0800, Pattern(46)), DropReason::kNoPortAtRow},
  };
  for (const auto& c : cases) {
    Send(0, c.frame);
    Run();
    EXPECT_EQ(dropped(c.reason), 1u) << DropReasonName(c.reason);
    const bool at_ingress = c.reason != DropReason::kNoPortAtRow;
    EXPECT_EQ(counters(0).drops[static_cast<int>(c.reason)], at_ingress ? 1u : 0u);
  }
  EXPECT_EQ(ledger_.injected, std::size(cases));
  EXPECT_EQ(ledger_.delivered, 0u);
}

TEST_F(EdgeTest, AFrameInPiecesArrivesWhole) {
  Build({.ports = {{3}, {12}}});
  const Bytes frame = Ethernet(RowAddress(12), RowAddress(3), 0x0800, Pattern(1000));
  for (size_t piece : {5, 100, 999}) {
    Send(0, frame, piece);
    Run();
    EXPECT_EQ(Take(1), std::vector<Bytes>{frame});
  }
}

TEST_F(EdgeTest, AFrameOf9018BytesPasses) {
  Build({.ports = {{3}, {12}}, .max_frame_bytes = 9018, .mbufs = 1023});
  const Bytes frame = Ethernet(RowAddress(12), RowAddress(3), 0x0800, Pattern(9004));
  Send(0, frame);
  Send(0, frame, 2048);
  Send(0, frame + Zeros(1), 2048);
  Run();
  EXPECT_EQ(Take(1), (std::vector<Bytes>{frame, frame}));
  EXPECT_EQ(dropped(DropReason::kOversized), 1u);
}

TEST_F(EdgeTest, APortThatTakesNothingLosesItsOwnFramesAndDelaysNobody) {
  // A ring of 8 holds 7 frames; nobody empties it.
  Build({.ports = {{3}, {12}, {7}}, .ring = 8});
  const Bytes stuck = Ethernet(RowAddress(12), RowAddress(3), 0x0800, Pattern(46));
  const Bytes passing = Ethernet(RowAddress(7), RowAddress(3), 0x0800, Pattern(46));
  const uint64_t began = rte_rdtsc();
  for (int i = 0; i < 600; ++i) {
    Send(0, stuck);
    Send(0, passing);
    Run();
    ASSERT_EQ(Take(2), std::vector<Bytes>{passing}) << i;
  }
  const bool patient = static_cast<double>(rte_rdtsc() - began) <
                       HostTransmitter::kPatienceSeconds * static_cast<double>(TscHz());
  EXPECT_EQ(egress_->held() + dropped(DropReason::kPortFull), 600u - 7) << "7 are in the ring";
  if (patient) {  // unless this thread was without its CPU for longer
    EXPECT_EQ(egress_->held(), HostTransmitter::kCapacity) << "the rest is dropped at once";
  }
  rte_delay_us_sleep(static_cast<unsigned>(1.1e6 * HostTransmitter::kPatienceSeconds));
  Run();
  EXPECT_EQ(egress_->held(), 0u) << "patience has an end";
  EXPECT_EQ(dropped(DropReason::kPortFull), 600u - 7);
  EXPECT_EQ(counters(1).drops[static_cast<int>(DropReason::kPortFull)], 600u - 7);

  EXPECT_EQ(Take(1), std::vector<Bytes>(7, stuck));
  Send(0, stuck);
  Run();
  EXPECT_EQ(Take(1), std::vector<Bytes>{stuck}) << "and the port recovers";
}

TEST_F(EdgeTest, ASlowPortGetsItsFramesInOrder) {
  Build({.ports = {{3}, {12}}, .ring = 8});
  std::vector<Bytes> sent, got;
  for (int i = 0; i < 3000; ++i) {
    sent.push_back(Ethernet(RowAddress(12), RowAddress(3), 0x0800, Number(i, 8) + Zeros(38)));
    Send(0, sent.back());
    Run();
    if (i % 5 != 0) continue;
    for (Bytes& frame : Take(1)) got.push_back(std::move(frame));
  }
  while (got.size() < sent.size()) {
    Run();
    const size_t before = got.size();
    for (Bytes& frame : Take(1)) got.push_back(std::move(frame));
    if (got.size() == before) break;
  }
  EXPECT_EQ(got, sent);
}

TEST_F(EdgeTest, SyntheticPacketsEndInTheSinkOfTheirRow) {
  Build({.ports = {{3}}});
  const Descriptor packets[3] = {
      {.tag = kWireTagDone, .mbuf = nullptr, .time = 0, .row = 3, .bytes = 64, .input = 0}};
  ledger_.injected += 3;
  EXPECT_EQ(egress_->Send(packets, 3, ledger_), 3);
  EXPECT_EQ(ledger_.delivered, 3u);
}

TEST_F(EdgeTest, TenThousandRandomFramesAreAllAccountedFor) {
  Build({.ports = {{3}, {4, 5, 6}, {12}}});
  std::mt19937_64 random(42);
  const Bytes addresses[] = {kBroadcast,     RowAddress(3),           RowAddress(5),
                             RowAddress(12), RowAddress(9),           RowAddress(77),
                             kAlice,         Hex("33 33 00 00 00 01")};
  const uint16_t types[] = {0x0800, 0x0806, 0x8100, 0x88b5, 0x86dd};
  const auto any = [&](const auto& list) { return list[random() % std::size(list)]; };
  for (int i = 0; i < 10000; ++i) {
    Bytes frame = Ethernet(any(addresses), any(addresses), any(types), Zeros(random() % 1600));
    for (size_t at = 14; at < frame.size(); ++at) frame[at] = static_cast<uint8_t>(random());
    if (i % 10 == 0) frame.resize(random() % 20);
    Send(static_cast<int>(random() % 3), frame, 1 + random() % 1700);
    Run(1, 1 + static_cast<int>(random() % kBurst));
    for (int port = 0; port < 3; ++port) Take(port);
  }
  Run(10);
  EXPECT_GE(ledger_.injected, 10000u);
  EXPECT_GT(ledger_.delivered, 0u);
}

TEST_F(EdgeTest, AnInletThatLeavesDropsWhatItHasNotGivenOut) {
  Build({.ports = {{0}, {1}, {2}, {3}}});
  const Bytes frame =
      Ethernet(kBroadcast, kAlice, 0x0806, Arp(1, kAlice, kAliceIp, kNobody, kBobIp));
  for (int i = 0; i < 4; ++i) Send(0, frame);
  // It takes four frames. Three copies of the first and one of the second fill the room.
  Run(1, 4);
  EXPECT_EQ(ledger_.injected, 4u);
  inlet(0).Leave(ledger_);
  // The rest of the second, and two frames.
  EXPECT_EQ(dropped(DropReason::kPortRemoved), 3u);
  EXPECT_EQ(counters(0).drops[static_cast<int>(DropReason::kPortRemoved)], 3u);
  EXPECT_EQ(ledger_.injected, 7u);
  Run();
  EXPECT_EQ(ledger_.injected, 7u);
  EXPECT_EQ(ledger_.delivered, 4u);
}

TEST_F(EdgeTest, ABroadcastGoesOnWithTheRowsThatThereAreNow) {
  Build({.ports = {{0}, {1}, {2}, {3}}});
  Send(0, Ethernet(kBroadcast, kAlice, 0x0806, Arp(1, kAlice, kAliceIp, kNobody, kBobIp)));
  Run(1, 1);  // one copy, to row 1
  const std::vector<Row> rows = {0, 1, 3, 5};
  inlet(0).SetFlood(&rows);
  Run(1, 1);  // the worker has not taken it up: row 2
  EXPECT_EQ(inlet(0).Front(), &inlet(0));
  Run(3, 1);
  for (int port : {1, 2, 3}) EXPECT_EQ(Take(port).size(), 1u) << port;
  EXPECT_EQ(dropped(DropReason::kNoPortAtRow), 1u) << "row 5 has no port";
  EXPECT_EQ(ledger_.injected, 4u);
}

TEST_F(EdgeTest, ABroadcastThatHasReachedAllRowsEndsHoweverOftenTheyChange) {
  Build({.ports = {{0}, {1}, {2}, {3}}});
  Send(0, Ethernet(kBroadcast, kAlice, 0x0806, Arp(1, kAlice, kAliceIp, kNobody, kBobIp)));
  Run(1, 1);  // one copy, to row 1
  // The rows that it has not reached go, and the list changes again before the inlet is polled.
  const std::vector<Row> fewer = {0, 1};
  inlet(0).SetFlood(&fewer);
  EXPECT_EQ(inlet(0).Front(), &inlet(0));
  const std::vector<Row> fewest = {1};
  inlet(0).SetFlood(&fewest);
  EXPECT_EQ(inlet(0).Front(), &inlet(0));
  Run(3, 1);
  EXPECT_EQ(Take(1).size(), 1u);
  EXPECT_EQ(ledger_.delivered, 1u);
}

}  // namespace
}  // namespace bfly::dataplane

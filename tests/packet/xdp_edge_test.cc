// SPDX-License-Identifier: Apache-2.0
// One table of frames says what the XDP program must do with each frame and what it must count. The
// same table serves to time the program.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <map>
#include <numeric>
#include <vector>

#include "tests/packet/loaded_edge.h"
#include "tests/packet/xdp_fixtures.h"

namespace bfly::dataplane {
namespace {

class XdpEdgeTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(edge_.ok()); }
  LoadedEdge edge_;
};

TEST_F(XdpEdgeTest, EveryFixtureGetsItsVerdictAndIsCountedOnce) {
  ASSERT_NO_FATAL_FAILURE(edge_.OpenSocket());
  std::array<uint64_t, EDGE_COUNTS> expected{};
  for (const Fixture& fixture : Fixtures()) {
    SCOPED_TRACE(fixture.name);
    ASSERT_TRUE(edge_.maps().Configure(fixture.rules).ok());
    const LoadedEdge::Run run = edge_.Feed(fixture.frame);
    EXPECT_EQ(run.action, ActionOf(fixture.count));
    EXPECT_EQ(run.out, fixture.frame) << "the program must not touch frames";
    ++expected[fixture.count];
    const auto counters = edge_.maps().Read();
    ASSERT_TRUE(counters.ok()) << counters.status();
    for (int i = 0; i < EDGE_COUNTS; ++i) {
      EXPECT_EQ(counters->actions[i].packets, expected[i]) << counters->actions[i].name;
    }
    // Configure starts the rows afresh.
    ASSERT_EQ(counters->rows.size(), fixture.count == EDGE_TO_ROW ? 1u : 0u);
    if (fixture.count == EDGE_TO_ROW) {
      EXPECT_EQ(counters->rows[0].row, fixture.row);
      EXPECT_EQ(counters->rows[0].packets, 1u);
    }
  }
}

TEST_F(XdpEdgeTest, PassesEverythingBeforeItIsConfigured) {
  ASSERT_NO_FATAL_FAILURE(edge_.OpenSocket());
  uint64_t fed = 0;
  for (const Fixture& fixture : Fixtures()) {
    EXPECT_EQ(edge_.Feed(fixture.frame).action, static_cast<uint32_t>(XDP_PASS)) << fixture.name;
    ++fed;
  }
  EXPECT_EQ((*edge_.maps().ReadCounts())[EDGE_NOT_READY], fed);
}

TEST_F(XdpEdgeTest, PassesTheFabricsFramesToTheKernelWhereThereIsNoSocket) {
  ASSERT_TRUE(edge_.maps().Configure(MacRules()).ok());
  EXPECT_EQ(edge_.Feed(PadTo(Ethernet(ToRowMac(1), 0x0800), 64)).action,
            static_cast<uint32_t>(XDP_PASS));
  EXPECT_EQ(edge_.Feed(PadTo(Ethernet(ToRowMac(99), 0x0800), 64)).action,
            static_cast<uint32_t>(XDP_DROP));
  const auto counts = *edge_.maps().ReadCounts();
  EXPECT_EQ(counts[EDGE_NO_SOCKET], 1u);
  EXPECT_EQ(counts[EDGE_UNKNOWN_ROW], 1u);
  EXPECT_EQ(counts[EDGE_TO_ROW], 0u);
  EXPECT_TRUE(edge_.maps().Read()->rows.empty());
}

// Row counters lie in chunks of 4096: rows at both ends of each chunk count where they belong.
TEST_F(XdpEdgeTest, CountsRowsOfALargeNetworkEachForItself) {
  ASSERT_NO_FATAL_FAILURE(edge_.OpenSocket());
  EdgeRules rules = MacRules();
  rules.frames.rows = 1u << 20;
  ASSERT_TRUE(edge_.maps().Configure(rules).ok());
  std::map<uint32_t, uint64_t> expected;
  int repeat = 1;
  for (const uint32_t row : {0u, 1u, 4095u, 4096u, 8191u, 65536u, (1u << 20) - 1}) {
    expected[row] = ++repeat;
    edge_.Feed(PadTo(Ethernet(ToRowMac(row), 0x0800), 64), repeat);
  }
  std::map<uint32_t, uint64_t> counted;
  const auto counters = edge_.maps().Read();
  ASSERT_TRUE(counters.ok()) << counters.status();
  for (const XdpCounters::RowCount& count : counters->rows) {
    counted[count.row] = count.packets;
  }
  EXPECT_EQ(counted, expected);
}

// A data plane of another container has a process number that says nothing here.
TEST_F(XdpEdgeTest, AnOwnerWithASocketLives) {
  EXPECT_FALSE(*edge_.maps().OwnerLives()) << "nobody has configured it";
  edge_.OpenSocket();
  EXPECT_TRUE(*edge_.maps().OwnerLives());
  edge_.CloseSocket();
  EXPECT_FALSE(*edge_.maps().OwnerLives()) << "and the look left no socket there";
}

TEST_F(XdpEdgeTest, KnowsWhetherItsOwnerLives) {
  EXPECT_FALSE(*edge_.maps().OwnerLives()) << "nobody has configured it";
  ASSERT_TRUE(edge_.maps().Configure(MacRules()).ok());
  EXPECT_TRUE(*edge_.maps().OwnerLives());
}

TEST_F(XdpEdgeTest, TimesEveryFixture) {
  ASSERT_NO_FATAL_FAILURE(edge_.OpenSocket());
  constexpr int kRepeat = 20000;
  uint64_t fed = 0;
  for (const Fixture& fixture : Fixtures()) {
    ASSERT_TRUE(edge_.maps().Configure(fixture.rules).ok());
    const LoadedEdge::Run run = edge_.Feed(fixture.frame, kRepeat);
    fed += kRepeat;
    std::printf("%-40s %4u ns/packet\n", fixture.name, run.nanoseconds);
  }
  const auto counts = *edge_.maps().ReadCounts();
  EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), uint64_t{0}), fed);
}

}  // namespace
}  // namespace bfly::dataplane

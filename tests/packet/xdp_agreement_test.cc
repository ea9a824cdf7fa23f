// SPDX-License-Identifier: Apache-2.0
// There are two readers of a host's frame: the XDP program, and ParseFrame behind every other
// device. They must read every frame alike.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <string>

#include "dataplane/frames/frame.h"
#include "tests/packet/loaded_edge.h"
#include "tests/packet/xdp_fixtures.h"

namespace bfly::dataplane {
namespace {

struct Expected {
  edge_count count;
  uint32_t row = 0;
};

// What the XDP program must do with a frame that ParseFrame judges so.
Expected ByParseFrame(const Frame& frame, const FrameRules& rules) {
  const auto parse = [&frame](const FrameRules& r) {
    const auto length = static_cast<uint32_t>(frame.size());
    return ParseFrame(frame.data(), length, length, r);
  };
  Verdict verdict = parse(rules);
  bool oversized = false;
  if (verdict.kind == Verdict::Kind::kDrop && verdict.reason == DropReason::kOversized) {
    // Only the fabric's own frames have its limit: the kernel gets the others whatever their
    // length.
    FrameRules without_limit = rules;
    without_limit.max_frame_bytes = UINT32_MAX;
    verdict = parse(without_limit);
    oversized = true;
  }
  switch (verdict.kind) {
    case Verdict::Kind::kRow:
    case Verdict::Kind::kTag:
      return oversized ? Expected{EDGE_OVERSIZED} : Expected{EDGE_TO_ROW, verdict.output};
    case Verdict::Kind::kFlood:
      return {oversized ? EDGE_OVERSIZED : EDGE_FLOOD};
    case Verdict::Kind::kDrop:
      break;
  }
  switch (verdict.reason) {
    case DropReason::kTruncated:
      return {EDGE_TRUNCATED};
    case DropReason::kUnknownRow:
      return {EDGE_UNKNOWN_ROW};
    case DropReason::kBadHeader:
      return {EDGE_BAD_HEADER};
    default:
      return {EDGE_FOREIGN};
  }
}

class XdpAgreementTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(edge_.ok());
    ASSERT_NO_FATAL_FAILURE(edge_.OpenSocket());
  }

  // Feeds the frame and compares with ParseFrame. `rules` are configured already.
  void Compare(const Frame& frame, const FrameRules& rules, const std::string& what) {
    const Expected expected = ByParseFrame(frame, rules);
    const auto before = edge_.maps().ReadCounts();
    ASSERT_TRUE(before.ok());
    const LoadedEdge::Run run = edge_.Feed(frame);
    const auto after = edge_.maps().ReadCounts();
    ASSERT_TRUE(after.ok());
    EXPECT_EQ(run.action, ActionOf(expected.count)) << what;
    for (int i = 0; i < EDGE_COUNTS; ++i) {
      EXPECT_EQ((*after)[i] - (*before)[i], i == expected.count ? 1u : 0u)
          << what << ": " << EdgeCountName(static_cast<edge_count>(i)) << ", ParseFrame says "
          << EdgeCountName(expected.count);
    }
    if (expected.count == EDGE_TO_ROW) ++rows_[expected.row];
  }

  void CompareRows() {
    const auto counters = edge_.maps().Read();
    ASSERT_TRUE(counters.ok());
    std::vector<uint64_t> counted(rows_.size());
    for (const XdpCounters::RowCount& count : counters->rows) counted[count.row] = count.packets;
    EXPECT_EQ(counted, rows_);
  }

  LoadedEdge edge_;
  std::vector<uint64_t> rows_ = std::vector<uint64_t>(kRows);
};

TEST_F(XdpAgreementTest, BothReadersAgreeOnEveryFixture) {
  for (const Fixture& fixture : Fixtures()) {
    if (fixture.rules.trunk) continue;  // trunks have a reader of their own
    ASSERT_TRUE(edge_.maps().Configure(fixture.rules).ok());
    Compare(fixture.frame, fixture.rules.frames, fixture.name);
    EXPECT_EQ(ByParseFrame(fixture.frame, fixture.rules.frames).count, fixture.count)
        << fixture.name;
  }
}

// Random bytes hardly ever look like a frame of the fabric's, so most are fixtures with a few bytes
// changed, cut or lengthened. BFLY_SEED gives another sequence.
TEST_F(XdpAgreementTest, BothReadersAgreeOnRandomFrames) {
  const char* seed_text = std::getenv("BFLY_SEED");
  const uint64_t seed = seed_text != nullptr ? std::strtoull(seed_text, nullptr, 10) : 1;
  std::mt19937_64 random(seed);
  const std::vector<Fixture> fixtures = Fixtures();
  constexpr int kFrames = 20000;
  for (const EdgeRules& rules : {MacRules(), Ipv4Rules()}) {
    ASSERT_TRUE(edge_.maps().Configure(rules).ok());
    rows_.assign(kRows, 0);
    for (int i = 0; i < kFrames && !HasFailure(); ++i) {
      Frame frame;
      if (random() % 10 == 0) {
        frame.resize(14 + random() % 100);
        for (uint8_t& byte : frame) byte = static_cast<uint8_t>(random());
      } else {
        frame = fixtures[random() % fixtures.size()].frame;
        for (uint64_t changes = random() % 4; changes > 0; --changes) {
          // Headers end before byte 70; what lies behind is not read.
          frame[random() % std::min<size_t>(frame.size(), 70)] = static_cast<uint8_t>(random());
        }
        if (random() % 3 == 0) frame.resize(14 + random() % 60);
      }
      Compare(frame, rules.frames,
              "frame " + std::to_string(i) + " of seed " + std::to_string(seed));
    }
    CompareRows();
  }
}

// A tester's frame counts at the row where its path ends, whatever the order of the network's hops.
TEST_F(XdpAgreementTest, BothReadersKnowTheRowWhereAPathEnds) {
  for (const NetworkSpec& spec :
       {NetworkSpec{.kind = NetworkKind::kBenes, .rows = kRows},
        NetworkSpec{.kind = NetworkKind::kHypercube, .rows = kRows},
        NetworkSpec{.kind = NetworkKind::kTwoFoldButterfly, .rows = kRows},
        NetworkSpec{.kind = NetworkKind::kButterfly, .rows = kRows, .extra_stages = 3}}) {
    const Network network = *Network::Make(spec);
    EdgeRules rules = MacRules();
    rules.frames = MakeFrameRules(network, {}, 1518);
    ASSERT_TRUE(edge_.maps().Configure(rules).ok());
    rows_.assign(kRows, 0);
    const int bits = rules.frames.tags.bits();
    for (Tag tag = 0; tag < Tag{1} << bits; ++tag) {
      const Frame frame =
          PadTo(Ethernet(ToRowMac(1), 0x88b5) + TesterHeader{.tag = ToWire(tag, bits)}.bytes(), 64);
      Compare(frame, rules.frames, "tag " + std::to_string(tag));
      const auto length = static_cast<uint32_t>(frame.size());
      ASSERT_EQ(ParseFrame(frame.data(), length, length, rules.frames).output,
                WalkTag(network, 0, tag).back());
    }
    CompareRows();
  }
}

// Tags of hops with a direction and one of three ports, right and wrong ones.
TEST_F(XdpAgreementTest, BothReadersAgreeOnTagsThatSayPorts) {
  EdgeRules rules = MacRules();
  rules.frames = MakeFrameRules(
      *Network::Make({.kind = NetworkKind::kDilatedButterfly, .rows = kRows, .multiplicity = 3}),
      {}, 1518);
  ASSERT_TRUE(edge_.maps().Configure(rules).ok());
  std::mt19937_64 random(3);
  const int bits = rules.frames.tags.bits();
  for (int i = 0; i < 2000 && !HasFailure(); ++i) {
    TesterHeader header;
    header.flags = static_cast<uint8_t>(random() % 2 * 8);
    header.tag = ToWire(random() >> (64 - bits), bits);
    if (random() % 8 == 0) header.tag ^= uint64_t{1} << random() % 64;
    Compare(PadTo(Ethernet(ToRowMac(1), 0x88b5) + header.bytes(), 64), rules.frames,
            "tag " + std::to_string(header.tag));
  }
  CompareRows();
}

}  // namespace
}  // namespace bfly::dataplane

// SPDX-License-Identifier: Apache-2.0
#include "topologies/tag.h"

#include <gtest/gtest.h>

namespace bfly {
namespace {

Network NetworkOf(NetworkKind kind, uint32_t rows, int passes = 1) {
  return Network::Make({.kind = kind, .rows = rows, .passes = passes}).value();
}

TEST(Tag, OfAButterflyIsTheDestination) {
  const Network b = NetworkOf(NetworkKind::kButterfly, 8);
  EXPECT_EQ(GreedyTag(b, 0b010, 0b101), Tag{0b101});
  EXPECT_EQ(WalkTag(b, 0b010, 0b101), (std::vector<Row>{0b010, 0b110, 0b100, 0b101}));
  EXPECT_EQ(TagToString(b, 0b101), "101");
}

TEST(Tag, OfTheTwoFoldButterflyIsTheMiddleRowThenTheDestination) {
  const Network bb = NetworkOf(NetworkKind::kTwoFoldButterfly, 4);
  EXPECT_EQ(WalkTag(bb, 0b00, 0b11'01), (std::vector<Row>{0b00, 0b10, 0b11, 0b01, 0b01}));
  EXPECT_EQ(TagToString(bb, 0b1101), "11 01");
  EXPECT_EQ(OutputOfTag(bb, 0b1101), 0b01u);
}

TEST(Tag, OfABenesNetworkIsTheMiddleRowThenTheDestinationReversed) {
  const Network benes = NetworkOf(NetworkKind::kBenes, 8);
  const Tag tag = TagThrough(benes, 0b101, 0b110);
  EXPECT_EQ(TagToString(benes, tag), "101 011");
  // Positions 1, 2, 3 take the middle row, then 3, 2, 1 the destination.
  EXPECT_EQ(WalkTag(benes, 0b000, tag),
            (std::vector<Row>{0b000, 0b100, 0b100, 0b101, 0b100, 0b110, 0b110}));
  EXPECT_EQ(OutputOfTag(benes, tag), 0b110u);
}

TEST(Tag, HasOneGroupForAllExtraStages) {
  for (const auto& [extra, text] :
       {std::pair{1, "0 10"}, {2, "00 10"}, {4, "0000 10"}, {5, "00000 10"}}) {
    const Network network =
        Network::Make({.kind = NetworkKind::kButterfly, .rows = 4, .extra_stages = extra}).value();
    EXPECT_EQ(TagToString(network, 0b10), text);
  }
}

TEST(Tag, RowsReverseBitByBit) {
  for (int d = 1; d <= 20; ++d) {
    for (Row row : {Row{0}, Row{1}, Row{0xACE35}, (Row{1} << d) - 1}) {
      row &= (Row{1} << d) - 1;
      Row expected = 0;
      for (int bit = 0; bit < d; ++bit) expected |= (row >> bit & 1) << (d - 1 - bit);
      EXPECT_EQ(ReverseRow(row, d), expected) << "d = " << d;
    }
  }
}

TEST(Tag, OfTheGreedyPathRunsStraightThroughTheFirstOfTwoCopies) {
  for (const Network& network : {NetworkOf(NetworkKind::kTwoFoldButterfly, 4),
                                 NetworkOf(NetworkKind::kWrappedButterfly, 4, 2)}) {
    EXPECT_EQ(WalkTag(network, 0b10, GreedyTag(network, 0b10, 0b01)),
              (std::vector<Row>{0b10, 0b10, 0b10, 0b00, 0b01}));
  }
}

TEST(Tag, IsRecoveredFromTheRowsOfItsPathOnly) {
  const Network b = NetworkOf(NetworkKind::kButterfly, 4);
  EXPECT_EQ(TagOfPath(b, {0b00, 0b10, 0b11}).value(), Tag{0b11});
  EXPECT_EQ(TagOfPath(b, {0b00, 0b10, 0b10}).value(), Tag{0b10});
  EXPECT_EQ(TagOfPath(b, {0, 2}).status().message(), "rows: 2 given, a path has 3");
  EXPECT_EQ(TagOfPath(b, {0, 1, 1}).status().message(),
            "rows[1]: no link of stage 0 leads from row 0 to row 1");
  EXPECT_EQ(TagOfPath(b, {0, 2, 1}).status().message(),
            "rows[2]: no link of stage 1 leads from row 2 to row 1");
}

TEST(Tag, OfAPathOutsideTheNetworkIsRefusedBeforeAnythingIsLookedUp) {
  const Network b = NetworkOf(NetworkKind::kButterfly, 4);
  EXPECT_EQ(TagOfPath(b, {4, 2, 3}).status().message(), "rows[0]: 4 is outside 0..3");
  EXPECT_EQ(TagOfPath(b, {0, ~0u, 3}).status().message(), "rows[1]: 4294967295 is outside 0..3");
  EXPECT_EQ(TagOfPath(b, {0, 2, 4}).status().message(), "rows[2]: 4 is outside 0..3");
}

TEST(Tag, OnTheWireShowsTheNextBitOnTopAndEndsAsDone) {
  const Network bb = NetworkOf(NetworkKind::kTwoFoldButterfly, 4);
  WireTag wire = ToWire(0b1101, bb.hops());
  std::string bits;
  while (wire != kWireTagDone) {
    bits += wire >> 63 ? '1' : '0';
    wire <<= 1;
  }
  EXPECT_EQ(bits, "1101");
  // The longest path there is.
  const Network largest = NetworkOf(NetworkKind::kTwoFoldButterfly, kMaxRows);
  wire = ToWire((Tag{1} << largest.hops()) - 1, largest.hops());
  int hops = 0;
  for (; wire != kWireTagDone; wire <<= 1) hops += wire >> 63;
  EXPECT_EQ(hops, largest.hops());
}

}  // namespace
}  // namespace bfly

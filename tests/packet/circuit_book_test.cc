// SPDX-License-Identifier: Apache-2.0
// The book of circuits that the links of an in-band fabric must be told about.
#include "dataplane/in_band/circuit_book.h"

#include <gtest/gtest.h>

#include <map>

namespace bfly::dataplane {
namespace {

constexpr Row kBookRows = 16;

class CircuitBookTest : public testing::Test {
 protected:
  void Install(Row input, Tag tag) {
    routes_.Install(input, tag);
    book_.Note(input);
  }
  void Remove(Row input) {
    routes_.Remove(input);
    book_.Note(input);
  }

  const Network network_ =
      *Network::Make({.kind = NetworkKind::kTwoFoldButterfly, .rows = kBookRows, .seed = 7});
  RouteTable routes_{network_, WithoutCircuit::kBestEffort};
  CircuitBook book_{network_, routes_};
};

// Nobody calls Behind() on a fabric that has no in-band call for hours.
TEST_F(CircuitBookTest, HoursOfSetUpsAndReleasesCostAnEntryARow) {
  for (int round = 0; round < 100'000; ++round) {
    const Row input = static_cast<Row>(round % kBookRows);
    Install(input, static_cast<Tag>(round % 256));
    if (round % 3 == 0) Remove(input);
  }
  EXPECT_LE(book_.to_look_at(), kBookRows);
}

// What the links count, kept by hand from the messages, is what stands in the end.
TEST_F(CircuitBookTest, MessagesMakeTheLinksCountWhatStandsInTheEnd) {
  std::map<Row, Tag> counted;
  for (int batch = 0; batch < 50; ++batch) {
    for (int i = 0; i < 40; ++i) {
      const Row input = static_cast<Row>((7 * i + batch * i) % kBookRows);
      if ((i + batch) % 4 == 0) {
        Remove(input);
      } else {
        Install(input, static_cast<Tag>((31 * i + batch) % 256));
      }
    }
    const GivenCircuits behind = book_.Behind();
    for (const auto& [input, tag] : behind.release) {
      ASSERT_EQ(counted.at(input), tag);
      counted.erase(input);
    }
    for (const auto& [input, tag] : behind.install) {
      ASSERT_TRUE(counted.emplace(input, tag).second);
    }
    book_.CaughtUp();
    EXPECT_EQ(book_.to_look_at(), 0u);
    for (Row input = 0; input < kBookRows; ++input) {
      ASSERT_EQ(book_.busy(input), counted.count(input) != 0) << input;
      if (!book_.busy(input)) continue;
      ASSERT_EQ(book_.tag(input), counted.at(input)) << input;
    }
  }
}

}  // namespace
}  // namespace bfly::dataplane

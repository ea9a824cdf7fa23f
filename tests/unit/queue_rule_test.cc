// SPDX-License-Identifier: Apache-2.0
#include "dataplane/ports/queue_rule.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace bfly::dataplane {
namespace {

// The queue of the only rule that fits the address; -1 if none does, -2 if several do.
int QueueOf(const QueueRules& rules, QueueRule::Field field, MacAddress address) {
  int queue = -1;
  for (const QueueRule& rule : rules) {
    EXPECT_EQ(rule.field, field);
    if (((address ^ rule.address) & rule.mask) != 0) continue;
    if (queue != -1) return -2;
    queue = rule.queue;
  }
  return queue;
}

void ExpectEachRowAtItsQueue(const QueueRules& rules, const std::vector<QueueOfRow>& rows) {
  for (const QueueOfRow& of : rows) {
    EXPECT_EQ(QueueOf(rules, QueueRule::Field::kSource, RowMac(of.row)), of.queue) << of.row;
  }
}

TEST(QueueRules, EveryRowFitsOneRuleThatHasItsQueue) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 100; ++trial) {
    const Row rows = Row{1} << (1 + trial % 24);
    std::map<Row, uint16_t> queue_of;
    for (int i = 0; i < 40; ++i) queue_of[static_cast<Row>(random()) % rows] = random() % 4;
    std::vector<QueueOfRow> listed;
    for (const auto& [row, queue] : queue_of) listed.push_back({row, queue});
    ExpectEachRowAtItsQueue(RulesByRowBits(listed), listed);
    const QueueRules whole = RulesByRow(listed);
    ExpectEachRowAtItsQueue(whole, listed);
    EXPECT_EQ(whole.size(), listed.size());
  }
}

TEST(QueueRules, NoAddressThatNamesNoRowFits) {
  const std::vector<QueueOfRow> rows = {{0, 0}, {1, 1}};
  for (MacAddress other :
       {kBroadcastMac, kTrunkMac, MacAddress{1}, RowMac(0) | MacAddress{1} << 40}) {
    EXPECT_EQ(QueueOf(RulesByRowBits(rows), QueueRule::Field::kSource, other), -1);
  }
}

// By hand: rows 0-2 and 3-7 are 00*, 010, 011 and 1**.
TEST(QueueRules, BlocksOfRowsNeedFewRules) {
  const auto blocks = [](Row rows, Row second) {
    std::vector<QueueOfRow> listed;
    for (Row row = 0; row < rows; ++row) listed.push_back({row, uint16_t{row >= second}});
    return RulesByRowBits(listed).size();
  };
  EXPECT_EQ(blocks(4096, 2048), 2u);
  EXPECT_EQ(blocks(8, 3), 4u);
}

TEST(QueueRules, FramesOfATrunkFitTheRuleOfTheirQueuePair) {
  const QueueRules rules = RulesOfTrunk(64);
  for (int queue = 0; queue < 64; ++queue) {
    // 02:bf:01:00:QQ:01
    const MacAddress to = 0x02bf01000001 + 0x100 * static_cast<MacAddress>(queue);
    EXPECT_EQ(QueueOf(rules, QueueRule::Field::kDestination, to), queue);
  }
}

}  // namespace
}  // namespace bfly::dataplane

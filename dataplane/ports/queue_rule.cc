// SPDX-License-Identifier: Apache-2.0
#include "dataplane/ports/queue_rule.h"

#include <algorithm>

namespace bfly::dataplane {
namespace {

constexpr MacAddress kWholeAddress = (MacAddress{1} << 48) - 1;
constexpr int kRowBits = 24;  // bits of an address

using RowIterator = std::vector<QueueOfRow>::const_iterator;

// The rows of [begin, end) agree in all but the lowest `bits` bits.
void AddRules(RowIterator begin, RowIterator end, int bits, QueueRules& rules) {
  if (begin == end) return;
  const auto same = [begin](const QueueOfRow& other) { return other.queue == begin->queue; };
  if (std::all_of(begin, end, same)) {
    const MacAddress mask = kWholeAddress >> bits << bits;
    rules.push_back({.field = QueueRule::Field::kSource,
                     .address = RowMac(begin->row) & mask,
                     .mask = mask,
                     .queue = begin->queue});
    return;
  }
  const Row bit = Row{1} << (bits - 1);
  const auto half =
      std::find_if(begin, end, [bit](const QueueOfRow& of) { return (of.row & bit) != 0; });
  AddRules(begin, half, bits - 1, rules);
  AddRules(half, end, bits - 1, rules);
}

}  // namespace

QueueRules RulesByRowBits(const std::vector<QueueOfRow>& rows) {
  QueueRules rules;
  AddRules(rows.begin(), rows.end(), kRowBits, rules);
  return rules;
}

QueueRules RulesByRow(const std::vector<QueueOfRow>& rows) {
  QueueRules rules;
  for (const QueueOfRow& of : rows) {
    rules.push_back({.field = QueueRule::Field::kSource,
                     .address = RowMac(of.row),
                     .mask = kWholeAddress,
                     .queue = of.queue});
  }
  return rules;
}

QueueRules RulesOfTrunk(int queues) {
  QueueRules rules;
  for (int queue = 0; queue < queues; ++queue) {
    rules.push_back({.field = QueueRule::Field::kDestination,
                     .address = TrunkReceiverMac(static_cast<uint32_t>(queue)),
                     .mask = kWholeAddress,
                     .queue = static_cast<uint16_t>(queue)});
  }
  return rules;
}

}  // namespace bfly::dataplane

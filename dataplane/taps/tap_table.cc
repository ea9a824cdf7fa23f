// SPDX-License-Identifier: Apache-2.0
#include "dataplane/taps/tap_table.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace bfly::dataplane {

TapTable::TapTable(std::vector<TapRule> rules) : rules_(std::move(rules)) {
  std::stable_sort(rules_.begin(), rules_.end(), [](const TapRule& a, const TapRule& b) {
    if (a.key != b.key) return a.key < b.key;
    return std::less<const TapWriter*>()(a.writer.get(), b.writer.get());
  });
  for (const TapRule& rule : rules_) {
    if (keys_.empty() || keys_.back() != rule.key) keys_.push_back(rule.key);
  }
}

void TapTable::Note(uint32_t key, const Descriptor& packet) const {
  auto rule = std::partition_point(rules_.begin(), rules_.end(),
                                   [key](const TapRule& one) { return one.key < key; });
  const TapWriter* told = nullptr;
  for (; rule != rules_.end() && rule->key == key; ++rule) {
    if (rule->writer.get() == told || !rule->Matches(packet)) continue;
    told = rule->writer.get();
    rule->writer->Note(packet, *rule);
  }
}

}  // namespace bfly::dataplane

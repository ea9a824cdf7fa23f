// SPDX-License-Identifier: Apache-2.0
#include "dataplane/traffic/source_inlet.h"

#include <rte_cycles.h>

#include <algorithm>

namespace bfly::dataplane {

SourceInlet::~SourceInlet() = default;

void SourceInlet::Refresh() {
  Set* const wanted = wanted_.load(std::memory_order_acquire);
  if (wanted == current_) return;
  current_ = wanted;
  turn_ = 0;
}

int SourceInlet::Receive(Descriptor* burst, int room, Ledger& ledger) {
  if (current_ == nullptr || current_->empty()) return 0;
  const uint64_t now = rte_rdtsc();
  int count = 0;
  for (size_t asked = 0; asked < current_->size() && count < room; ++asked) {
    turn_ = turn_ + 1 >= current_->size() ? 0 : turn_ + 1;
    count += (*current_)[turn_]->Emit(burst + count, room - count, now, routes_, ledger);
  }
  return count;
}

uint64_t SourceInlet::NextDue() const {
  uint64_t due = UINT64_MAX;
  if (current_ == nullptr) return due;
  for (const auto& source : *current_) due = std::min(due, source->NextDue());
  return due;
}

}  // namespace bfly::dataplane

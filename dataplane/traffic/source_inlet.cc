// SPDX-License-Identifier: Apache-2.0
#include "dataplane/traffic/source_inlet.h"

#include <rte_cycles.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace bfly::dataplane {

SourceInlet::~SourceInlet() = default;

void SourceInlet::Refresh() {
  Set* const wanted = wanted_.load(std::memory_order_acquire);
  if (wanted == current_) return;
  current_ = wanted;
  turn_ = 0;
  seen_.store(wanted, std::memory_order_release);
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

absl::Status SourceInlet::Replace(const std::vector<SourceConfig>& sources) {
  auto set = std::make_unique<Set>();
  const uint64_t start = rte_rdtsc();
  const double hz = static_cast<double>(rte_get_tsc_hz());
  for (const SourceConfig& config : sources) {
    std::shared_ptr<Source> source;
    if (config.id != 0 && !owned_.empty()) {
      for (const auto& running : *owned_.back()) {
        if (running->id() == config.id) source = running;
      }
    }
    if (source == nullptr) source = Source::Make(config, network_, start, hz);
    set->push_back(std::move(source));
  }
  Set* const wanted = set.get();
  owned_.push_back(std::move(set));
  wanted_.store(wanted, std::memory_order_release);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  while (seen_.load(std::memory_order_acquire) != wanted) {
    if (std::chrono::steady_clock::now() > deadline) {
      return absl::DeadlineExceededError(
          "the worker of the first stage made no pass within 2 s; it will switch to the new "
          "sources "
          "when it does");
    }
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  owned_.erase(owned_.begin(), owned_.end() - 1);
  return absl::OkStatus();
}

std::vector<SourceCounters> SourceInlet::counters() const {
  std::vector<SourceCounters> counters;
  if (owned_.empty()) return counters;
  const uint64_t now = rte_rdtsc();
  for (const auto& source : *owned_.back()) counters.push_back(source->counters(now));
  return counters;
}

}  // namespace bfly::dataplane

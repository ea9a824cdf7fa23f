// SPDX-License-Identifier: Apache-2.0
#include "dataplane/traffic/source_inlet.h"

#include <rte_cycles.h>

#include <algorithm>
#include <chrono>
#include <utility>

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

absl::Status SourceInlet::Replace(const std::vector<SourceConfig>& sources, PassEpoch* worker,
                                  Retired& retired) {
  auto set = std::make_shared<Set>();
  const uint64_t start = rte_rdtsc();
  const double hz = static_cast<double>(rte_get_tsc_hz());
  for (const SourceConfig& config : sources) {
    std::shared_ptr<Source> source;
    if (config.id != 0 && owned_ != nullptr) {
      for (const auto& running : *owned_) {
        if (running->id() == config.id) source = running;
      }
    }
    if (source == nullptr) source = Source::Make(config, network_, start, hz);
    set->push_back(std::move(source));
  }
  wanted_.store(set.get(), std::memory_order_release);
  GracePeriod period;
  period.Ask(worker);
  if (owned_ != nullptr) retired.Add(period, std::move(owned_));
  owned_ = std::move(set);
  const bool taken_up = period.Wait(std::chrono::steady_clock::now() + std::chrono::seconds(2));
  retired.Collect();
  if (taken_up) return absl::OkStatus();
  return absl::DeadlineExceededError(
      "the worker of the first stage made no pass within 2 s; it will switch to the new sources "
      "when it does");
}

std::vector<SourceCounters> SourceInlet::counters() const {
  std::vector<SourceCounters> counters;
  if (owned_ == nullptr) return counters;
  const uint64_t now = rte_rdtsc();
  for (const auto& source : *owned_) counters.push_back(source->counters(now));
  return counters;
}

}  // namespace bfly::dataplane

// SPDX-License-Identifier: Apache-2.0
#include "dataplane/traffic/sources.h"

#include <rte_cycles.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "dataplane/core/tsc_hz.h"

namespace bfly::dataplane {

SourceInlet* Sources::AddInlet(RowRange rows, PassEpoch* worker) {
  inlets_.push_back(std::make_unique<SourceInlet>(routes_, rows, worker));
  return inlets_.back().get();
}

absl::Status Sources::Replace(const std::vector<SourceConfig>& sources, Retired& retired) {
  auto next = std::make_shared<Running>();
  std::vector<std::vector<std::shared_ptr<Source>>> of_inlet(inlets_.size());
  std::vector<uint64_t> ids;
  const uint64_t start = rte_rdtsc();
  const double hz = static_cast<double>(TscHz());
  for (const SourceConfig& config : sources) {
    auto& parts = next->parts.emplace_back();
    const auto same = std::find(ids_.begin(), ids_.end(), config.id);
    if (config.id != 0 && same != ids_.end()) {
      parts = running_->parts[static_cast<size_t>(same - ids_.begin())];
    } else {
      for (const auto& inlet : inlets_) {
        parts.push_back(Source::Make(config, network_, start, hz, inlet->rows()));
      }
    }
    for (size_t i = 0; i < parts.size(); ++i) {
      if (parts[i] != nullptr) of_inlet[i].push_back(parts[i]);
    }
    ids.push_back(config.id);
  }
  for (auto& of_one : of_inlet) next->of_inlet.emplace_back(std::move(of_one));
  GracePeriod period;
  for (size_t i = 0; i < inlets_.size(); ++i) {
    inlets_[i]->Publish(&next->of_inlet[i]);
    period.Ask(inlets_[i]->worker());
  }
  if (running_ != nullptr) retired.Add(period, std::move(running_));
  running_ = std::move(next);
  ids_ = std::move(ids);
  const bool taken_up = period.Wait(std::chrono::steady_clock::now() + kTakeUpTime);
  retired.Collect();
  if (taken_up) return absl::OkStatus();
  return NotTakenUp("it is of the first stage, and takes up the new sources when it does");
}

std::vector<SourceCounters> Sources::counters() const {
  std::vector<SourceCounters> counters;
  if (running_ == nullptr) return counters;
  for (const auto& parts : running_->parts) {
    SourceCounters sum{.id = ids_[counters.size()], .finished = true};
    for (const auto& part : parts) {
      if (part == nullptr) continue;
      const SourceCounters of_part = part->counters();
      sum.packets += of_part.packets;
      sum.bytes += of_part.bytes;
      sum.no_circuit += of_part.no_circuit;
      sum.seconds = std::max(sum.seconds, part->SecondsAt(rte_rdtsc()));
      sum.finished = sum.finished && of_part.finished;
    }
    counters.push_back(sum);
  }
  return counters;
}

}  // namespace bfly::dataplane

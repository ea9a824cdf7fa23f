// SPDX-License-Identifier: Apache-2.0
#include "dataplane/runtime/grace_period.h"

#include <algorithm>
#include <thread>

#include "absl/strings/str_cat.h"

namespace bfly::dataplane {

absl::Status NotTakenUp(absl::string_view consequence) {
  return absl::DeadlineExceededError(
      absl::StrCat("a worker made no pass within ", kTakeUpTime.count(), " s; ", consequence));
}

void GracePeriod::Ask(PassEpoch* worker) {
  std::erase_if(questions_, [&](const auto& question) { return question.first == worker; });
  questions_.emplace_back(worker, worker->Ask());
}

bool GracePeriod::over() const {
  return std::all_of(questions_.begin(), questions_.end(),
                     [](const auto& question) { return question.first->Reached(question.second); });
}

bool GracePeriod::Wait(std::chrono::steady_clock::time_point deadline) const {
  while (!over()) {
    if (std::chrono::steady_clock::now() > deadline) return over();
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  return true;
}

void Retired::Add(GracePeriod period, std::shared_ptr<const void> what) {
  things_.emplace_back(std::move(period), std::move(what));
}

void Retired::Collect() {
  std::erase_if(things_, [](const auto& thing) { return thing.first.over(); });
}

}  // namespace bfly::dataplane

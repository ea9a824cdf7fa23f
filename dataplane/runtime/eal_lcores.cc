// SPDX-License-Identifier: Apache-2.0
#include "dataplane/runtime/eal_lcores.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace bfly::dataplane {

EalLcores::EalLcores(const std::vector<Lcore>& lcores) : lcores_(lcores) {
  const auto start = [this](const Lcore& lcore, int number) {
    own_[lcore.number] = number;
    slots_[number] = {.cpu = lcore.cpu};
  };
  for (const Lcore& lcore : lcores_) {
    if (lcore.number < kMostWorkers) start(lcore, lcore.number);
  }
  int number = kMostWorkers;
  for (const Lcore& lcore : lcores_) {
    if (lcore.number < kMostWorkers) continue;
    do {
      if (--number < 0) return;
    } while (slots_.count(number) != 0);
    start(lcore, number);
  }
}

std::vector<EalLcores::Thread> EalLcores::threads() const {
  std::vector<Thread> threads;
  for (const auto& [number, slot] : slots_) threads.push_back({.number = number, .cpu = slot.cpu});
  return threads;
}

absl::StatusOr<EalLcores::Thread> EalLcores::Take(int lcore) {
  const auto wanted = std::find_if(lcores_.begin(), lcores_.end(),
                                   [lcore](const Lcore& l) { return l.number == lcore; });
  if (wanted == lcores_.end()) {
    return absl::InvalidArgumentError(absl::StrCat("there is no lcore ", lcore));
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto has = [lcore](const auto& entry) { return entry.second.taken == lcore; };
  if (std::any_of(slots_.begin(), slots_.end(), has)) {
    return absl::FailedPreconditionError("another fabric runs on it");
  }
  const auto take = [lcore, &wanted](int number, Slot& slot) {
    slot.taken = lcore;
    return Thread{.number = number, .cpu = wanted->cpu, .moves = slot.cpu != wanted->cpu};
  };
  if (const auto own = own_.find(lcore); own != own_.end()) {
    Slot& slot = slots_.at(own->second);
    if (slot.taken == kNobody) return take(own->second, slot);
  }
  for (auto it = slots_.rbegin(); it != slots_.rend(); ++it) {
    if (it->second.taken == kNobody) return take(it->first, it->second);
  }
  return absl::FailedPreconditionError(absl::StrCat("this process runs ", slots_.size(),
                                                    " workers already, and DPDK has room for ",
                                                    kMostWorkers));
}

void EalLcores::GiveBack(const Thread& thread) {
  const std::lock_guard<std::mutex> lock(mutex_);
  slots_.at(thread.number) = {.cpu = thread.cpu};
}

EalLcores& ProcessLcores() {
  static EalLcores lcores(Lcores());
  return lcores;
}

}  // namespace bfly::dataplane

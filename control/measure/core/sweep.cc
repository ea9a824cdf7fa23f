// SPDX-License-Identifier: Apache-2.0
#include "control/measure/core/sweep.h"

#include "absl/strings/str_cat.h"

namespace bfly::control {

absl::Status CheckTrials(uint64_t trials) {
  constexpr uint64_t kMaxTrials = 100'000;
  if (trials <= kMaxTrials) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the lists and seeds give ", trials,
                                                 " trials (allowed: 1 to ", kMaxTrials, ")"));
}

}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
#include "control/reproduce/seeds_text.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace bfly::control {

std::string SeedsInWords(const std::vector<uint64_t>& seeds) {
  const auto is_gap = [](uint64_t seed, uint64_t next) { return next != seed + 1; };
  if (seeds.size() > 2 && std::adjacent_find(seeds.begin(), seeds.end(), is_gap) == seeds.end()) {
    return absl::StrCat(seeds.front(), " to ", seeds.back());
  }
  return absl::StrJoin(seeds, ", ");
}

}  // namespace bfly::control

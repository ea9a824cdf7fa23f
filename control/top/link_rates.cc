// SPDX-License-Identifier: Apache-2.0
#include "control/top/link_rates.h"

#include <algorithm>

#include "absl/status/statusor.h"
#include "control/topology_file/quantity.h"

namespace bfly::control {
namespace {

bool Has(const std::vector<Range>& ranges, uint32_t number) {
  return ranges.empty() || std::any_of(ranges.begin(), ranges.end(), [number](const Range& range) {
           return range.first <= number && number <= range.last;
         });
}

}  // namespace

LinkRates::LinkRates(const v1::GetLinksResponse& links, uint32_t stages) : by_stage_(stages) {
  for (const v1::LinkGroup& group : links.links()) {
    const absl::StatusOr<uint64_t> rate = ParseRate(group.rate());
    if (!rate.ok() || *rate == 0) continue;
    Group added{.rows = {}, .ports = {}, .rate = *rate};
    std::vector<Range> of_stages;
    bool readable = true;
    for (const auto& [text, ranges] :
         {std::pair(&group.stages(), &of_stages), std::pair(&group.rows(), &added.rows),
          std::pair(&group.ports(), &added.ports)}) {
      if (text->empty()) continue;
      absl::StatusOr<std::vector<Range>> parsed = ParseRanges(*text);
      readable = readable && parsed.ok();
      if (parsed.ok()) *ranges = *std::move(parsed);
    }
    if (!readable) continue;
    any_ = true;
    for (uint32_t stage = 0; stage < stages; ++stage)
      if (Has(of_stages, stage)) by_stage_[stage].push_back(added);
  }
}

uint64_t LinkRates::Of(uint32_t stage, uint32_t row, uint32_t port) const {
  if (stage >= by_stage_.size()) return 0;
  for (const Group& group : by_stage_[stage])
    if (Has(group.rows, row) && Has(group.ports, port)) return group.rate;
  return 0;
}

}  // namespace bfly::control

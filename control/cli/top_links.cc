// SPDX-License-Identifier: Apache-2.0
#include "control/cli/top_links.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/strings/str_format.h"
#include "control/rates/counter_rates.h"
#include "control/top/number_text.h"

namespace bfly::control {

std::vector<std::string> TopLinks(const v1::Counters& now, const v1::Counters* before,
                                  bool every_link, uint32_t k) {
  std::optional<Counts> then;
  if (before != nullptr) then = CountsOf(*before, every_link);
  CounterRates rates(now, then ? &*then : nullptr);
  std::vector<std::pair<const v1::LinkCounters*, LinkRate>> links;
  for (const v1::LinkCounters& link : now.links()) {
    if (link.circuits() > 0 || link.packets() > 0) links.emplace_back(&link, rates.Of(link));
  }
  const auto fuller = [](const auto& a, const auto& b) {
    return std::make_tuple(a.first->circuits(), a.second.packets, a.first->packets()) >
           std::make_tuple(b.first->circuits(), b.second.packets, b.first->packets());
  };
  const size_t shown = std::min<size_t>(k, links.size());
  std::partial_sort(links.begin(), links.begin() + shown, links.end(), fuller);
  std::vector<std::string> lines;
  for (size_t i = 0; i < shown; ++i) {
    const v1::LinkCounters& link = *links[i].first;
    const LinkRate& rate = links[i].second;
    lines.push_back(absl::StrFormat(
        "s%u r%u p%u -> r%u: %u circuit%s, %s%s packets", link.stage(), link.row(), link.port(),
        link.next_row(), link.circuits(), link.circuits() == 1 ? "" : "s",
        rate.is_known ? Count(rate.packets) + " packets/s, " : "", Count(link.packets())));
  }
  return lines;
}

}  // namespace bfly::control

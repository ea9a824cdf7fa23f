// SPDX-License-Identifier: Apache-2.0
#include "control/exporter/steady_counts.h"

#include <algorithm>
#include <tuple>
#include <vector>

namespace bfly::control {
namespace {

using Place = std::tuple<uint32_t, uint32_t, uint32_t>;
Place PlaceOf(const v1::LinkCounters& link) { return {link.stage(), link.row(), link.port()}; }

void KeepBusy(const v1::Counters& before, v1::Counters& now) {
  std::vector<const v1::LinkCounters*> last;
  for (const v1::LinkCounters& link : before.links()) {
    if (link.busy_ns() > 0) last.push_back(&link);
  }
  const auto comes_first = [](const auto* a, const auto* b) { return PlaceOf(*a) < PlaceOf(*b); };
  if (!std::is_sorted(last.begin(), last.end(), comes_first))
    std::sort(last.begin(), last.end(), comes_first);
  for (v1::LinkCounters& link : *now.mutable_links()) {
    const auto found = std::lower_bound(last.begin(), last.end(), &link, comes_first);
    if (found == last.end() || PlaceOf(**found) != PlaceOf(link)) continue;
    // With fewer packets, or after more than a small fall, its data plane began anew.
    if (link.packets() < (*found)->packets() || link.busy_ns() < (*found)->busy_ns() / 2) continue;
    link.set_busy_ns(std::max(link.busy_ns(), (*found)->busy_ns()));
  }
}

}  // namespace

void KeepFromFalling(const Scrape& before, Scrape& now) {
  const bool same_fabric =
      before.fabric.loaded() && now.fabric.loaded() && before.fabric.name() == now.fabric.name();
  if (!same_fabric) return;
  KeepBusy(before.counters, now.counters);
}

}  // namespace bfly::control

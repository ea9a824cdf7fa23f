// SPDX-License-Identifier: Apache-2.0
#include "control/cli/top_links.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "absl/strings/str_format.h"
#include "control/top/number_text.h"

namespace bfly::control {
namespace {

using LinkKey = std::tuple<uint32_t, uint32_t, uint32_t>;

std::map<LinkKey, uint64_t> PacketsOf(const v1::Counters& counters) {
  std::map<LinkKey, uint64_t> packets;
  for (const v1::LinkCounters& link : counters.links())
    packets[{link.stage(), link.row(), link.port()}] = link.packets();
  return packets;
}

// The packets a second of a link since the picture `before`; a link that is not in that picture had
// carried none.
double PacketRate(const v1::LinkCounters& link, const std::map<LinkKey, uint64_t>& before,
                  double seconds) {
  if (seconds <= 0) return 0;
  const auto found = before.find({link.stage(), link.row(), link.port()});
  const uint64_t then = found == before.end() ? 0 : found->second;
  return link.packets() > then ? (link.packets() - then) / seconds : 0;
}

double Seconds(const v1::Counters& now, const v1::Counters* before) {
  return before == nullptr ? 0 : (now.monotonic_ns() - before->monotonic_ns()) / 1e9;
}

}  // namespace

std::vector<std::string> TopLinks(const v1::Counters& now, const v1::Counters* before, uint32_t k) {
  const auto then = before ? PacketsOf(*before) : std::map<LinkKey, uint64_t>();
  const double seconds = Seconds(now, before);
  std::vector<std::pair<const v1::LinkCounters*, double>> links;
  for (const v1::LinkCounters& link : now.links()) {
    const double rate = PacketRate(link, then, seconds);
    if (link.circuits() > 0 || link.packets() > 0) links.emplace_back(&link, rate);
  }
  const auto fuller = [](const auto& a, const auto& b) {
    return std::make_tuple(a.first->circuits(), a.second, a.first->packets()) >
           std::make_tuple(b.first->circuits(), b.second, b.first->packets());
  };
  const size_t shown = std::min<size_t>(k, links.size());
  std::partial_sort(links.begin(), links.begin() + shown, links.end(), fuller);
  std::vector<std::string> lines;
  for (size_t i = 0; i < shown; ++i) {
    const v1::LinkCounters& link = *links[i].first;
    lines.push_back(absl::StrFormat("s%u r%u p%u -> r%u: %u circuit%s, %s packets/s, %s packets",
                                    link.stage(), link.row(), link.port(), link.next_row(),
                                    link.circuits(), link.circuits() == 1 ? "" : "s",
                                    Count(links[i].second), Count(link.packets())));
  }
  return lines;
}

}  // namespace bfly::control

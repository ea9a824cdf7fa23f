// SPDX-License-Identifier: Apache-2.0
// The links: what each carries beside its rate, what waits, what was dropped.
#include <algorithm>
#include <cstddef>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "control/top/number_text.h"
#include "control/top/table.h"
#include "control/top/view.h"
#include "control/topology_file/quantity.h"

namespace bfly::control {
namespace {

// Whether link `a` stands above link `b`. Equal links stand by their place.
bool StandsAbove(const std::string& sort, const LinkSample& a, const LinkSample& b) {
  const auto key = [&sort](const LinkSample& link) -> std::tuple<double, double> {
    if (sort == "packets") return {link.packets_per_second, link.packets};
    if (sort == "queue") return {link.queued, link.peak};
    if (sort == "drops") return {link.drops_per_second, link.dropped};
    if (sort == "circuits") return {link.circuits, link.packets_per_second};
    if (sort == "place") return {0, 0};
    return {link.heat, link.packets_per_second};
  };
  const auto place = [](const LinkSample& link) {
    return std::make_tuple(link.stage, link.row, link.port);
  };
  return key(a) != key(b) ? key(a) > key(b) : place(a) < place(b);
}

}  // namespace

ViewPage DrawLinks(const Sample& sample, const ViewState& state, const Canvas& canvas) {
  std::vector<const LinkSample*> links;
  for (const LinkSample& link : sample.links)
    if (!state.stage || link.stage == *state.stage) links.push_back(&link);
  const std::string sort = Views()[1].sorts.at(state.sort);
  const size_t shown = std::min(links.size(), kMostRows);
  std::partial_sort(
      links.begin(), links.begin() + static_cast<std::ptrdiff_t>(shown), links.end(),
      [&sort](const LinkSample* a, const LinkSample* b) { return StandsAbove(sort, *a, *b); });
  std::vector<Column> columns = {{"link", 12, true}, {"to", 6, true}, {"pkts/s", 6}, {"bits/s", 6},
                                 {"rate", 7},        {"busy", 6},     {"queued", 6}, {"peak", 5},
                                 {"drop/s", 6},      {"drops", 6},    {"circ", 4}};
  const bool wide = canvas.columns >= 106;
  if (wide) {
    columns.push_back({"packets", 12});
    columns.push_back({"bytes", 12});
  }
  const Table table(columns);
  ViewPage page;
  page.head.push_back(table.Heading());
  for (size_t i = 0; i < shown; ++i) {
    const LinkSample& link = *links[i];
    std::vector<std::string> values = {
        absl::StrCat("s", link.stage, " r", link.row, " p", link.port),
        absl::StrCat("r", link.next_row),
        Count(link.packets_per_second),
        Count(link.bits_per_second),
        link.rate > 0 ? FormatRate(link.rate) : "none",
        Percent(link.utilisation),
        Count(link.queued),
        Count(link.peak),
        Count(link.drops_per_second),
        Count(static_cast<double>(link.dropped)),
        absl::StrCat(link.circuits)};
    if (wide) {
      values.push_back(absl::StrCat(link.packets));
      values.push_back(absl::StrCat(link.bytes));
    }
    page.rows.push_back({.line = table.Row(values), .stage = link.stage});
  }
  if (links.empty())
    page.foot.push_back(PlainLine("no link has a circuit or ever carried a packet"));
  if (shown < links.size())
    page.foot.push_back(PlainLine(absl::StrCat(links.size() - shown, " more links")));
  NoteMissingLinks(sample, page);
  return page;
}

}  // namespace bfly::control

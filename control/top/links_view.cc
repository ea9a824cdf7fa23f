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

// Together with the other columns just 80.
constexpr uint32_t kRateColumns = 7;
// The columns of the table with every count of packets and bytes to the last digit.
constexpr uint32_t kWideColumns = 122;

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

// "100Mbps" where it fits into its column, else as in the column bit/s: "12.5G".
std::string ShortRate(uint64_t rate) {
  const std::string exact = FormatRate(rate);
  return exact.size() <= kRateColumns ? exact : Count(static_cast<double>(rate));
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
  std::vector<Column> columns = {
      {"link", 15, true},     {"to", 8, true}, {"pkt/s", 5}, {"bit/s", 5},
      {"rate", kRateColumns}, {"busy", 6},     {"queue", 5}, {"peak", 5},
      {"drp/s", 5},           {"drops", 5},    {"circ", 4}};
  const bool wide = canvas.columns >= kWideColumns;
  if (wide) {
    columns.push_back({"packets", 20});
    columns.push_back({"bytes", 20});
  }
  const Table table(columns, canvas);
  ViewPage page;
  page.head.push_back(table.Heading());
  for (size_t i = 0; i < shown; ++i) {
    const LinkSample& link = *links[i];
    std::vector<std::string> values = {
        absl::StrCat("s", link.stage, " r", link.row, " p", link.port),
        absl::StrCat("r", link.next_row),
        Count(link.packets_per_second),
        Count(link.bits_per_second),
        link.rate > 0 ? ShortRate(link.rate) : "none",
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

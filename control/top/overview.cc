// SPDX-License-Identifier: Apache-2.0
// The overview: a line for each stage with its load, its hottest link, and its links as a strip of
// heat. Zoomed into a stage: the strip of its links over many lines.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "control/top/number_text.h"
#include "control/top/shade.h"
#include "control/top/table.h"
#include "control/top/view.h"

namespace bfly::control {
namespace {

std::string LoadOf(const LinkSample& link) {
  return link.rate > 0 ? Percent(link.utilisation) : Count(link.packets_per_second) + "/s";
}

Line HeatLegend(const Sample& sample, const Canvas& canvas) {
  Line legend = {Span{"links ", Ink::kDim}};
  for (Span& span : ShadeScale(canvas)) legend.push_back(std::move(span));
  std::string upto = sample.has_rates ? " up to 100% of a link's rate" : "";
  if (!sample.has_rates || sample.busiest > 0) {
    absl::StrAppend(&upto, sample.has_rates ? ", or " : " up to ", Count(sample.busiest),
                    sample.has_rates ? " packets/s without one" : " packets/s");
  }
  legend.push_back({upto, Ink::kDim});
  return legend;
}

void AddDrops(const Sample& sample, ViewPage& page) {
  std::string reasons;
  for (const v1::DropCount& drop : sample.drops) {
    if (drop.packets() == 0) continue;
    absl::StrAppend(&reasons, reasons.empty() ? "dropped: " : ", ", Printable(drop.reason()), " ",
                    Count(static_cast<double>(drop.packets())));
  }
  if (!reasons.empty()) page.foot.push_back(PlainLine(reasons));
}

// The shown rows with the numbers `first` to `last` as text.
std::string RowsText(const Sample& sample, uint32_t first, uint32_t last) {
  const auto number = [&sample](uint32_t i) {
    return sample.part.rows.empty() ? i : sample.part.rows[i];
  };
  if (first == last) return absl::StrCat(number(first));
  return absl::StrCat(number(first), "-", number(last));
}

ViewPage DrawStage(const Sample& sample, uint32_t stage, const Canvas& canvas) {
  ViewPage page;
  constexpr uint32_t kLabel = 16;
  page.head.push_back(
      {Span{absl::StrCat("stage ", stage, ": every link by row and port"), Ink::kBold}});
  const std::vector<float> heat = HeatOf(sample, stage);
  const uint32_t ports = sample.shown_ports();
  const uint32_t room = canvas.columns > kLabel + 8 ? canvas.columns - kLabel : 8;
  // Whole rows stand in a line, a power of two of them, so that their numbers are easy to count.
  uint32_t rows_in_line = 1;
  while (2 * rows_in_line * ports <= room && rows_in_line < sample.shown_rows()) rows_in_line *= 2;
  const uint32_t rows = sample.shown_rows();
  for (uint32_t first = 0; first < rows; first += rows_in_line) {
    const uint32_t end = std::min(rows, first + rows_in_line);
    ViewRow row{.line = PlainLine(
                    Fitted("r" + RowsText(sample, first, end - 1), kLabel, true, canvas.utf8)),
                .stage = stage};
    const std::vector<float> part(heat.begin() + size_t{first} * ports,
                                  heat.begin() + size_t{end} * ports);
    for (Span& span : HeatStrip(part, room, 1, canvas)) row.line.push_back(std::move(span));
    page.rows.push_back(std::move(row));
  }
  page.foot.push_back(HeatLegend(sample, canvas));
  NoteMissingLinks(sample, page);
  return page;
}

}  // namespace

ViewPage DrawOverview(const Sample& sample, const ViewState& state, const Canvas& canvas) {
  if (state.stage) return DrawStage(sample, *state.stage, canvas);
  const Table table({{"stage", 5},
                     {"pkts/s", 6},
                     {"bits/s", 6},
                     {"hottest", 9, true},
                     {"load", 7},
                     {"queued", 6},
                     {"drop/s", 6},
                     {"circ", 4}},
                    canvas);
  ViewPage page;
  page.head.push_back(table.Heading());
  const uint32_t taken = Width(page.head.front()) + 2;
  page.head.front().push_back({"  links", Ink::kBold});
  const uint32_t room = canvas.columns > taken + 8 ? canvas.columns - taken : 8;
  for (const StageSample& stage : sample.by_stage) {
    std::string hottest = "-", load = "-";
    if (stage.hottest && sample.links[*stage.hottest].packets > 0) {
      const LinkSample& link = sample.links[*stage.hottest];
      hottest = absl::StrCat("r", link.row, " p", link.port);
      load = LoadOf(link);
    }
    ViewRow row{.line = table.Row({absl::StrCat(stage.stage), Count(stage.packets_per_second),
                                   Count(stage.bits_per_second), hottest, load,
                                   Count(static_cast<double>(stage.queued)),
                                   Count(stage.drops_per_second), absl::StrCat(stage.circuits)}),
                .stage = stage.stage};
    row.line.push_back({"  ", Ink::kPlain});
    for (Span& span : HeatStrip(HeatOf(sample, stage.stage), room, 1, canvas))
      row.line.push_back(std::move(span));
    page.rows.push_back(std::move(row));
  }
  page.foot.push_back(HeatLegend(sample, canvas));
  AddDrops(sample, page);
  NoteMissingLinks(sample, page);
  return page;
}

}  // namespace bfly::control

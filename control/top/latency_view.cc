// SPDX-License-Identifier: Apache-2.0
// The latencies of packets, end to end and by stage, and the sources that send them.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "control/top/number_text.h"
#include "control/top/table.h"
#include "control/top/view.h"

namespace bfly::control {
namespace {

std::vector<std::string> Figures(const std::string& of, const v1::LatencySummary& latency) {
  std::vector<std::string> values = {of, Count(static_cast<double>(latency.count()))};
  for (const double figure : {latency.mean(), latency.p50(), latency.p90(), latency.p99(),
                              latency.p999(), latency.max()}) {
    values.push_back(latency.count() > 0 ? Nanoseconds(figure) : "-");
  }
  return values;
}

}  // namespace

ViewPage DrawLatency(const Sample& sample, const ViewState&, const Canvas& canvas) {
  ViewPage page;
  const Table table({{"latency of", 12, true},
                     {"packets", 7},
                     {"mean", 7},
                     {"p50", 7},
                     {"p90", 7},
                     {"p99", 7},
                     {"p99.9", 7},
                     {"max", 7}},
                    canvas);
  const v1::LatencyReport& report = sample.latency;
  page.head.push_back(table.Heading());
  const auto add = [&page, &table](const std::string& of, const v1::LatencySummary& latency,
                                   std::optional<uint32_t> stage) {
    page.rows.push_back({.line = table.Row(Figures(of, latency)), .stage = stage});
  };
  if (report.recording() || report.end_to_end().count() > 0) {
    add("end to end", report.end_to_end(), {});
    add("links", report.links(), {});
    add("late workers", report.late(), {});
    for (const v1::StageLatency& stage : report.stages())
      add(absl::StrCat("stage ", stage.stage()), stage.latency(), stage.stage());
  } else if (sample.traffic_known) {
    page.foot.push_back(
        PlainLine("no latencies: a source records them if it is started with --latency"));
  }
  const size_t most = std::min<size_t>(sample.sources.size(), kMostRows);
  if (most > 0) page.rows.push_back({.line = PlainLine(""), .stage = {}});
  for (size_t i = 0; i < most; ++i) {
    const v1::TrafficSourceStatus& status = sample.sources[i];
    const v1::TrafficSource& source = status.source();
    page.rows.push_back(
        {.line = PlainLine(absl::StrCat(
             "source ", source.name().empty() ? "without a name" : Printable(source.name()),
             ", rows ", source.rows().empty() ? "all" : Printable(source.rows()), ": ",
             Count(static_cast<double>(status.packets())), " packets sent",
             status.finished() ? ", finished" : "")),
         .stage = {}});
  }
  return page;
}

}  // namespace bfly::control

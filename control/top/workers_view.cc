// SPDX-License-Identifier: Apache-2.0
// The workers: how busy each is, what a hop costs it, and how far it fell behind.
#include <algorithm>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "control/top/number_text.h"
#include "control/top/table.h"
#include "control/top/view.h"

namespace bfly::control {
namespace {

constexpr uint32_t kRowsColumns = 9;

std::string RowsCell(const WorkerSample& worker) {
  if (worker.stages.empty()) return "-";
  return worker.placed.empty() ? worker.rows : "differ";
}

// What the table has no room for.
std::string More(const WorkerSample& worker) {
  std::string text = worker.placed;
  if (text.empty() && Width(worker.rows) > kRowsColumns) text = "rows " + worker.rows;
  const char* between = text.empty() ? "cycles a hop: " : "; cycles a hop: ";
  for (const v1::StageCost& cost : worker.costs) {
    absl::StrAppend(&text, between, "s", cost.first_stage());
    between = ", ";
    if (cost.stages() > 1) absl::StrAppend(&text, "-", cost.first_stage() + cost.stages() - 1);
    absl::StrAppendFormat(&text, " %.1f", cost.cycles_per_hop());
  }
  if (worker.ring_capacity > 0) {
    absl::StrAppend(&text, text.empty() ? "" : "; ", "fullest ring ", worker.ring, " of ",
                    worker.ring_capacity, ", peak ", worker.ring_peak);
  }
  if (worker.empty_polls)
    absl::StrAppend(&text, text.empty() ? "" : "; ", Percent(worker.empty_polls),
                    " of polls empty");
  return text;
}

}  // namespace

ViewPage DrawWorkers(const Sample& sample, const ViewState& state, const Canvas& canvas) {
  std::vector<const WorkerSample*> workers;
  for (const WorkerSample& worker : sample.workers) workers.push_back(&worker);
  const std::string sort = Views()[2].sorts.at(state.sort);
  const auto key = [&sort](const WorkerSample& worker) {
    if (sort == "busy") return worker.busy.value_or(0);
    if (sort == "behind") return worker.late.p99_us();
    return 0.0;
  };
  std::stable_sort(
      workers.begin(), workers.end(),
      [&key](const WorkerSample* a, const WorkerSample* b) { return key(*a) > key(*b); });
  const Table table({{"plane", 7, true},
                     {"lcore", 5},
                     {"stages", 7, true},
                     {"rows", kRowsColumns, true},
                     {"busy", 6},
                     {"idle", 6},
                     {"frames/s", 8},
                     {"cyc/hop", 7},
                     {"late p99", 8},
                     {"late max", 8}},
                    canvas);
  ViewPage page;
  page.head.push_back(table.Heading());
  for (const WorkerSample* const worker : workers) {
    const bool timed = worker->late.packets() > 0;
    const std::optional<double> idle =
        worker->busy ? std::optional(1 - *worker->busy) : std::nullopt;
    page.rows.push_back(
        {.line = table.Row({worker->data_plane, absl::StrCat(worker->lcore),
                            worker->stages.empty() ? "-" : worker->stages, RowsCell(*worker),
                            Percent(worker->busy), Percent(idle), Count(worker->frames_per_second),
                            absl::StrFormat("%.1f", worker->cycles_per_hop),
                            timed ? Nanoseconds(1000 * worker->late.p99_us()) : "-",
                            timed ? Nanoseconds(1000 * worker->late.max_us()) : "-"}),
         .stage = {}});
    if (const std::string more = More(*worker); !more.empty())
      page.rows.push_back({.line = {Span{"  " + more, Ink::kDim}}, .stage = {}});
  }
  page.foot.push_back(
      {Span{"late: how long after its time a packet left a link that takes time", Ink::kDim}});
  return page;
}

}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
// The circuits, and how many requests were refused.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "control/top/number_text.h"
#include "control/top/table.h"
#include "control/top/view.h"

namespace bfly::control {
namespace {

// The other columns of the table take kBeforeRows columns of the canvas, and the rows get the rest.
constexpr uint32_t kBeforeRows = 50;
constexpr uint32_t kFewestForRows = 30;

// The first rows of a path that fit, whole, and a mark if others follow.
std::string FirstRows(const v1::Circuit& circuit, uint32_t columns, bool utf8) {
  std::string text = absl::StrJoin(circuit.rows(), " ");
  if (text.size() <= columns) return text;
  text.resize(text.rfind(' ', columns - 2));
  return text + (utf8 ? " \u2026" : " >");
}

}  // namespace

ViewPage DrawCircuits(const Sample& sample, const ViewState& state, const Canvas& canvas) {
  std::vector<const v1::Circuit*> circuits;
  for (const v1::Circuit& circuit : sample.circuits) circuits.push_back(&circuit);
  const std::string sort = Views()[4].sorts.at(state.sort);
  const auto key = [&sort](const v1::Circuit& circuit) -> uint64_t {
    if (sort == "input") return circuit.input();
    if (sort == "output") return circuit.output();
    if (sort == "number") return circuit.id();
    // Broken circuits stand first, then those with the fullest links.
    return circuit.broken_size() > 0 ? 0 : UINT64_MAX - circuit.congestion();
  };
  std::stable_sort(
      circuits.begin(), circuits.end(),
      [&key](const v1::Circuit* a, const v1::Circuit* b) { return key(*a) < key(*b); });
  const v1::CircuitCounters& counts = sample.circuit_counts;
  ViewPage page;
  page.head.push_back(PlainLine(absl::StrFormat(
      "%u stand, %u broken; %u asked, %u blocked (%.3g%%)", counts.standing(), counts.broken(),
      counts.asked(), counts.blocked(), 100 * counts.blocking_ratio())));
  const uint32_t for_rows = std::max(kBeforeRows + kFewestForRows, canvas.columns) - kBeforeRows;
  const Table table({{"circuit", 8},
                     {"input", 6},
                     {"output", 6},
                     {"path", 8, true},
                     {"congestion", 10},
                     {"state", 6, true},
                     {"rows", for_rows, true}},
                    canvas);
  page.head.push_back(table.Heading());
  for (const v1::Circuit* const circuit : circuits) {
    const bool broken = circuit->broken_size() > 0;
    Line line = table.Row({absl::StrCat(circuit->id()), absl::StrCat(circuit->input()),
                           absl::StrCat(circuit->output()), Printable(circuit->choice()),
                           absl::StrCat(circuit->congestion()), broken ? "BROKEN" : "whole",
                           FirstRows(*circuit, for_rows, canvas.utf8)});
    if (broken) line.front().ink = Ink::kBad;
    page.rows.push_back({.line = std::move(line), .stage = {}});
  }
  if (sample.circuits_total > sample.circuits.size()) {
    page.foot.push_back(
        PlainLine(absl::StrCat(sample.circuits_total - sample.circuits.size(), " more circuits")));
  }
  return page;
}

}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
// A view turns a sample into lines. Each view has one file and one line in views.cc.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "control/top/line.h"
#include "control/top/sample.h"

namespace bfly::control {

struct ViewState {
  size_t sort = 0;                // of View::sorts
  std::optional<uint32_t> stage;  // only this stage
};

struct ViewRow {
  Line line;
  std::optional<uint32_t> stage;  // that Enter zooms into
};

// What a view shows. Head and foot stand still, the rows scroll between them.
struct ViewPage {
  std::vector<Line> head;
  std::vector<ViewRow> rows;
  std::vector<Line> foot;
};

struct View {
  const char* name;
  // What `s` sorts by, the first one at the start. Empty: the view has one order.
  std::vector<const char*> sorts;
  // `canvas.lines` is the room for head, rows and foot.
  ViewPage (*draw)(const Sample& sample, const ViewState& state, const Canvas& canvas);
};

// In the order of the keys 1 to 7.
const std::vector<View>& Views();
// Null if there is no such view.
const View* FindView(const std::string& name);

// A list has at most this many rows; its foot says how many are left out.
inline constexpr size_t kMostRows = 1000;

ViewPage DrawOverview(const Sample& sample, const ViewState& state, const Canvas& canvas);
ViewPage DrawLinks(const Sample& sample, const ViewState& state, const Canvas& canvas);
ViewPage DrawWorkers(const Sample& sample, const ViewState& state, const Canvas& canvas);
ViewPage DrawPorts(const Sample& sample, const ViewState& state, const Canvas& canvas);
ViewPage DrawCircuits(const Sample& sample, const ViewState& state, const Canvas& canvas);
ViewPage DrawLatency(const Sample& sample, const ViewState& state, const Canvas& canvas);
ViewPage DrawDrawing(const Sample& sample, const ViewState& state, const Canvas& canvas);

// Says that only the busiest links of a large network are known. Adds nothing elsewhere.
void NoteMissingLinks(const Sample& sample, ViewPage& page);

}  // namespace bfly::control

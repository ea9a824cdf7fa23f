// SPDX-License-Identifier: Apache-2.0
#include "control/top/drawing.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "control/top/number_text.h"
#include "control/top/shade.h"
#include "control/top/view.h"
#include "control/topology_file/ranges.h"

namespace bfly::control {
namespace {

// More links would not fit on any terminal.
constexpr size_t kMostLinksDrawn = 400'000;

std::string Digit(uint32_t circuits, bool utf8) {
  if (circuits == 0) return ShadeGlyph(-1, utf8);
  if (circuits > 9) return "+";
  return absl::StrCat(circuits);
}

// Draws the number of circuits of one link on a background that says how busy it is. A wide cell
// takes three columns (colour) or two (shade characters), a narrow cell takes one.
Span LinkCell(const LinkFigures& load, double busiest, const Canvas& canvas, bool wide) {
  const int shade = Shade(load.rate, busiest);
  const std::string digit = Digit(load.circuits, canvas.utf8);
  if (canvas.colour) {
    const std::string text = wide ? " " + digit + " " : digit;
    if (shade >= 0) return {text, InkOfShade(shade)};
    return {text, load.circuits == 0 ? Ink::kDim : Ink::kPlain};
  }
  if (!wide) return {shade >= 0 && load.circuits == 0 ? ShadeGlyph(shade, canvas.utf8) : digit};
  return {digit + (shade >= 0 ? ShadeGlyph(shade, canvas.utf8) : " ")};
}

LinkFigures Fullest(const CongestionField& field, uint32_t stage, uint32_t first_row,
                    uint32_t count, uint32_t port) {
  LinkFigures fullest;
  for (uint32_t row = first_row; row < std::min(first_row + count, field.rows); ++row) {
    const LinkFigures& load = field.at(stage, row, port);
    fullest.circuits = std::max(fullest.circuits, load.circuits);
    fullest.rate = std::max(fullest.rate, load.rate);
  }
  return fullest;
}

// "port 0 and port 1", "port 3" or "ports 0-2,5".
std::string DrawnPorts(const CongestionField& field) {
  if (field.ports == 1) return absl::StrCat("port ", field.port_number(0));
  if (field.ports == 2)
    return absl::StrCat("port ", field.port_number(0), " and port ", field.port_number(1));
  std::vector<uint32_t> numbers;
  for (uint32_t i = 0; i < field.ports; ++i) numbers.push_back(field.port_number(i));
  return absl::StrCat("ports ", FormatRanges(numbers));
}

Line DrawingLegend(const Canvas& canvas, double busiest, const std::string& left_out,
                   const std::string& drawn) {
  const std::string what = absl::StrCat("circuits on ", drawn, "; ");
  for (const std::string& before : {left_out + what, left_out, std::string()}) {
    Line legend = PlainLine(before + "packets/s ");
    for (Span& span : ShadeScale(canvas)) legend.push_back(std::move(span));
    legend.push_back({" up to " + Count(busiest)});
    if (Width(legend) <= canvas.columns) return legend;
  }
  return PlainLine("");
}

std::string GroupName(const CongestionField& field, uint32_t first, uint32_t group) {
  const uint32_t last = std::min(first + group, field.rows) - 1;
  if (group == 1) return absl::StrCat(field.row_number(first));
  return absl::StrCat(field.row_number(first), "-", field.row_number(last));
}

}  // namespace

CongestionField MakeField(const Sample& sample) {
  CongestionField field{.rows = sample.shown_rows(),
                        .stages = sample.part.stages.empty()
                                      ? sample.stages
                                      : static_cast<uint32_t>(sample.part.stages.size()),
                        .part = sample.part,
                        .ports = sample.shown_ports(),
                        .links = {}};
  field.links.resize(static_cast<size_t>(field.rows) * field.stages * field.ports);
  for (const LinkSample& link : sample.links) {
    const std::optional<uint32_t> stage = PlaceIn(sample.part.stages, link.stage);
    const std::optional<uint32_t> row = PlaceIn(sample.part.rows, link.row);
    const std::optional<uint32_t> port = PlaceIn(sample.part.ports, link.port);
    if (!stage || !row || !port) continue;
    field.at(*stage, *row, *port) = {.circuits = link.circuits, .rate = link.packets_per_second};
  }
  return field;
}

std::vector<Line> DrawCongestion(const CongestionField& field, const Canvas& canvas) {
  const uint32_t room = std::max(1u, canvas.lines > 2 ? canvas.lines - 2 : 1);
  uint32_t group = 1;
  while ((field.rows + group - 1) / group > room) group *= 2;
  uint32_t label = 3;
  for (uint32_t row = 0; row < field.rows; row += group) {
    label = std::max(label, static_cast<uint32_t>(GroupName(field, row, group).size()));
  }

  // Picks the widest cells with which every stage fits. If none do, picks the narrowest cells and
  // draws as many stages as fit.
  const uint32_t wide = (canvas.colour ? 3 : 2) * field.ports + 1;
  const uint32_t narrow = field.ports + 1;
  const uint32_t space = canvas.columns > label + 1 ? canvas.columns - label - 1 : 0;
  const bool is_wide = wide * field.stages <= space;
  const uint32_t cell = is_wide ? wide : narrow;
  const uint32_t stages = std::min(field.stages, space / cell);

  double busiest = 0;
  for (const LinkFigures& load : field.links) busiest = std::max(busiest, load.rate);

  std::vector<Line> lines;
  std::string heading = absl::StrFormat("%*s ", label, "row");
  for (uint32_t stage = 0; stage < stages; ++stage) {
    // Headings of narrow cells have room for two digits.
    const uint32_t number = field.stage_number(stage);
    const std::string name = is_wide ? absl::StrCat("s", number) : absl::StrCat(number % 100);
    absl::StrAppend(&heading, absl::StrFormat("%-*s", cell, name));
  }
  lines.push_back({Span{heading, Ink::kBold}});
  for (uint32_t row = 0; row < field.rows; row += group) {
    Line line = PlainLine(absl::StrFormat("%*s ", label, GroupName(field, row, group)));
    for (uint32_t stage = 0; stage < stages; ++stage) {
      for (uint32_t port = 0; port < field.ports; ++port)
        Append(LinkCell(Fullest(field, stage, row, group, port), busiest, canvas, is_wide), line);
      Append({" ", Ink::kPlain}, line);
    }
    lines.push_back(line);
  }
  const std::string left_out =
      stages == field.stages
          ? ""
          : absl::StrCat("stages ", field.stage_number(stages), "-",
                         field.stage_number(field.stages - 1), " need a wider terminal; ");
  const std::string drawn = group > 1 ? "the fullest link of each group" : DrawnPorts(field);
  lines.push_back(DrawingLegend(canvas, busiest, left_out, drawn));
  return lines;
}

ViewPage DrawDrawing(const Sample& sample, const ViewState& state, const Canvas& canvas) {
  Sample shown = sample;
  if (state.stage) shown.part.stages = {*state.stage};
  ViewPage page;
  const size_t stages = shown.part.stages.empty() ? shown.stages : shown.part.stages.size();
  if (stages * shown.shown_rows() * shown.shown_ports() > kMostLinksDrawn) {
    page.head.push_back(
        PlainLine("too many links to draw each: zoom into a stage, or start with --rows"));
  } else {
    std::vector<Line> lines = DrawCongestion(MakeField(shown), canvas);
    page.foot.push_back(std::move(lines.back()));
    lines.pop_back();
    page.head = std::move(lines);
  }
  NoteMissingLinks(sample, page);
  return page;
}

}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
#include "control/cli/picture.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "control/cli/text.h"

namespace bfly::control {
namespace {

// Five shades from "some" to "the busiest", in xterm's 256 colours or as characters.
constexpr int kShades = 5;
constexpr int kColours[kShades] = {23, 29, 100, 130, 124};
constexpr const char* kGlyphs[kShades] = {"\u2581", "\u2582", "\u2584", "\u2586", "\u2588"};

int Shade(double rate, double busiest) {
  if (rate <= 0 || busiest <= 0) return -1;
  return std::clamp(static_cast<int>(std::ceil(rate / busiest * kShades)) - 1, 0, kShades - 1);
}

std::string Digit(uint32_t circuits) {
  if (circuits == 0) return "\u00b7";
  if (circuits > 9) return "+";
  return absl::StrCat(circuits);
}

// Draws the number of circuits of one link on a background that says how busy it is. A wide cell
// takes three columns (colour) or two (shade characters), a narrow cell takes one.
std::string Link(const LinkFigures& load, double busiest, bool colour, bool wide) {
  const int shade = Shade(load.rate, busiest);
  const std::string digit = Digit(load.circuits);
  if (colour) {
    const std::string text = wide ? " " + digit + " " : digit;
    if (shade >= 0) return absl::StrCat("\x1b[97;48;5;", kColours[shade], "m", text, "\x1b[0m");
    return load.circuits == 0 ? absl::StrCat("\x1b[90m", text, "\x1b[0m") : text;
  }
  if (!wide) return shade >= 0 && load.circuits == 0 ? kGlyphs[shade] : digit;
  return digit + (shade >= 0 ? kGlyphs[shade] : " ");
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

std::string Legend(const Canvas& canvas, double busiest, const std::string& left_out, bool grouped,
                   uint32_t ports) {
  const std::string rates =
      absl::StrCat("packets/s ", ShadeScale(canvas.colour), " up to ", Count(busiest));
  const std::string what = grouped      ? "circuits on the fullest link of each group; "
                           : ports == 2 ? "circuits on port 0 and port 1; "
                                        : absl::StrCat("circuits on ports 0 to ", ports - 1, "; ");
  for (const std::string& legend : {left_out + what + rates, left_out + rates, rates})
    if (Width(legend) <= canvas.columns) return legend;
  return "";
}

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

std::vector<uint32_t> Below(std::vector<uint32_t> numbers, uint32_t end) {
  std::erase_if(numbers, [end](uint32_t number) { return number >= end; });
  return numbers;
}

// The place at which stage or row `number` is drawn: its own number if nothing was `asked` for,
// since then all are drawn.
std::optional<uint32_t> PlaceIn(const std::vector<uint32_t>& asked,
                                const std::vector<uint32_t>& drawn, uint32_t number) {
  if (asked.empty()) return number;
  const auto found = std::lower_bound(drawn.begin(), drawn.end(), number);
  if (found == drawn.end() || *found != number) return std::nullopt;
  return static_cast<uint32_t>(found - drawn.begin());
}

std::string GroupName(const CongestionField& field, uint32_t first, uint32_t group) {
  const uint32_t last = std::min(first + group, field.rows) - 1;
  if (group == 1) return absl::StrCat(field.row_number(first));
  return absl::StrCat(field.row_number(first), "-", field.row_number(last));
}

}  // namespace

std::string ShadeCell(double value, double largest, bool colour) {
  const int shade = Shade(value, largest);
  if (!colour) return shade < 0 ? "\u00b7" : kGlyphs[shade];
  if (shade < 0) return "\x1b[90m\u00b7\x1b[0m";
  return absl::StrCat("\x1b[48;5;", kColours[shade], "m \x1b[0m");
}

std::string ShadeScale(bool colour) {
  std::string shades;
  for (int i = 0; i < kShades; ++i)
    absl::StrAppend(&shades, colour ? absl::StrCat("\x1b[48;5;", kColours[i], "m  \x1b[0m")
                                    : std::string(kGlyphs[i]));
  return shades;
}

uint32_t Width(const std::string& line) {
  uint32_t width = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\x1b') {
      while (i < line.size() && line[i] != 'm') ++i;
    } else if ((line[i] & 0xc0) != 0x80) {
      ++width;
    }
  }
  return width;
}

CongestionField MakeField(uint32_t rows, uint32_t stages, const v1::Counters& now,
                          const v1::Counters* before, const Part& part, uint32_t ports) {
  CongestionField field{.rows = rows,
                        .stages = stages,
                        .part = {Below(part.stages, stages), Below(part.rows, rows)},
                        .ports = ports,
                        .links = {}};
  if (!part.rows.empty()) field.rows = static_cast<uint32_t>(field.part.rows.size());
  if (!part.stages.empty()) field.stages = static_cast<uint32_t>(field.part.stages.size());
  field.links.resize(static_cast<size_t>(field.rows) * field.stages * field.ports);
  const auto then = before ? PacketsOf(*before) : std::map<LinkKey, uint64_t>();
  const double seconds = Seconds(now, before);
  for (const v1::LinkCounters& link : now.links()) {
    if (link.stage() >= stages || link.row() >= rows || link.port() >= field.ports) continue;
    const std::optional<uint32_t> stage = PlaceIn(part.stages, field.part.stages, link.stage());
    const std::optional<uint32_t> row = PlaceIn(part.rows, field.part.rows, link.row());
    if (!stage || !row) continue;
    field.at(*stage, *row, link.port()) = {.circuits = link.circuits(),
                                           .rate = PacketRate(link, then, seconds)};
  }
  return field;
}

std::vector<std::string> DrawCongestion(const CongestionField& field, const Canvas& canvas) {
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

  std::vector<std::string> lines;
  std::string heading = absl::StrFormat("%*s ", label, "row");
  for (uint32_t stage = 0; stage < stages; ++stage) {
    // Headings of narrow cells have room for two digits.
    const uint32_t number = field.stage_number(stage);
    const std::string name = is_wide ? absl::StrCat("s", number) : absl::StrCat(number % 100);
    absl::StrAppend(&heading, absl::StrFormat("%-*s", cell, name));
  }
  lines.push_back(heading);
  for (uint32_t row = 0; row < field.rows; row += group) {
    std::string line = absl::StrFormat("%*s ", label, GroupName(field, row, group));
    for (uint32_t stage = 0; stage < stages; ++stage) {
      for (uint32_t port = 0; port < field.ports; ++port)
        line += Link(Fullest(field, stage, row, group, port), busiest, canvas.colour, is_wide);
      line += " ";
    }
    lines.push_back(line);
  }
  const std::string left_out =
      stages == field.stages
          ? ""
          : absl::StrCat("stages ", field.stage_number(stages), "-",
                         field.stage_number(field.stages - 1), " need a wider terminal; ");
  lines.push_back(Legend(canvas, busiest, left_out, group > 1, field.ports));
  return lines;
}

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

// SPDX-License-Identifier: Apache-2.0
#include "control/cli/route_report_text.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "control/cli/text.h"
#include "control/top/shade.h"

namespace bfly::control {
namespace {

constexpr int kRowsListed = 20;

// A line of the picture: how many packets stood there, by sample.
struct OverTime {
  std::string label;
  std::vector<double> packets;
};

std::vector<OverTime> LevelsOverTime(const v1::RouteReport& report) {
  std::vector<OverTime> lines(static_cast<size_t>(report.samples(0).levels_size()));
  for (size_t level = 0; level < lines.size(); ++level) {
    lines[level].label = level + 1 == lines.size() ? "outputs" : absl::StrFormat("level %u", level);
    for (const v1::RouteSample& sample : report.samples()) {
      lines[level].packets.push_back(static_cast<double>(sample.levels(static_cast<int>(level))));
    }
  }
  return lines;
}

std::vector<OverTime> RowsOverTime(const v1::RouteReport& report, uint32_t room) {
  const auto rows = static_cast<uint32_t>(report.samples(0).rows_size());
  uint32_t group = 1;
  while ((rows + group - 1) / group > std::max(room, 1u)) group *= 2;
  std::vector<OverTime> lines;
  for (uint32_t first = 0; first < rows; first += group) {
    OverTime& line = lines.emplace_back();
    const uint32_t last = std::min(first + group, rows) - 1;
    line.label = group == 1 ? absl::StrCat("row ", first) : absl::StrCat("rows ", first, "-", last);
    for (const v1::RouteSample& sample : report.samples()) {
      double packets = 0;
      for (uint32_t row = first; row <= last; ++row) packets += sample.rows(static_cast<int>(row));
      line.packets.push_back(packets);
    }
  }
  return lines;
}

std::string Rows(const google::protobuf::RepeatedField<uint32_t>& rows) {
  const int shown = std::min(kRowsListed, rows.size());
  return absl::StrCat(
      rows.size() == 1 ? "row " : "rows ", absl::StrJoin(rows.begin(), rows.begin() + shown, " "),
      rows.size() > shown ? absl::StrCat(" and ", rows.size() - shown, " more") : "");
}

std::string Counted(uint64_t count, absl::string_view one) {
  return absl::StrCat(count, " ", one, count == 1 ? "" : "s");
}

// "in band: 57 steps in 412.0 us on 2 workers, 138k steps a second; 171 barriers, ...".
std::string InBandText(const v1::RouteReport& report) {
  const v1::RouteInBand& in_band = report.in_band();
  return absl::StrFormat(
      "in band: %s in %.1f us on %s, %s steps a second; %s, and one takes %.2f us by itself\n",
      Counted(in_band.steps(), "step"), in_band.seconds() * 1e6,
      Counted(in_band.workers(), "worker"), Count(in_band.steps_per_second()),
      Counted(in_band.barriers(), "barrier"), in_band.barrier_seconds() * 1e6);
}

// "frames: 64; 48 given to host ports, 12 ended at rows without one, 4 dropped inside".
std::string FramesText(const v1::RouteFrames& frames) {
  std::string text =
      absl::StrCat("frames: ", frames.made(), "; ", frames.to_ports(), " given to host ports, ",
                   frames.to_sinks(), " ended at rows without one");
  const uint64_t left = frames.to_ports() + frames.to_sinks();
  if (left < frames.made()) absl::StrAppend(&text, ", ", frames.made() - left, " dropped inside");
  if (frames.without_buffer() > 0) {
    absl::StrAppend(&text, "; ", Counted(frames.without_buffer(), "packet"),
                    " went on without a frame, because no buffer was free");
  }
  return absl::StrCat(text, "\n");
}

}  // namespace

std::vector<std::string> DrawOverTime(const v1::RouteReport& report, int level,
                                      const Canvas& canvas) {
  if (report.samples().empty()) return {};
  const bool by_row = report.samples(0).rows_size() > 0;
  const std::vector<OverTime> all =
      by_row ? RowsOverTime(report, canvas.lines > 3 ? canvas.lines - 3 : 1)
             : LevelsOverTime(report);
  uint32_t label = 0;
  double largest = 0;
  for (const OverTime& line : all) {
    label = std::max(label, static_cast<uint32_t>(line.label.size()));
    for (const double packets : line.packets) largest = std::max(largest, packets);
  }
  const auto samples = static_cast<uint32_t>(report.samples_size());
  const uint32_t space = std::max(canvas.columns, label + 2) - label - 1;
  const uint32_t merged = (samples + space - 1) / space;
  std::vector<std::string> lines;
  if (by_row) lines.push_back(absl::StrCat("level ", level, ", packets at its nodes over time"));
  for (const OverTime& line : all) {
    std::string text = absl::StrFormat("%-*s ", label, line.label);
    for (uint32_t first = 0; first < samples; first += merged) {
      const auto begin = line.packets.begin() + first;
      const auto end = line.packets.begin() + std::min(first + merged, samples);
      text += AnsiText({ShadeCell(*std::max_element(begin, end), largest, canvas)});
    }
    lines.push_back(text);
  }
  const uint64_t steps = samples > 1 ? report.samples(1).step() - report.samples(0).step() : 1;
  Line scale = PlainLine("packets ");
  for (Span& span : ShadeScale(canvas)) scale.push_back(std::move(span));
  scale.push_back({" up to " + Count(largest)});
  Line legend = scale;
  legend.push_back({"; a column is " + Counted(steps * merged, "step")});
  lines.push_back(AnsiText(Width(legend) <= canvas.columns ? legend : scale));
  return lines;
}

std::string RouteReportText(const v1::RouteReport& report) {
  std::string text =
      absl::StrFormat("%s on a %s of %u rows: %u of %s delivered in %s", report.program(),
                      report.network(), report.rows(), report.delivered(),
                      Counted(report.packets(), "packet"), Counted(report.steps(), "step"));
  if (report.phases() > 0) {
    absl::StrAppend(&text, ", ",
                    Counted(report.phases(), report.program() == "waves" ? "phase" : "stage"));
  }
  absl::StrAppend(&text, "\n");
  if (report.waves_size() > 1) {
    for (const v1::RouteWave& wave : report.waves()) {
      if (&wave - &report.waves(0) == kRowsListed) {
        absl::StrAppend(&text, "  and ", report.waves_size() - kRowsListed,
                        " more waves (--json has them all)\n");
        break;
      }
      absl::StrAppend(&text, "  wave ", wave.wave(), ": ", Counted(wave.packets(), "packet"), ", ",
                      Counted(wave.phases(), "phase"), ", ", Counted(wave.steps(), "step"), "\n");
    }
  }
  if (report.left_out() > 0) {
    absl::StrAppend(&text, Counted(report.left_out(), "packet"), " not sent because of faults");
    if (!report.faulty_inputs().empty()) {
      absl::StrAppend(&text, "; cut off: no path leads from input ", Rows(report.faulty_inputs()));
    }
    if (!report.faulty_outputs().empty()) {
      absl::StrAppend(&text, "; cut off: no path leads to output ", Rows(report.faulty_outputs()));
    }
    absl::StrAppend(&text, "\n");
  }
  if (report.faulty_switches() > 0) {
    absl::StrAppend(&text, report.faulty_switches(),
                    report.faulty_switches() == 1 ? " switch counts" : " switches count",
                    " as faulty without being down, and no packet goes there\n");
  }
  absl::StrAppendFormat(&text,
                        "latency: %.4g steps in the mean, %u at most; congestion %u, the most "
                        "packets over one link\n",
                        report.mean_latency(), report.max_latency(), report.congestion());
  if (report.has_in_band()) absl::StrAppend(&text, InBandText(report));
  if (report.in_band().has_frames()) absl::StrAppend(&text, FramesText(report.in_band().frames()));
  absl::StrAppend(&text, "\n");
  absl::StrAppend(&text,
                  "level   packets    waited   steps in the mean   at most   fullest link\n");
  for (const v1::RouteLevel& level : report.levels()) {
    const double mean = level.waited() > 0 ? static_cast<double>(level.waited_steps()) /
                                                 static_cast<double>(level.waited())
                                           : 0;
    absl::StrAppendFormat(&text, "%5u %9u %9u %19.4g %9u %14u\n", level.level(), level.packets(),
                          level.waited(), mean, level.most_steps(), level.congestion());
  }
  return text;
}

}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
#include "control/experiment/plot.h"

#include <cmath>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "control/experiment/gnuplot.h"

namespace bfly::control {

absl::Status DrawDelay(const Report& report, const std::string& folder) {
  std::map<std::string, std::string> curves;  // title -> "rho delay half-width" lines
  for (const Measurement& m : report.series) {
    const Estimate delay = m.delay();
    const double half = delay.HalfWidth(0.95);
    absl::StrAppend(&curves[m.point.Curve()],
                    absl::StrFormat("%.9g %.9g %.9g\n", m.point.swept_load(), delay.mean,
                                    std::isfinite(half) ? half : 0));
  }
  std::map<std::string, std::string> bounds;
  for (const ClaimResult& c : report.claims) {
    const bool about_delay = c.id.find("_bound") != std::string::npos;
    if (!about_delay || c.verdict == Verdict::kNotApplicable) continue;
    absl::StrAppend(&bounds[absl::StrCat(c.id, " ", c.point.Curve())],
                    absl::StrFormat("%.9g %.9g\n", c.point.swept_load(), c.theory));
  }
  if (curves.empty()) return absl::OkStatus();
  std::string script = "# Drawn from results.json; run gnuplot on it to draw it again.\n", plots;
  int number = 0;
  const auto add = [&](const std::string& title, const std::string& points, const char* style) {
    const std::string block = absl::StrCat("$c", number++);
    absl::StrAppend(&script, block, " << EOD\n", points, "EOD\n");
    absl::StrAppend(&plots, plots.empty() ? "plot " : ", \\\n     ", block, " ", style, " title '",
                    title, "'");
  };
  for (const auto& [title, points] : curves) add(title, points, "with yerrorlines lw 2");
  for (const auto& [title, points] : bounds) add(title, points, "with lines dashtype 2");
  absl::StrAppend(
      &script, "set title '", report.experiment.name(),
      "' noenhanced\nset key left top noenhanced\n", "set xlabel '",
      report.experiment.pattern().empty() ? "load factor rho" : "packets per unit and row",
      "'\nset ylabel 'mean delay (service times)'\nset logscale y\nset grid\n");
  return DrawPlot(std::move(script), plots, folder, "delay");
}

}  // namespace bfly::control

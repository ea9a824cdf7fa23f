// SPDX-License-Identifier: Apache-2.0
#include "control/measure/packets/delay_figures.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "control/measure/core/claim.h"
#include "control/measure/packets/packet_claims.h"

namespace bfly::control {
namespace {

using Json = nlohmann::ordered_json;
using dataplane::Discipline;

constexpr double kApart = 0.05;  // as a part of the range of loads
constexpr int kBoundsPoints = 60;
constexpr double kMostRho = 0.9995;  // bounds go to infinity at 1

template <typename T>
size_t IndexIn(std::vector<T>& values, const T& value) {
  const auto found = std::find(values.begin(), values.end(), value);
  if (found != values.end()) return static_cast<size_t>(found - values.begin());
  values.push_back(value);
  return values.size() - 1;
}

// The bounds on the delay at a point, from the claims whose ids end in "_lower_bound" and
// "_upper_bound". The bound of Proposition 2 takes seconds to compute where rho is a little below
// kMostExactRho, so it is left out; the bound of Proposition 13 is never below it, because more
// servers never make a packet wait longer.
FigureBounds BoundsAt(const std::vector<const Claim*>& claims, const PacketPoint& values) {
  FigureBounds bounds{values.swept_load(), std::nan(""), std::nan("")};
  const Point point = values;
  for (const Claim* claim : claims) {
    const bool lower = absl::EndsWith(claim->id, "_lower_bound");
    const bool upper = absl::EndsWith(claim->id, "_upper_bound");
    if (claim->id == "prop2_lower_bound") continue;
    if ((!lower && !upper) || !WhyNot(*claim, point).empty()) continue;
    const double value = claim->theory(point);
    // fmax and fmin take the other value where one is NaN.
    if (lower) bounds.lower = std::fmax(bounds.lower, value);
    if (upper) bounds.upper = std::fmin(bounds.upper, value);
  }
  return bounds;
}

// The bounds between the least and the largest load, also at loads that were not measured, because
// bounds are not straight lines.
std::vector<FigureBounds> BoundsOf(const std::vector<const Claim*>& claims, PacketPoint point,
                                   double low, double high) {
  std::vector<FigureBounds> bounds;
  if (!point.pattern.empty()) return bounds;
  if (low == high) {
    low *= 0.5;
    high *= 1.5;
  }
  high = std::min(high, kMostRho);
  for (int i = 0; i <= kBoundsPoints && low < high; ++i) {
    // The loads get denser towards 1, where bounds are steep.
    point.rho = 1 - (1 - low) * std::pow((1 - high) / (1 - low), i / double{kBoundsPoints});
    const FigureBounds at = BoundsAt(claims, point);
    if (!std::isnan(at.lower) || !std::isnan(at.upper)) bounds.push_back(at);
  }
  return bounds;
}

// The exact delay that a claim ("..._exact...") gave at a point of the results, or NaN.
double ExactAt(const Json& claims, const Json& point) {
  for (const Json& claim : claims) {
    if (absl::StrContains(claim.at("id").get<std::string>(), "_exact") &&
        claim.at("verdict") != std::string(VerdictName(Verdict::kNotApplicable)) &&
        claim.at("point") == point && claim.at("theory").is_number()) {
      return claim.at("theory");
    }
  }
  return std::nan("");
}

std::string CurveLabel(const PacketPoint& point, bool slots, bool disciplines) {
  std::string label = absl::StrReplaceAll(point.NetworkText(), {{"_", " "}});
  if (disciplines) {
    absl::StrAppend(&label, label.empty() ? "" : ", ",
                    point.discipline == Discipline::kProcessorSharing ? "sharing"
                    : point.discipline == Discipline::kPriority       ? "priority"
                                                                      : "FIFO");
  }
  if (slots) {
    absl::StrAppend(&label, label.empty() ? "" : ", ",
                    point.slot > 0 ? absl::StrCat("slot ", point.slot) : "no slots");
  }
  return label;
}

// What tells the curves of a panel apart.
std::tuple<std::string, double, Discipline> WayOf(const PacketPoint& point) {
  return {point.NetworkText(), point.slot, point.discipline};
}

int ColumnsOf(size_t sizes, size_t kinds) {
  const size_t panels = sizes * kinds;
  if (sizes > 1 && kinds > 1 && kinds <= 4) return static_cast<int>(kinds);
  if (panels <= 4) return static_cast<int>(panels);
  return panels == 5 || panels == 6 || panels == 9 ? 3 : 4;
}

}  // namespace

absl::StatusOr<std::vector<Figure>> DelayFigures(const v1::Experiment& experiment,
                                                 const Json& results) {
  const absl::StatusOr<std::vector<PacketPoint>> points = PointsOf(experiment);
  if (!points.ok()) return points.status();
  const auto claims =
      ClaimsNamed(PacketClaims(), {experiment.claims().begin(), experiment.claims().end()});
  if (!claims.ok()) return claims.status();
  const Json& series = results.at("series");
  if (series.size() > points->size()) {
    return absl::DataLossError("results.json has more points than experiment.yaml");
  }
  if (series.empty()) return std::vector<Figure>();

  std::vector<int> sizes;
  std::vector<std::string> kinds;
  std::vector<std::tuple<std::string, double, Discipline>> ways;
  std::vector<double> slots;
  std::vector<Discipline> disciplines;
  double low = HUGE_VAL, high = 0;
  for (const PacketPoint& point : *points) {
    IndexIn(sizes, point.d);
    IndexIn(kinds, point.pattern.empty() ? absl::StrCat("p = ", point.p) : point.pattern);
    IndexIn(ways, WayOf(point));
    IndexIn(slots, point.slot);
    IndexIn(disciplines, point.discipline);
    low = std::min(low, point.swept_load());
    high = std::max(high, point.swept_load());
  }
  const bool patterns = !experiment.pattern().empty();
  Figure figure{.name = "delay",
                .title = experiment.title().empty() ? experiment.name() : experiment.title(),
                .x_label = patterns ? "packets per unit of time and row" : "load factor ρ",
                .y_label = "mean delay (service times)",
                .bars = "95 % interval",
                .whole_x = false,
                .log_y = true,
                .apart = false,
                .columns = ColumnsOf(sizes.size(), kinds.size()),
                .panels = {}};
  std::map<std::pair<size_t, size_t>, size_t> panel_at;                 // of (size, kind)
  std::map<std::tuple<size_t, size_t, size_t>, FigureCurve> curves_at;  // of (panel, way)
  for (size_t i = 0; i < series.size(); ++i) {
    const PacketPoint& point = (*points)[i];
    const Json& row = series[i];
    const std::string kind = point.pattern.empty() ? absl::StrCat("p = ", point.p) : point.pattern;
    const size_t size = IndexIn(sizes, point.d), which = IndexIn(kinds, kind);
    const size_t way = IndexIn(ways, WayOf(point));
    panel_at.try_emplace({size, which}, 0);
    const auto [at, is_new] = curves_at.try_emplace({size, which, way});
    FigureCurve& curve = at->second;
    if (is_new) {
      curve.label = CurveLabel(point, slots.size() > 1, disciplines.size() > 1);
      curve.colour = static_cast<int>(way);
      curve.bounds = BoundsOf(*claims, point, low, high);
    }
    if (row.at("saturated").get<bool>()) {
      curve.saturated.push_back(point.swept_load());
    } else if (row.at("mean_delay").is_number()) {
      const double mean = row.at("mean_delay");
      const Json& half = row.at("ci95");
      const double bar = half.is_number() ? half.get<double>() : 0;
      curve.points.push_back({point.swept_load(), mean, mean - bar, mean + bar,
                              ExactAt(results.at("claims"), row.at("point"))});
    }
  }
  for (auto& [place, panel] : panel_at) {
    panel = figure.panels.size();
    figure.panels.push_back(
        {absl::StrCat("d = ", sizes[place.first], ", ", kinds[place.second]), {}});
  }
  for (auto& [place, curve] : curves_at) {
    const auto by_load = [](const FigurePoint& a, const FigurePoint& b) { return a.x < b.x; };
    std::sort(curve.points.begin(), curve.points.end(), by_load);
    std::sort(curve.saturated.begin(), curve.saturated.end());
    figure.panels[panel_at[{std::get<0>(place), std::get<1>(place)}]].curves.push_back(curve);
  }
  OffsetCurves(figure, kApart * (high - low));
  return std::vector<Figure>{std::move(figure)};
}

}  // namespace bfly::control

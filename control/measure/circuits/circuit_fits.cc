// SPDX-License-Identifier: Apache-2.0
#include "control/measure/circuits/circuit_fits.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/measure/core/statistics.h"

namespace bfly::control {
namespace {

constexpr const char* kGrowing[] = {"congestion", "disk_contention", "rounds", "steps", "locked"};

bool IsLimited(const CircuitPoint& point) {
  return point.protocol == "lock_down" || point.protocol == "q_limited";
}

bool Fitted(const CircuitPoint& point, const std::string& figure) {
  if (IsLimited(point)) return figure == "locked";
  const bool one_by_one = point.protocol == "minimum" || point.protocol == "data_server_minimum";
  return !one_by_one || (figure != "rounds" && figure != "steps");
}

const std::vector<GrowthShape>& ShapesOf(const std::string& figure) {
  if (figure == "steps") return SetUpShapes();
  return figure == "locked" ? LockedShapes() : GrowthShapes();
}

struct StatedShape {
  const char* protocol;
  const char* figure;
  const char* shape;
  const char* source;
};
constexpr StatedShape kStated[] = {
    {"collision", "congestion", "loglog n / logloglog n", "Cole et al. 1998, section 2.1"},
    {"collision", "rounds", "loglog n / logloglog n", "Cole et al. 1998, Theorem 2.1"},
    {"collision", "steps", "log n loglog n / logloglog n", "Cole et al. 1998, section 1.4"},
    {"minimum", "congestion", "loglog n", "Cole et al. 1998, Theorem 2.5"},
    {"valiant", "congestion", "log n / loglog n", "Cole et al. 1998, section 1.3"},
    {"valiant", "steps", "log n", "Cole et al. 1998, section 1.3"},
    {"data_server_collision", "rounds", "loglog n", "Cole et al. 1998, Theorem 3.1"},
    {"data_server_minimum", "congestion", "loglog n", "Cole et al. 1998, Theorem 3.4"},
    {"data_server_minimum", "disk_contention", "loglog n", "Cole et al. 1998, Theorem 3.4"},
    {"data_server_single_copy", "congestion", "log n / loglog n", "Cole et al. 1998, section 1.4"},
    {"data_server_single_copy", "disk_contention", "log n / loglog n",
     "Cole et al. 1998, section 1.4"},
};

void State(const CircuitPoint& point, CurveFit& fit) {
  if (IsLimited(point) && point.q <= LockedShapes().size()) {
    fit.stated = LockedShapes()[point.q - 1].name;
    fit.source = point.protocol == "lock_down" ? "Kruskal & Snir 1983, Koch 1988"
                                               : "Maggs & Sitaraman, in Cole et al. 1998";
  }
  if (!point.is_on_own_network()) return;
  for (const StatedShape& stated : kStated) {
    if (point.protocol != stated.protocol || fit.figure != stated.figure) continue;
    fit.stated = stated.shape;
    fit.source = stated.source;
  }
}

}  // namespace

std::vector<CurveFit> FitCurves(const std::vector<Measurement>& series) {
  std::vector<CurveFit> fits;
  struct Curve {
    Point point;
    std::vector<int> d;
    std::vector<double> means;
  };
  for (const char* figure : kGrowing) {
    std::vector<Curve> curves;
    std::map<std::string, size_t> by_name;
    for (const Measurement& m : series) {
      const std::vector<double> values = m.Measured(figure);
      if (values.empty() || !Fitted(m.point, figure)) continue;
      const auto [at, is_new] = by_name.try_emplace(m.point.Curve(), curves.size());
      if (is_new) curves.push_back({m.point, {}, {}});
      curves[at->second].d.push_back(m.point.d());
      curves[at->second].means.push_back(EstimateMean(values).mean);
    }
    for (const Curve& curve : curves) {
      CurveFit fit{.curve = curve.point.Curve(),
                   .figure = figure,
                   .fits = FitGrowth(ShapesOf(figure), curve.d, curve.means),
                   .stated = {},
                   .source = {}};
      State(curve.point, fit);
      if (!fit.fits.empty()) fits.push_back(std::move(fit));
    }
  }
  return fits;
}

}  // namespace bfly::control

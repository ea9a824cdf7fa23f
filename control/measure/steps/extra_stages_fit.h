// SPDX-License-Identifier: Apache-2.0
// The formulas of Upfal, Felperin and Snir, section 4, fitted again to what was measured. The
// published numbers are shown beside, and nothing is tested for being equal to them.
#pragma once

#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "control/measure/core/report.h"

namespace bfly::control {

// 1, n, t, t / 2^r, n t / 2^r, r.
inline constexpr size_t kLatencyTerms = 6;

struct MeasuredLatency {
  double n = 0, r = 0, t = 0;
  double latency = 0;
};

struct LatencyFit {
  std::array<double, kLatencyTerms> terms{};
  double r_squared = 0;
  size_t points = 0;
  // What t / 2^r has in all at this n. The two terms with it are nearly collinear, so only their
  // sum can be compared.
  double OverStages(double n) const { return terms[3] + n * terms[4]; }
};

// Least squares. All terms are 0 if the points do not determine them.
LatencyFit FitLatency(const std::vector<MeasuredLatency>& points);

// Both fits over the points with random permutations and t > 1, and the r with the least mean
// latency of each n and t, for each `order` and `renaming` by itself. Empty if the points of
// extra_stages do not determine the fits.
std::string ExtraStagesFitTable(const Report& report);
nlohmann::ordered_json ExtraStagesFitJson(const Report& report);

}  // namespace bfly::control

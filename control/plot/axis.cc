// SPDX-License-Identifier: Apache-2.0
#include "control/plot/axis.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace bfly::control {
namespace {

// Values count as equal if their range is so small a part of them. Scripts write nine digits, which
// still tell the tics of a larger range apart.
constexpr double kFlat = 1e-7;

// The smallest step of 1, 2, 2.5 or 5 times a power of ten of which at most `most` fit into
// `range`.
double RoundStep(double range, int most, bool whole) {
  const double least = whole ? std::max(1.0, range / most) : range / most;
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double step : {1.0, 2.0, 2.5, 5.0}) {
    if (whole && step * power != std::round(step * power)) continue;
    if (step * power >= least * (1 - 1e-9)) return step * power;
  }
  return 10 * power;
}

std::vector<double> LinearTics(double low, double high, int most, bool whole) {
  std::vector<double> tics;
  const double step = RoundStep(high - low, most, whole);
  for (double n = std::ceil(low / step - 1e-9); n * step <= high + 1e-9 * step; ++n) {
    tics.push_back(n * step + 0.0);  // never a negative zero
  }
  return tics;
}

// The densest of several sets of round numbers that has at most `most` tics; linear tics if the
// axis is too short for any.
std::vector<double> LogTics(double low, double high, int most) {
  const auto within = [&](std::initializer_list<double> digits, int every) {
    std::vector<double> tics;
    const int first = static_cast<int>(std::floor(std::log10(low)));
    for (int power = first; std::pow(10, power) <= high; ++power) {
      if (power % every != 0) continue;
      for (const double digit : digits) {
        const double tic = digit * std::pow(10, power);
        if (tic >= low * (1 - 1e-9) && tic <= high * (1 + 1e-9)) tics.push_back(tic);
      }
    }
    return tics;
  };
  std::vector<double> tics = within({1, 2, 5}, 1);
  if (tics.size() < 3) return LinearTics(low, high, most, false);
  if (static_cast<int>(tics.size()) > most) tics = within({1}, 1);
  for (int every = 2; static_cast<int>(tics.size()) > most; ++every) tics = within({1}, every);
  return tics;
}

}  // namespace

double Axis::Place(double value) const {
  if (log && value <= 0) return 0;
  return log ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
}

double Axis::At(double place) const {
  return log ? low * std::pow(high / low, place) : low + place * (high - low);
}

Axis AxisOf(const std::vector<double>& values, Scale scale, double below, double above, int most) {
  const bool log = scale == Scale::kLog;
  Axis axis{.low = HUGE_VAL, .high = -HUGE_VAL, .log = log, .tics = {}};
  for (const double value : values) {
    if (!std::isfinite(value) || (log && value <= 0)) continue;
    axis.low = std::min(axis.low, value);
    axis.high = std::max(axis.high, value);
  }
  if (axis.low > axis.high) axis.low = axis.high = 1;
  const double size = std::max(std::fabs(axis.low), std::fabs(axis.high));
  if (axis.high - axis.low <= kFlat * size) {  // a flat curve in the middle
    const double room = axis.low == 0 ? 1 : std::fabs(axis.low) / 2;
    axis.low -= room;
    axis.high += room;
  }
  const Axis tight = axis;
  axis.low = tight.At(-below);
  axis.high = tight.At(1 + above);
  axis.tics = log ? LogTics(axis.low, axis.high, most)
                  : LinearTics(axis.low, axis.high, most, scale == Scale::kWhole);
  return axis;
}

std::vector<double> SpreadLabels(const std::vector<double>& wanted, double gap) {
  const size_t n = wanted.size();
  if (n == 0) return {};
  gap = std::min(gap, n > 1 ? 1.0 / static_cast<double>(n - 1) : 1.0);
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return wanted[a] < wanted[b]; });
  // Labels that would overlap form a block, centred on the mean of their wanted places.
  struct Block {
    double sum = 0;  // over its labels: the wanted place less the offset from the block's first
    size_t labels = 0;
    double Start(double gap) const {
      const double last = static_cast<double>(labels - 1) * gap;
      return std::clamp(sum / static_cast<double>(labels), 0.0, std::max(0.0, 1 - last));
    }
  };
  std::vector<Block> blocks;
  for (const size_t label : order) {
    blocks.push_back({wanted[label], 1});
    while (blocks.size() > 1) {
      const Block last = blocks.back();
      Block& before = blocks[blocks.size() - 2];
      const double end = before.Start(gap) + static_cast<double>(before.labels) * gap;
      if (last.Start(gap) >= end - 1e-12) break;
      before.sum += last.sum - static_cast<double>(last.labels * before.labels) * gap;
      before.labels += last.labels;
      blocks.pop_back();
    }
  }
  std::vector<double> places(n);
  size_t next = 0;
  for (const Block& block : blocks) {
    for (size_t i = 0; i < block.labels; ++i) {
      places[order[next++]] = block.Start(gap) + static_cast<double>(i) * gap;
    }
  }
  return places;
}

}  // namespace bfly::control

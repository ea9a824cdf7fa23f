// SPDX-License-Identifier: Apache-2.0
// The range and the tics of an axis.
#pragma once

#include <string>
#include <vector>

namespace bfly::control {

struct Axis {
  double low = 0;
  double high = 1;
  bool log = false;
  std::vector<double> tics;

  // Where a value stands between the ends of the axis: 0 at `low`, 1 at `high`.
  double Place(double value) const;
  double At(double place) const;  // the inverse of Place
};

enum class Scale { kLinear, kLog, kWhole };  // kWhole: linear, tics at whole numbers alone

// An axis that holds all values (of a logarithmic axis: those above 0), with a margin of `below`
// and `above`, as parts of the values' range, and at most about `most` tics at round numbers.
Axis AxisOf(const std::vector<double>& values, Scale scale, double below, double above, int most);

// Places of labels that stand `gap` or more apart between 0 and 1, as near as may be to where they
// want to be. In the order of `wanted`. Labels that do not all fit are spread evenly.
std::vector<double> SpreadLabels(const std::vector<double>& wanted, double gap);

}  // namespace bfly::control

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

  // The place of a value on the axis: 0 at `low`, 1 at `high`. On a logarithmic axis values that
  // are not above 0 have the place 0.
  double Place(double value) const;
  double At(double place) const;  // the inverse of Place
};

enum class Scale { kLinear, kLog, kWhole };  // kWhole: linear, with tics at whole numbers only

// An axis that holds all values (a logarithmic one: all values above 0), with margins `below` and
// `above` as parts of the values' range, and with about `most` tics at most, at round numbers.
Axis AxisOf(const std::vector<double>& values, Scale scale, double below, double above, int most);

// Places of labels between 0 and 1, `gap` or more apart, each as near as possible to its wanted
// place. The result has the order of `wanted`. Labels that do not all fit are spread evenly.
std::vector<double> SpreadLabels(const std::vector<double>& wanted, double gap);

}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
#include "control/measure/core/measurement.h"

#include <cmath>

namespace bfly::control {

double Trial::figure(const std::string& name) const {
  const auto found = figures.find(name);
  return found == figures.end() ? std::nan("") : found->second;
}

Estimate Measurement::Over(const std::function<double(const Trial&)>& figure) const {
  std::vector<double> values;
  for (const Trial& trial : trials) values.push_back(figure(trial));
  return EstimateMean(values);
}

Estimate Measurement::Over(const std::string& figure) const { return EstimateMean(Values(figure)); }

std::vector<double> Measurement::Values(const std::string& figure) const {
  std::vector<double> values;
  for (const Trial& trial : trials) values.push_back(trial.figure(figure));
  return values;
}

std::vector<double> Measurement::Measured(const std::string& figure) const {
  std::vector<double> values = Values(figure);
  std::erase_if(values, [](double value) { return std::isnan(value); });
  return values;
}

}  // namespace bfly::control

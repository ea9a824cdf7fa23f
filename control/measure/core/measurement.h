// SPDX-License-Identifier: Apache-2.0
// The measurement of a point, as plain values.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "control/measure/core/point.h"
#include "control/measure/core/statistics.h"

namespace bfly::control {

// The time that packets spend at the links of one stage, in units.
struct StageTime {
  double mean = 0;
  double p50 = 0;
  double p99 = 0;
};

// One run of one point with one seed.
struct Trial {
  uint64_t seed = 0;
  double offered = 0;   // packets per unit and row, born in the measured time
  double accepted = 0;  // packets delivered in the measured time, per unit and row
  double mean_delay = 0;
  double p50 = 0;
  double p99 = 0;
  double mean_population = 0;       // packets in the network
  double straight_utilisation = 0;  // mean over the links of that kind, packets per unit
  double cross_utilisation = 0;
  uint64_t measured = 0;             // packets
  uint64_t unfinished = 0;           // born in the measured time and never delivered
  std::vector<double> batch_delays;  // means of consecutive parts of the measured time
  std::vector<StageTime> stages = {};
  // All other figures by name, such as "cross_holds_2": the share of time a cross link holds two
  // packets.
  std::map<std::string, double> figures = {};
  // Circuit protocols: the seconds that this machine took to choose the paths. They are never
  // compared, and results.json does not have them.
  double set_up_seconds = 0;

  // NaN where the trial did not measure it.
  double figure(const std::string& name) const;
};

// A point with all its trials.
struct Measurement {
  Point point;
  std::vector<Trial> trials;
  bool saturated = false;  // the network has no stationary state at the point

  // The mean of any figure over the trials.
  Estimate Over(const std::function<double(const Trial&)>& figure) const;
  Estimate Over(const std::string& figure) const;  // the mean of a figure of Trial::figures
  // Trial::figure of each trial.
  std::vector<double> Values(const std::string& figure) const;
  // Trial::figure of the trials that measured it.
  std::vector<double> Measured(const std::string& figure) const;
};

}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
// Families of metrics as they are put together for one scrape.
#pragma once

#include <prometheus/metric_family.h>

#include <deque>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace bfly::control {

using Labels = std::vector<std::pair<std::string, std::string>>;

// One family and its series.
class MetricSeries {
 public:
  MetricSeries(prometheus::MetricType type, std::string name, std::string help);
  void Set(const Labels& labels, double value);
  // A summary without anything but its quantiles, count and sum.
  void SetSummary(const Labels& labels, uint64_t count, double sum,
                  std::initializer_list<std::pair<double, double>> quantiles);
  prometheus::MetricFamily Take() { return std::move(family_); }

 private:
  prometheus::MetricFamily family_;
};

class MetricFamilies {
 public:
  // Names of counters end in _total, as Prometheus asks.
  MetricSeries& Counter(const std::string& name, const std::string& help);
  MetricSeries& Gauge(const std::string& name, const std::string& help);
  MetricSeries& Summary(const std::string& name, const std::string& help);
  // Families without series are left out.
  std::vector<prometheus::MetricFamily> Take();

 private:
  std::deque<MetricSeries> families_;  // references to its elements stay
};

}  // namespace bfly::control

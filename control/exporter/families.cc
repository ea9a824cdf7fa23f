// SPDX-License-Identifier: Apache-2.0
#include "control/exporter/families.h"

namespace bfly::control {
namespace {

prometheus::ClientMetric WithLabels(const Labels& labels) {
  prometheus::ClientMetric metric;
  for (const auto& [name, value] : labels) metric.label.push_back({name, value});
  return metric;
}

}  // namespace

MetricSeries::MetricSeries(prometheus::MetricType type, std::string name, std::string help) {
  family_.type = type;
  family_.name = std::move(name);
  family_.help = std::move(help);
}

void MetricSeries::Set(const Labels& labels, double value) {
  prometheus::ClientMetric metric = WithLabels(labels);
  if (family_.type == prometheus::MetricType::Counter) {
    metric.counter.value = value;
  } else {
    metric.gauge.value = value;
  }
  family_.metric.push_back(std::move(metric));
}

void MetricSeries::SetSummary(const Labels& labels, uint64_t count, double sum,
                              std::initializer_list<std::pair<double, double>> quantiles) {
  prometheus::ClientMetric metric = WithLabels(labels);
  metric.summary.sample_count = count;
  metric.summary.sample_sum = sum;
  for (const auto& [quantile, value] : quantiles)
    metric.summary.quantile.push_back({quantile, value});
  family_.metric.push_back(std::move(metric));
}

MetricSeries& MetricFamilies::Counter(const std::string& name, const std::string& help) {
  return families_.emplace_back(prometheus::MetricType::Counter, name, help);
}

MetricSeries& MetricFamilies::Gauge(const std::string& name, const std::string& help) {
  return families_.emplace_back(prometheus::MetricType::Gauge, name, help);
}

MetricSeries& MetricFamilies::Summary(const std::string& name, const std::string& help) {
  return families_.emplace_back(prometheus::MetricType::Summary, name, help);
}

std::vector<prometheus::MetricFamily> MetricFamilies::Take() {
  std::vector<prometheus::MetricFamily> all;
  for (MetricSeries& series : families_) {
    prometheus::MetricFamily family = series.Take();
    if (!family.metric.empty()) all.push_back(std::move(family));
  }
  families_.clear();
  return all;
}

}  // namespace bfly::control

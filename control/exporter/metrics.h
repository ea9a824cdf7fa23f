// SPDX-License-Identifier: Apache-2.0
// What bfly-exporter tells Prometheus: the answers of the controller in, families of metrics out.
// Pure. docs/monitoring.md lists every metric.
#pragma once

#include <prometheus/metric_family.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bfly/v1/fabric.pb.h"
#include "bfly/v1/telemetry.pb.h"
#include "bfly/v1/traffic.pb.h"

namespace bfly::control {

// What one scrape learned of the controller.
struct Scrape {
  bool up = false;      // the controller answered every call in time
  std::string problem;  // why it is not up
  double seconds = 0;   // that the calls took
  v1::FabricStatus fabric;
  v1::Counters counters;
  // False: the network has so many links that `counters` has the fullest ones alone.
  bool every_link = true;
  v1::LatencyReport latency;
};

// Without a controller there are bfly_up and the duration alone. Counters of links and stages carry
// the data plane that counts them, because they begin again at 0 with it. While it does not run,
// they are left out: Telemetry then shows 0, and Prometheus would take that for a restart, and for
// another one when the data plane is reached again.
//
// `top` bounds the series of links: the links with the most circuits, then the most packets.
std::vector<prometheus::MetricFamily> FabricMetrics(const Scrape& scrape, uint32_t top);

// The links alone, the `most` fullest ones, and how many were left out.
std::vector<prometheus::MetricFamily> LinkMetrics(const Scrape& scrape, uint32_t most);

}  // namespace bfly::control

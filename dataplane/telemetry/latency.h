// SPDX-License-Identifier: Apache-2.0
// The latencies that a data plane records while a client asks for them.
#pragma once

#include <vector>

#include "dataplane/telemetry/latency_histogram.h"

namespace bfly::dataplane {

// What a worker that delivers packets records of each packet. For each packet end_to_end = links +
// late.
struct DeliveryLatency {
  LatencyHistogram end_to_end;  // from birth to delivery
  LatencyHistogram links;       // the part that links with a rate or a delay take, as computed
  LatencyHistogram late;        // the part by which workers were late
};

// What a reader gets.
struct LatencyReport {
  bool recording = false;
  LatencySummary end_to_end = {};
  LatencySummary links = {};
  LatencySummary late = {};
  std::vector<LatencyBucket> histogram = {};  // of end_to_end
  int first_stage = 0;
  // For each stage from first_stage on: the time from the arrival at a node to the end of the link,
  // as computed. Only links with a rate or a delay take time, so stages without such links count 0
  // packets.
  std::vector<LatencySummary> stages = {};
};

}  // namespace bfly::dataplane

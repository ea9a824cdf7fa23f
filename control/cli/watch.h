// SPDX-License-Identifier: Apache-2.0
// `bfly counters --watch`: a stream of pictures from the controller, a line of text or JSON each,
// until a signal comes, the stream ends or the given time is over. On a terminal it is a view of
// `bfly top`.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "bfly/v1/telemetry.pb.h"
#include "control/cli/verb.h"

namespace bfly::control {

struct WatchOptions {
  v1::CounterFilter filter;
  std::vector<uint32_t> stages, rows;  // the filter's numbers one by one; empty: all
  uint32_t interval_ms = 1000;
  double seconds = 0;  // 0: until a signal
};

absl::Status Watch(const WatchOptions& options, const Common& common);

}  // namespace bfly::control

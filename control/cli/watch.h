// SPDX-License-Identifier: Apache-2.0
// The live drawing of `bfly counters --watch`: a stream of pictures from the controller, redrawn on
// the terminal until a signal comes, the stream ends or the given time is over.
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
  uint32_t top = 5;    // lines of the fullest links
};

absl::Status Watch(const WatchOptions& options, const Common& common);

}  // namespace bfly::control

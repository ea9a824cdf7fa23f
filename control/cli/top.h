// SPDX-License-Identifier: Apache-2.0
// The fabric live on a terminal: `bfly top`, and `bfly counters --watch` as one of its views.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "control/cli/verb.h"
#include "control/top/sample.h"

namespace bfly::control {

struct TopOptions {
  std::string view = "overview";
  std::string sort;               // empty: the view's first one
  std::optional<uint32_t> stage;  // zoomed into
  Part part;
  uint32_t interval_ms = 1000;
  double seconds = 0;  // 0: until a key or a signal
  bool once = false;
  size_t lines = 100;  // with `once`
};

// Runs on the terminal until `q`, a signal or the time's end. Standard output must be a terminal.
// The last page stays on the ordinary screen.
absl::Status RunTop(const TopOptions& options, const Common& common);

}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
// Checks the options of a bench, and makes the placement that they ask for.
#pragma once

#include <initializer_list>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "dataplane/core/config.h"
#include "dataplane/runtime/cpus.h"

namespace bfly::dataplane {

// INVALID_ARGUMENT names the option, its value and its range, unless low <= value <= high.
template <class Value>
absl::Status CheckOption(const char* option, Value value, std::type_identity_t<Value> low,
                         std::type_identity_t<Value> high) {
  if (value >= low && value <= high) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(option, ": ", value, " is outside ", low, "..", high));
}

inline absl::Status FirstError(std::initializer_list<absl::Status> checks) {
  for (const absl::Status& status : checks) {
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

// Checks the options that every bench of whole frames has.
inline absl::Status CheckFrameRuns(int frame_bytes, double seconds, int runs) {
  return FirstError({CheckOption("frame_bytes", frame_bytes, 60, 1514),
                     CheckOption("seconds", seconds, 0.1, 60.0),
                     CheckOption("runs", runs, 1, 100)});
}

// Checks how long a program of a bench may take to start, or to answer.
inline absl::Status CheckPatience(double seconds) {
  return CheckOption("patience", seconds, 0.1, 600.0);
}

// Places the stages in `workers` equal parts, in order, each part on a usable CPU of its own.
inline std::vector<StagePlacement> EqualParts(int stages, int workers) {
  std::vector<StagePlacement> parts;
  for (int w = 0; w < workers; ++w) {
    const int first = stages * w / workers;
    const int last = stages * (w + 1) / workers - 1;
    if (first > last) continue;
    parts.push_back({.first_stage = first, .last_stage = last, .lcore = UsableCpus()[w]});
  }
  return parts;
}

}  // namespace bfly::dataplane

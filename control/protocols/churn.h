// SPDX-License-Identifier: Apache-2.0
// Circuits that come and go (Cole et al. 1998, section 2.2: the minimum protocol under an oblivious
// adversary), and how congested the links were meanwhile. Pure: time is a number, and circuits are
// set up by whoever runs it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "topologies/network.h"

namespace bfly::control {

struct ChurnStep {
  bool set_up = false;
  Row input = 0, output = 0;  // of a release the input alone
};

// One step a line, "setup INPUT OUTPUT" or "release INPUT"; empty lines and what follows '#' are
// skipped. InvalidArgument names the first line that is wrong: words, a row out of range, a row
// that is busy or idle then. `where` names the text.
absl::StatusOr<std::vector<ChurnStep>> ParseChurn(absl::string_view text, Row rows,
                                                  absl::string_view where);

struct ChurnOptions {
  double rate = 1000;   // requests a second, Poisson; of an adversary steps a second, evenly
  double holding = 1;   // seconds a circuit stands on average, exponential; no adversary's
  double duration = 1;  // seconds; an adversary ends with its steps
  uint64_t seed = 0;
  std::vector<ChurnStep> adversary = {};  // empty: Poisson
};

// What sets circuits up. A set-up gives the row at every level, input first.
struct ChurnTarget {
  std::function<absl::StatusOr<std::vector<Row>>(Row input, Row output)> set_up;
  std::function<absl::Status(Row input)> release;
};

struct ChurnReport {
  double seconds = 0;     // of churn
  uint64_t requests = 0;  // Poisson: also those that found no free input and output
  uint64_t set_up = 0;
  uint64_t released = 0;
  uint64_t no_free_row = 0;
  uint64_t refused = 0;  // FailedPrecondition or ResourceExhausted
  uint64_t standing = 0;
  uint32_t congestion = 0;           // now
  std::vector<double> seconds_with;  // [k]: seconds the fullest link had k circuits
};

// InvalidArgument names a rate, holding or duration that is no positive number. Another error of
// the target ends the churn. `wait(at)` returns when the time is `at` seconds after the start, or
// false to end now; `look(report)` is called after each step. What stands at the end stays.
absl::StatusOr<ChurnReport> RunChurn(Row rows, int stages, const ChurnOptions& options,
                                     const ChurnTarget& target,
                                     const std::function<bool(double at)>& wait,
                                     const std::function<void(const ChurnReport&)>& look);

}  // namespace bfly::control

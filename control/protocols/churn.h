// SPDX-License-Identifier: Apache-2.0
// Circuits that come and go (Cole et al. 1998, section 2.2: the minimum protocol under an oblivious
// adversary), and how congested the links were meanwhile. Pure: time is a number, and circuits are
// set up by whoever runs it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
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
  // Rows with circuits of others: a Poisson request chooses none of them. A row may come twice.
  std::vector<Row> inputs_taken = {}, outputs_taken = {};
};

struct ChurnReport {
  double seconds = 0;     // of churn
  uint64_t requests = 0;  // Poisson: also those that found no free input and output
  uint64_t set_up = 0;
  uint64_t released = 0;
  uint64_t no_free_row = 0;
  uint64_t busy = 0;     // FailedPrecondition: somebody else uses the input or output
  uint64_t blocked = 0;  // ResourceExhausted: a link had no room
  uint64_t gone = 0;     // of those released: had been released by somebody else
  uint64_t standing = 0;
  uint32_t congestion = 0;           // now
  std::vector<double> seconds_with;  // [k]: seconds the fullest link had k circuits
  double behind = 0;                 // seconds that the last steps were late
  double behind_most = 0;
  std::string first_refusal;  // of the first request that was busy or blocked
};

// Of a set-up the row at every level, input first, or why not; of a release no rows, and NotFound
// if the circuit was gone.
using ChurnAnswer = absl::StatusOr<std::vector<Row>>;

// Steps that are carried out together at most.
inline constexpr size_t kMaxChurnSteps = 1024;

// What sets circuits up.
struct ChurnTarget {
  // Carries out steps in order: an answer each, or why it is over. A step may need those before it,
  // but never the answer to one of them: what is released was set up by an earlier call.
  std::function<absl::StatusOr<std::vector<ChurnAnswer>>(const std::vector<ChurnStep>&)> carry_out;
  // Returns when it is `at` seconds after the start: the time it is then, so that all steps that
  // are due are carried out together. None: end now.
  std::function<std::optional<double>(double at, const ChurnReport&)> wait;
};

// InvalidArgument names a rate, holding or duration that is no positive number. An answer that is
// none of those above ends the churn. The same seed makes the same requests, as long as none is
// refused. What stands at the end stays.
absl::StatusOr<ChurnReport> RunChurn(Row rows, int stages, const ChurnOptions& options,
                                     const ChurnTarget& target);

}  // namespace bfly::control

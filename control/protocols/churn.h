// SPDX-License-Identifier: Apache-2.0
// Circuits that come and go (Cole et al. 1998, section 2.2: the minimum protocol under an oblivious
// adversary), and how congested the links are meanwhile. RunChurn is pure: time is a number, and
// the caller's ChurnTarget sets circuits up.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "topologies/network.h"

namespace bfly::control {

struct ChurnStep {
  bool set_up = false;
  Row input = 0, output = 0;  // a release has an input only
};

// Each line holds one step, "setup INPUT OUTPUT" or "release INPUT". Empty lines and text behind
// '#' are skipped. InvalidArgument names the first wrong line: wrong words, a row out of range, a
// set-up of a busy row, a release of an idle row. `where` names the text.
absl::StatusOr<std::vector<ChurnStep>> ParseChurn(absl::string_view text, Row rows,
                                                  absl::string_view where);

// Steps a second at most. Time counts from 0 in seconds, and would not go on from step to step at
// far higher rates.
inline constexpr double kMaxChurnRate = 1e9;

struct ChurnOptions {
  // Steps a second, at most kMaxChurnRate: Poisson requests, or an adversary's steps, evenly.
  double rate = 1000;
  double holding = 1;   // Poisson: mean seconds that a circuit stands, exponential
  double duration = 1;  // seconds; an adversary ends with its last step
  uint64_t seed = 0;
  int ports = kDirections;        // links that leave a node of the network
  bool straight_is_free = false;  // Network::straight_is_free: only hops that change the row
                                  // count for the congestion
  std::vector<ChurnStep> adversary = {};  // empty: Poisson
  // Rows that circuits of others use: a Poisson request chooses none of them. A row may come twice.
  std::vector<Row> inputs_taken = {}, outputs_taken = {};
};

struct ChurnReport {
  double seconds = 0;     // that the churn lasted
  uint64_t requests = 0;  // Poisson: counts also requests that found no free input or output
  uint64_t set_up = 0;
  uint64_t released = 0;
  uint64_t no_free_row = 0;
  uint64_t busy = 0;         // FailedPrecondition: somebody else uses the input or output
  uint64_t blocked = 0;      // ResourceExhausted: a link had no room, or no path was free
  uint64_t unreachable = 0;  // Unavailable, and the message names a link: no path was whole
  uint64_t gone = 0;         // releases of circuits that somebody else had released
  uint64_t standing = 0;
  uint32_t congestion = 0;           // now
  std::vector<double> seconds_with;  // [k]: seconds the fullest link had k circuits
  double behind = 0;                 // seconds that the last steps were late
  double behind_most = 0;
  std::string first_refusal;  // of the first request that was busy, blocked or unreachable
};

// The path of a circuit: the row at every level, input first, and the port of every hop.
struct ChurnPath {
  ChurnPath() = default;
  ChurnPath(std::vector<Row> path_rows, std::vector<uint32_t> path_ports)
      : rows(std::move(path_rows)), ports(std::move(path_ports)) {}

  std::vector<Row> rows;
  std::vector<uint32_t> ports;
};

// The answer to a set-up: the path, which has one row more than ports, or why it was refused. The
// answer to a release: no rows, or NotFound if the circuit was gone.
using ChurnAnswer = absl::StatusOr<ChurnPath>;

// At most this many steps are carried out together.
inline constexpr size_t kMaxChurnSteps = 1024;

// Sets up and releases circuits for RunChurn.
struct ChurnTarget {
  // Carries out the steps in order and returns one answer for each, or an error that ends the
  // churn. A step may depend on earlier steps of the list, but not on the answer to one of them: it
  // releases only what an earlier call set up.
  std::function<absl::StatusOr<std::vector<ChurnAnswer>>(const std::vector<ChurnStep>&)> execute;
  // Waits until `at` seconds after the start and returns the time it is then, which may be later,
  // so that all steps that are due can be carried out together. Nothing: the churn ends now.
  std::function<std::optional<double>(double at, const ChurnReport&)> wait;
};

// InvalidArgument names a rate, holding or duration that is not a positive number, or a rate above
// kMaxChurnRate. An answer with a status not listed above ends the churn. As long as no request is
// refused, the same seed makes the same requests. Circuits that stand at the end stay.
absl::StatusOr<ChurnReport> RunChurn(Row rows, int stages, const ChurnOptions& options,
                                     const ChurnTarget& target);

}  // namespace bfly::control

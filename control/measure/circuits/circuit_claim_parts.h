// SPDX-License-Identifier: Apache-2.0
// The functions that write claims about circuit protocols.
#pragma once

#include <cmath>
#include <functional>
#include <string>

#include "absl/strings/str_cat.h"
#include "control/measure/circuits/circuit_claims.h"

namespace bfly::control {

inline constexpr char kCole[] = "Cole et al. 1998";

using CircuitReason = std::function<std::string(const CircuitPoint&)>;
using CircuitValue = std::function<double(const CircuitPoint&)>;

inline CircuitReason Only(const std::string& protocol) {
  return [protocol](const CircuitPoint& point) {
    return point.protocol == protocol ? "" : absl::StrCat("is about ", protocol);
  };
}

inline CircuitValue Constant(double value) {
  return [value](const CircuitPoint&) { return value; };
}

inline double Factorial(int k) { return std::tgamma(k + 1); }

// The claim with what it reads. Each looks at one figure, in the trials that measured it;
// "congestion_if_ended" is the congestion of those trials that left no request over.

// The worst value in any trial: one trial that breaks the claim fails it.
Claim InEveryTrial(Claim claim, const std::string& figure);
// The mean, which takes kFewestSeeds trials.
Claim InTheMean(Claim claim, const std::string& figure);
// The mean of a fraction of the n requests: where hardly any is lost the trials may all agree, and
// then their spread says less than what n requests a trial can resolve.
Claim InTheMeanOfRequests(Claim claim, const std::string& figure);
// The share of trials in which the figure is `least` or more. The claim is not applicable where it
// could not fail if that had happened in all trials.
Claim InProbability(Claim claim, const std::string& figure, const CircuitValue& least);

}  // namespace bfly::control

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

// About a protocol on the network that its paper has it on.
inline CircuitReason Only(const std::string& protocol) {
  return [protocol](const CircuitPoint& point) {
    if (point.protocol != protocol) return absl::StrCat("is about ", protocol);
    return point.is_on_own_network()
               ? std::string()
               : absl::StrCat("is about ", protocol, " on the network of the paper");
  };
}

inline CircuitValue Constant(double value) {
  return [value](const CircuitPoint&) { return value; };
}

inline double Factorial(int k) { return std::tgamma(k + 1); }

// Each function returns the claim together with its reading: one figure, in the trials that
// measured it. "congestion_if_ended" is the congestion of the trials that left no request over.

// Reads the worst value of all trials: one trial that breaks the claim fails it.
Claim InEveryTrial(Claim claim, const std::string& figure);
// Reads the mean, which takes kFewestSeeds trials.
Claim InTheMean(Claim claim, const std::string& figure);
// The same for a figure from 0 to 1.
Claim InTheMeanOfFractions(Claim claim, const std::string& figure);
// The same for a count of events, which may be so rare that hardly a trial has one.
Claim InTheMeanOfCounts(Claim claim, const std::string& figure);
// Reads the mean of a fraction of the n requests. If hardly any request is lost the trials may all
// agree; then the interval is at least what n requests a trial can resolve.
Claim InTheMeanOfRequests(Claim claim, const std::string& figure);
// Reads the share of trials in which the figure is `least` or more. The claim is not applicable if
// it could not fail even with the event in all trials.
Claim InProbability(Claim claim, const std::string& figure, const CircuitValue& least);

}  // namespace bfly::control

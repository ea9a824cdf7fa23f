// SPDX-License-Identifier: Apache-2.0
// What the lists of claims about circuit protocols are written with.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "control/measure/circuit_claims.h"

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

std::vector<CircuitClaim> RandomizedClaims();  // collision, minimum, the data server
std::vector<CircuitClaim> BaselineClaims();    // what they are compared with
std::vector<CircuitClaim> TailClaims();        // probabilities

}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
// Statements about circuit protocols that hold at every n, checked against all trials of a point.
// What holds only as n grows is fitted instead (growth_fit.h), and a bound on a probability that is
// above 1 at a point is vacuous there, with what was measured: Theorem 2.1's is n^(-c/4+1+o(1))
// with c = 4.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "control/measure/circuit_point.h"
#include "control/measure/claim.h"

namespace bfly::control {

struct CircuitMeasurement {
  CircuitPoint point;
  std::vector<Trial> trials;

  // NaN in a trial that did not measure it.
  std::vector<double> Values(const std::string& figure) const;
};

struct CircuitClaim {
  std::string id;
  std::string statement;
  std::string source;
  Relation relation;
  // Empty: it is about such points. Otherwise what it is about.
  std::function<std::string(const CircuitPoint&)> about;
  // Empty: applies. Otherwise the reason why it does not, though it is about such points. May be
  // null.
  std::function<std::string(const CircuitPoint&)> not_applicable = {};
  // Empty: theory says something at the point. Otherwise why it says nothing there. May be null.
  std::function<std::string(const CircuitPoint&)> vacuous = {};
  std::function<double(const CircuitPoint&)> theory;
  std::string figure;
  // The statement is about the mean of the figure; otherwise about its worst value in any trial.
  bool mean = false;
  // The figure is a fraction of the n requests: where hardly any is lost the trials may all agree,
  // and then their spread says less than what n requests a trial can resolve.
  bool fraction_of_requests = false;
  // It holds by construction, whatever paths a protocol chooses or on account of the rule by which
  // it chooses them.
  bool invariant = false;
  // Where not null the statement is about the probability that the figure is this or more.
  std::function<double(const CircuitPoint&)> at_least = {};
};

using CircuitClaimResult = ClaimResultAt<CircuitPoint>;

// Empty: the claim applies to such points. Otherwise the reason why it does not.
std::string WhyNot(const CircuitClaim& claim, const CircuitPoint& point);

// Measures what the claim is about; the verdict is left to Decide (family.h). A statement about
// every trial fails if one trial breaks it. One about a mean takes kFewestSeeds trials. One about a
// probability is not applicable where it could not fail if the event happened in all trials.
CircuitClaimResult Examine(const CircuitClaim& claim, const CircuitMeasurement& measurement);

// Rounds of the collision protocol in the proof of Theorem 2.1: ceil(log_c log_(1+eps) n + 2) with
// c! = (1 + eps) log n. NaN where c! <= log n.
double CollisionRoundBound(int d, uint32_t c);
// 4 ceil(loglog n), the congestion of the minimum protocol in the proof of Theorem 2.5.
double MinimumCongestionBound(int d);

const std::vector<CircuitClaim>& CircuitClaims();
// Those named, or all if none is. NotFound lists the known ones.
absl::StatusOr<std::vector<const CircuitClaim*>> CircuitClaimsNamed(
    const std::vector<std::string>& ids);

}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
// Claims of the papers, checked against what was measured at one point.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "control/measure/point.h"
#include "control/measure/statistics.h"

namespace bfly::control {

// A point with all its trials.
struct Measurement {
  Point point;
  std::vector<Trial> trials;

  Estimate delay() const;
  // By how much more packets were born than delivered in the measured time, per unit and row: what
  // is inside grows so fast.
  Estimate growth() const;
  // Of any figure of a trial, over the trials.
  Estimate Over(const std::function<double(const Trial&)>& figure) const;
  Estimate Over(const std::string& figure) const;  // of Trial::figures
  double offered() const;
  double accepted() const;
  // Whether the network has no stationary state: the paper says so (rho >= 1), a link is offered
  // more than it carries, or what was measured says so: packets were left inside for good, less
  // than 97 % of what was offered was delivered, or the packets inside grew, which is to say that
  // their growth is above 0 with a confidence of 99.99 %.
  bool saturated() const;
};

// What became of a claim at a point. Only kPass and kFail are evidence.
enum class Verdict {
  kPass,
  kFail,
  kInvariant,      // holds by construction, and held; where it did not the verdict is kFail
  kVacuous,        // theory says nothing at this size; what was measured is told
  kNotApplicable,  // the claim is not about the point, or too little was measured to judge it
};
inline constexpr Verdict kVerdicts[] = {Verdict::kPass, Verdict::kFail, Verdict::kInvariant,
                                        Verdict::kVacuous, Verdict::kNotApplicable};
// "PASS", "FAIL", "INVARIANT", "VACUOUS", "NOT APPLICABLE".
absl::string_view VerdictName(Verdict verdict);

// A claim compares one measured figure with one computed value.
enum class Relation { kAtMost, kAtLeast, kEqual };

// What was seen of an event whose probability a claim is about.
struct Tail {
  std::string event;  // "congestion >= 8"
  int hits = 0;       // trials in which it happened
  double low95 = 0;   // Clopper-Pearson interval of its probability, 2.5 % on either side
  double high95 = 1;
};

// A claim at a point. P: the kind of point that the experiment sweeps.
template <typename P>
struct ClaimResultAt {
  std::string id;
  std::string statement;
  std::string source;  // paper and statement
  P point;
  double theory = 0;  // what the statement gives at the point
  double measured = 0;
  double ci95 = 0;  // half-width of the 95 % interval of this claim alone, 0 if it has none
  // The interval that decides (family.h): it misses the truth with probability `error` at most.
  // Both ends are `measured` where nothing is random.
  double low = 0;
  double high = 0;
  double error = 0;
  int trials = 0;
  Verdict verdict = Verdict::kNotApplicable;
  std::string reason;  // why it is vacuous or not applicable, or that an invariant is broken
  Relation relation = Relation::kEqual;
  std::optional<Tail> tail = {};  // of claims about a probability
  bool saturated = false;         // the point has no stationary state
  // What Decide needs: whether the verdict depends on the interval, and how.
  bool open = false;
  std::function<Interval(double)> interval = {};
  // Of a probability: the interval if the event had happened in all trials. May be null.
  std::function<Interval(double)> all = {};
  double slack = 0;  // on top of the interval
  bool invariant = false;
  bool above_zero = false;
};
using ClaimResult = ClaimResultAt<Point>;

// Whether theory lies within [low, high], or outside of it on the side that a bound allows.
bool Agrees(Relation relation, double theory, double low, double high);

// kFail where the interval contradicts theory, and otherwise kPass or kInvariant. A claim that
// something is above 0 has no verdict where the interval cannot tell it from 0.
template <typename P>
void JudgeByInterval(ClaimResultAt<P>& result) {
  const bool agrees =
      Agrees(result.relation, result.theory, result.low - result.slack, result.high + result.slack);
  if (agrees && result.above_zero && result.low <= 0 && result.high > 0) {
    result.reason = "the interval holds 0: more seeds or packets would tell";
    return;
  }
  result.verdict = !agrees || (result.above_zero && result.high <= 0) ? Verdict::kFail
                   : result.invariant                                 ? Verdict::kInvariant
                                                                      : Verdict::kPass;
  if (result.invariant && result.verdict == Verdict::kFail) {
    result.reason = "an invariant is broken: the fault is in bfly";
  }
}

struct Claim {
  std::string id;
  std::string statement;
  std::string source;
  Relation relation;
  // Empty: applies. Otherwise the reason why it does not.
  std::function<std::string(const Point&)> not_applicable;
  std::function<double(const Point&)> theory;
  std::function<Reading(const Measurement&)> measured;
  // As not_applicable, where it takes what was measured to know. May be empty.
  std::function<std::string(const Measurement&)> undecided = {};
  // Relative slack on top of the interval, for statements that say "about"; they name it.
  double tolerance = 0;
  // It holds by construction, whatever is measured.
  bool invariant = false;
  // It is about a state that does not depend on when one looks, and so not about saturated points.
  bool stationary = true;
  // It says besides that the figure is above 0.
  bool above_zero = false;
};

// Measures what the claim is about. The verdict is left to Decide (family.h), together with those
// of all other claims of the run.
ClaimResult Examine(const Claim& claim, const Measurement& measurement);

std::vector<Claim> GreedyClaims();      // Stamoulis & Tsitsiklis: FIFO links
std::vector<Claim> LinkUseClaims();     // the same: how much links are used
std::vector<Claim> StabilityClaims();   // the same: where packets pile up
std::vector<Claim> GeneralClaims();     // any network, arrivals and discipline
std::vector<Claim> DisciplineClaims();  // processor sharing and priorities
std::vector<Claim> CoupledClaims();     // FIFO against processor sharing, path by path
std::vector<Claim> RoundsClaims();      // the scheme of Valiant and Brebner
std::vector<Claim> PatternClaims();     // bitrev, transpose, ...

const std::vector<Claim>& AllClaims();
// Those named, or all if none is. NotFound lists the known ones.
absl::StatusOr<std::vector<const Claim*>> ClaimsNamed(const std::vector<std::string>& ids);

}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
// Claims of the papers, checked against what was measured at one point.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "control/experiment/point.h"
#include "control/experiment/statistics.h"

namespace bfly::control {

// A point with all its trials.
struct Measurement {
  Point point;
  std::vector<Trial> trials;

  // From the trials where there are three or more, else from the parts of the measured time.
  Estimate delay() const;
  // Of any figure of a trial, over the trials.
  Estimate Over(const std::function<double(const Trial&)>& figure) const;
  Estimate Over(const std::string& figure) const;  // of Trial::figures
  double offered() const;
  double accepted() const;
  // Whether the network delivered less than 97 % of what was offered, or left packets inside for
  // good.
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

// P: the kind of point that the experiment sweeps.
template <typename P>
struct ClaimResultAt {
  std::string id;
  std::string statement;
  std::string source;  // paper and statement
  P point;
  double theory = 0;  // what the statement gives at the point
  double measured = 0;
  double ci95 = 0;  // half-width
  int trials = 0;
  Verdict verdict = Verdict::kNotApplicable;
  std::string reason;  // why it is vacuous or not applicable, or that an invariant is broken
  Relation relation = Relation::kEqual;
  std::optional<Tail> tail = {};  // of claims about a probability
};
using ClaimResult = ClaimResultAt<Point>;

// What a claim that holds by construction gets: kInvariant where `held`, and the reason why it
// failed.
template <typename P>
void JudgeInvariant(bool held, ClaimResultAt<P>& result) {
  result.verdict = held ? Verdict::kInvariant : Verdict::kFail;
  if (!held) result.reason = "an invariant is broken: the fault is in bfly";
}

// kFail if `theory` lies more than `margin` from `measured` on the wrong side, or on either if they
// should be equal.
Verdict VerdictOf(Relation relation, double theory, double measured, double margin);

struct Claim {
  std::string id;
  std::string statement;
  std::string source;
  Relation relation;
  // Empty: applies. Otherwise the reason why it does not.
  std::function<std::string(const Point&)> not_applicable;
  std::function<double(const Point&)> theory;
  std::function<Estimate(const Measurement&)> measured;
  // As not_applicable, where it takes what was measured to know. May be empty.
  std::function<std::string(const Measurement&)> undecided = {};
  // Relative slack on top of the interval, for statements that say "about"; they name it.
  double tolerance = 0;
  // The measured value is a count over all that happened: it has no interval.
  bool counted = false;
  // It holds by construction, whatever is measured.
  bool invariant = false;
};

// A claim fails if theory lies outside the 99.99 % interval of what was measured, on the wrong side
// for a bound: a true claim then fails once in ten thousand points. The interval reported is the 95
// % one. One trial alone has no interval; claims that need one are then not applicable.
ClaimResult Check(const Claim& claim, const Measurement& measurement);

std::vector<Claim> GreedyClaims();      // Stamoulis & Tsitsiklis: FIFO links
std::vector<Claim> DisciplineClaims();  // processor sharing and priorities
std::vector<Claim> CoupledClaims();     // FIFO against processor sharing, path by path
std::vector<Claim> RoundsClaims();      // the scheme of Valiant and Brebner
std::vector<Claim> PatternClaims();     // bitrev, transpose, ...

const std::vector<Claim>& AllClaims();
// Those named, or all if none is. NotFound lists the known ones.
absl::StatusOr<std::vector<const Claim*>> ClaimsNamed(const std::vector<std::string>& ids);

}  // namespace bfly::control

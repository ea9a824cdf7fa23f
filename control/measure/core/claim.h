// SPDX-License-Identifier: Apache-2.0
// Claims of the papers, checked against the measurement of one point.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "control/measure/core/measurement.h"
#include "control/measure/core/point.h"
#include "control/measure/core/statistics.h"

namespace bfly::control {

// The outcome of a claim at a point. Only kPass and kFail are evidence.
enum class Verdict {
  kPass,
  kFail,
  kInvariant,      // holds by construction, and held; if it does not hold the verdict is kFail
  kVacuous,        // theory says nothing at this size; the measured value is reported
  kNotApplicable,  // the claim is not about the point, or too little was measured to judge it
};
inline constexpr Verdict kVerdicts[] = {Verdict::kPass, Verdict::kFail, Verdict::kInvariant,
                                        Verdict::kVacuous, Verdict::kNotApplicable};
// From the verdict that tells most about a statement to the one that tells least.
inline constexpr Verdict kMostTellingFirst[] = {Verdict::kFail, Verdict::kPass, Verdict::kInvariant,
                                                Verdict::kVacuous, Verdict::kNotApplicable};
// "PASS", "FAIL", "INVARIANT", "VACUOUS", "NOT APPLICABLE".
absl::string_view VerdictName(Verdict verdict);

// A claim compares one measured figure with one computed value.
enum class Relation { kAtMost, kAtLeast, kEqual };

// A claim at a point.
struct ClaimResult {
  std::string id;
  std::string statement;
  std::string source;  // paper and statement
  Point point;
  double theory = 0;  // the value that the statement gives at the point; 0 where seeds are too few
  double measured = 0;
  double ci95 = 0;  // half-width of the 95 % interval of this claim alone, 0 if it has none
  // The interval that decides (family.h) misses the truth with probability `error` at most. Both
  // ends are `measured` if nothing is random.
  double low = 0;
  double high = 0;
  double error = 0;
  int trials = 0;  // trials that were read; 0 if the claim is not about the point
  int points = 1;  // `point` and the others that the row stands for (KeepOneInapplicable)
  Verdict verdict = Verdict::kNotApplicable;
  std::string reason;  // why the verdict is vacuous or not applicable, or that an invariant is
                       // broken
  Relation relation = Relation::kEqual;
  std::optional<Tail> tail = {};  // only for claims about a probability
  bool saturated = false;         // the point has no stationary state
  // Decide reads the fields below: whether the verdict depends on the interval, and how.
  bool open = false;
  std::function<Interval(double)> interval = {};
  // For a probability: the interval that would result if the event had happened in all trials. May
  // be null.
  std::function<Interval(double)> all = {};
  double slack = 0;  // added to the interval on both sides
  bool invariant = false;
  bool above_zero = false;
  bool strict = false;  // a PASS takes an interval without `theory` in it
};

// Whether theory lies within [low, high], or outside of it on the side that a bound allows.
bool Agrees(Relation relation, double theory, double low, double high);

// Whether `a` comes before `b`: by the verdict (kMostTellingFirst), then by the distance from
// theory to the end of the interval that would contradict it, in half-widths of the interval. Among
// results without a width it is the distance of the measured value, as a part of theory. A distance
// that is not a number counts as infinite. The order is a strict weak one.
bool IsCloser(const ClaimResult& a, const ClaimResult& b);

struct Claim {
  std::string id;
  std::string statement;
  std::string source;
  Relation relation = Relation::kEqual;
  // Returns why the claim does not apply at a point, or an empty string if it applies. Null: the
  // claim applies at every point that it is about.
  std::function<std::string(const Point&)> not_applicable = {};
  std::function<double(const Point&)> theory = {};
  std::function<Reading(const Measurement&)> measured = {};
  // Returns why the measurement leaves the claim undecided, or an empty string. May be null.
  std::function<std::string(const Measurement&)> undecided = {};
  // Returns what the claim is about, or an empty string if it is about this point. A report has no
  // row for a claim at a point that the claim is not about. Null: the claim is about every point.
  std::function<std::string(const Point&)> about = {};
  // Returns why theory says nothing at a point, or an empty string if it says something. May be
  // null.
  std::function<std::string(const Point&)> vacuous = {};
  // The relative slack on top of the interval, for statements that say "about". Such a statement
  // names its slack.
  double tolerance = 0;
  // The claim holds by construction, whatever is measured.
  bool invariant = false;
  // The claim is about the stationary state, and so not about saturated points.
  bool stationary = true;
  // The claim also states that the figure is above 0.
  bool above_zero = false;
  // The claim says "below" or "above" theory, and not "at most" or "at least". Then a figure whose
  // interval holds theory gets no verdict.
  bool strict = false;
};

// Returns nothing if the claim is about the point and applies to it, and otherwise the reason why
// not.
std::string WhyNot(const Claim& claim, const Point& point);

// Reads the value that the claim is about. Decide (family.h) gives the verdict, once the results of
// all claims of the run are known.
ClaimResult Examine(const Claim& claim, const Measurement& measurement);

// Returns the claims named, or all known claims if `named` is empty. NotFound lists the known
// claims.
absl::StatusOr<std::vector<const Claim*>> ClaimsNamed(const std::vector<Claim>& known,
                                                      const std::vector<std::string>& ids);

}  // namespace bfly::control

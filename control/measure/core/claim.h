// SPDX-License-Identifier: Apache-2.0
// Claims of the papers, checked against what was measured at one point.
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

// A claim at a point.
struct ClaimResult {
  std::string id;
  std::string statement;
  std::string source;  // paper and statement
  Point point;
  double theory = 0;  // what the statement gives at the point
  double measured = 0;
  double ci95 = 0;  // half-width of the 95 % interval of this claim alone, 0 if it has none
  // The interval that decides (family.h): it misses the truth with probability `error` at most.
  // Both ends are `measured` where nothing is random.
  double low = 0;
  double high = 0;
  double error = 0;
  int trials = 0;  // that were read; 0 where the claim is not about the point
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

// Whether theory lies within [low, high], or outside of it on the side that a bound allows.
bool Agrees(Relation relation, double theory, double low, double high);

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
  // Relative slack on top of the interval, for statements that say "about"; they name it.
  double tolerance = 0;
  // It holds by construction, whatever is measured.
  bool invariant = false;
  // It is about a state that does not depend on when one looks, and so not about saturated points.
  bool stationary = true;
  // It says besides that the figure is above 0.
  bool above_zero = false;
};

// Empty: the claim is about the point and applies to it. Otherwise the reason why not.
std::string WhyNot(const Claim& claim, const Point& point);

// Measures what the claim is about. The verdict is left to Decide (family.h), together with those
// of all other claims of the run.
ClaimResult Examine(const Claim& claim, const Measurement& measurement);

// Those named of the known ones, or all if none is. NotFound lists them.
absl::StatusOr<std::vector<const Claim*>> ClaimsNamed(const std::vector<Claim>& known,
                                                      const std::vector<std::string>& ids);

}  // namespace bfly::control

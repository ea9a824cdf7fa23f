// SPDX-License-Identifier: Apache-2.0
#include "control/measure/core/claim.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace bfly::control {
namespace {

// Returns the reason why what was measured at a point that the claim is about decides nothing, or
// nothing if it can decide.
std::string WhyUndecided(const Claim& claim, const Measurement& measurement) {
  if (claim.stationary && measurement.saturated) {
    return "the network is saturated: it has no stationary state";
  }
  return claim.undecided ? claim.undecided(measurement) : "";
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// How far the measured value is from the limit, on the side where the claim holds, as a part of
// theory. For an equality it is 0 at best.
double RelativeRoom(const ClaimResult& claim) {
  const double scale = claim.theory == 0 ? 1 : std::fabs(claim.theory);
  const double below = (claim.theory - claim.measured) / scale;
  if (std::isnan(below)) return kInfinity;
  if (claim.relation == Relation::kEqual) return -std::fabs(below);
  return claim.relation == Relation::kAtMost ? below : -below;
}

// How far the interval's end that would contradict the claim is from theory, in half-widths.
double RoomInHalfWidths(const ClaimResult& claim) {
  const double half = (claim.high - claim.low) / 2;
  if (half == 0) {
    return claim.verdict == Verdict::kFail ? -kInfinity : kInfinity;
  }
  const double to_low = (claim.theory - claim.low) / half;
  const double to_high = (claim.high - claim.theory) / half;
  const double room = claim.relation == Relation::kAtMost    ? to_low
                      : claim.relation == Relation::kAtLeast ? to_high
                                                             : std::min(to_low, to_high);
  return std::isnan(room) ? kInfinity : room;
}

}  // namespace

absl::string_view VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPass:
      return "PASS";
    case Verdict::kFail:
      return "FAIL";
    case Verdict::kInvariant:
      return "INVARIANT";
    case Verdict::kVacuous:
      return "VACUOUS";
    case Verdict::kNotApplicable:
      break;
  }
  return "NOT APPLICABLE";
}

bool Agrees(Relation relation, double theory, double low, double high) {
  const bool low_enough = low <= theory, high_enough = high >= theory;
  return (relation == Relation::kAtLeast || low_enough) &&
         (relation == Relation::kAtMost || high_enough);
}

bool IsCloser(const ClaimResult& a, const ClaimResult& b) {
  const auto rank = [](const ClaimResult& c) {
    const auto* const verdict =
        std::find(std::begin(kMostTellingFirst), std::end(kMostTellingFirst), c.verdict);
    return std::tuple(verdict - kMostTellingFirst, RoomInHalfWidths(c), RelativeRoom(c));
  };
  return rank(a) < rank(b);
}

std::string WhyNot(const Claim& claim, const Point& point) {
  std::string reason = claim.about ? claim.about(point) : "";
  if (reason.empty() && claim.not_applicable) reason = claim.not_applicable(point);
  return reason;
}

ClaimResult Examine(const Claim& claim, const Measurement& measurement) {
  ClaimResult result{.id = claim.id,
                     .statement = claim.statement,
                     .source = claim.source,
                     .point = measurement.point,
                     .reason = WhyNot(claim, measurement.point),
                     .relation = claim.relation,
                     .saturated = measurement.saturated,
                     .invariant = claim.invariant,
                     .above_zero = claim.above_zero};
  if (!result.reason.empty()) return result;
  result.trials = static_cast<int>(measurement.trials.size());
  result.reason = WhyUndecided(claim, measurement);
  if (!result.reason.empty()) return result;
  Reading reading = claim.measured(measurement);
  result.measured = reading.value;
  result.trials = reading.trials;
  result.ci95 = reading.HalfWidth95();
  result.tail = std::move(reading.tail);
  result.interval = std::move(reading.interval);
  result.all = std::move(reading.all);
  result.strict = claim.strict || reading.rare;
  result.reason = claim.vacuous && reading.trials > 0 ? claim.vacuous(measurement.point) : "";
  if (!result.reason.empty()) {
    result.verdict = Verdict::kVacuous;
  } else {
    result.reason = std::isfinite(reading.value) ? reading.doubt : "no trial measured it";
    result.open = result.reason.empty();
  }
  // Computing theory can take seconds.
  if (!reading.doubt.empty() && result.verdict != Verdict::kVacuous) return result;
  result.theory = claim.theory(measurement.point);
  // Sums of fractions are exact to some 1e-12.
  result.slack =
      1e-10 * std::max(1.0, std::abs(result.theory)) + claim.tolerance * std::abs(result.theory);
  return result;
}

absl::StatusOr<std::vector<const Claim*>> ClaimsNamed(const std::vector<Claim>& known,
                                                      const std::vector<std::string>& ids) {
  std::vector<const Claim*> claims;
  if (ids.empty()) {
    for (const Claim& claim : known) claims.push_back(&claim);
  }
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto named = std::find_if(known.begin(), known.end(),
                                    [&](const Claim& claim) { return claim.id == ids[i]; });
    if (named == known.end()) {
      const auto id = [](std::string* out, const Claim& claim) { out->append(claim.id); };
      return absl::NotFoundError(
          absl::StrCat("claims[", i, "]: \"", ids[i],
                       "\" is unknown (allowed: ", absl::StrJoin(known, ", ", id), ")"));
    }
    claims.push_back(&*named);
  }
  return claims;
}

}  // namespace bfly::control

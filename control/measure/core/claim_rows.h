// SPDX-License-Identifier: Apache-2.0
// Checked claims as rows of a table for people, and of results.json.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "control/measure/core/claim.h"
#include "control/measure/core/family.h"

namespace bfly::control {

// How many pairs of a claim and a point got the verdict: a row counts for all its points.
int CountVerdicts(const std::vector<ClaimResult>& claims, Verdict verdict);
// How many claims and points got each verdict, in the order of kVerdicts: "12 PASS, 0 FAIL, ...".
std::string VerdictCounts(const std::vector<ClaimResult>& claims);
// The same as {"PASS": 12, ...}.
nlohmann::ordered_json VerdictsJson(const std::vector<ClaimResult>& claims);
nlohmann::ordered_json FamilyJson(const Family& family);
std::string FamilyText(const Family& family);

// Returns the claims that a file names and that were judged at no point, each with a reason:
// "little: 3 seeds are too few".
std::vector<std::string> NamedButNotJudged(const std::vector<ClaimResult>& claims,
                                           const std::vector<std::string>& named);

// Of a claim that applies to no point, keeps one result for each reason, which counts its points,
// so that the claim is not listed at every point. Reasons of points that the claim is not about
// come last.
void KeepOneInapplicable(std::vector<ClaimResult>& claims);

nlohmann::ordered_json ClaimsJson(const std::vector<ClaimResult>& claims);

// The interval that decides, as "[0.49, 0.51]", or "exact".
std::string IntervalText(const ClaimResult& claim);

// Writes one line for each claim and point, failures first. With `all`, one line follows for each
// claim that does not apply, with the reason.
std::string ClaimRows(const std::vector<ClaimResult>& claims, bool all);

}  // namespace bfly::control

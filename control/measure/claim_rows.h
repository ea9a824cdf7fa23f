// SPDX-License-Identifier: Apache-2.0
// Checked claims as rows: of a table for people, and of results.json. The same for every kind of
// point that an experiment sweeps.
#pragma once

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "control/measure/claim.h"
#include "control/measure/family.h"
#include "control/measure/json_number.h"

namespace bfly::control {

template <typename P>
int CountVerdicts(const std::vector<ClaimResultAt<P>>& claims, Verdict verdict) {
  return static_cast<int>(std::count_if(
      claims.begin(), claims.end(), [&](const auto& claim) { return claim.verdict == verdict; }));
}

// How many claims and points got each verdict, in the order of kVerdicts: "12 PASS, 0 FAIL, ...".
template <typename P>
std::string VerdictCounts(const std::vector<ClaimResultAt<P>>& claims) {
  std::string counts;
  for (const Verdict verdict : kVerdicts) {
    absl::StrAppendFormat(&counts, "%s%d %s", counts.empty() ? "" : ", ",
                          CountVerdicts(claims, verdict), std::string(VerdictName(verdict)));
  }
  return counts;
}

// The same as {"PASS": 12, ...}.
template <typename P>
nlohmann::ordered_json VerdictsJson(const std::vector<ClaimResultAt<P>>& claims) {
  nlohmann::ordered_json counts = nlohmann::ordered_json::object();
  for (const Verdict verdict : kVerdicts) {
    counts[std::string(VerdictName(verdict))] = CountVerdicts(claims, verdict);
  }
  return counts;
}

inline nlohmann::ordered_json FamilyJson(const Family& family) {
  return {{"error", family.family_error}, {"tests", family.tests}};
}

inline std::string FamilyText(const Family& family) {
  if (family.tests == 0) return "No claim was judged by an interval.\n";
  return absl::StrFormat(
      "The intervals decide: each of %d tests misses the truth with probability %.2g at most, so "
      "that all hold it with probability %g.\n",
      family.tests, family.error(), 1 - family.family_error);
}

// Of the claims that a file names those that were judged at no point, each with a reason:
// "little: 3 seeds are too few".
template <typename P, typename Names>
std::vector<std::string> NamedButNotJudged(const std::vector<ClaimResultAt<P>>& claims,
                                           const Names& named) {
  std::vector<std::string> unjudged;
  for (const std::string& id : named) {
    const ClaimResultAt<P>* without = nullptr;
    bool judged = false;
    for (const ClaimResultAt<P>& claim : claims) {
      if (claim.id != id) continue;
      judged = judged || claim.verdict != Verdict::kNotApplicable;
      // The reason of a point that it is about, where there is one, says more.
      if (without == nullptr || claim.trials > 0) without = &claim;
    }
    if (!judged && without != nullptr) unjudged.push_back(absl::StrCat(id, ": ", without->reason));
  }
  return unjudged;
}

// A claim that applies to no point says so once, not at every point.
template <typename P>
void SayOnceWhatAppliesNowhere(std::vector<ClaimResultAt<P>>& claims) {
  std::set<std::string> apply, said;
  for (const auto& claim : claims) {
    if (claim.verdict != Verdict::kNotApplicable) apply.insert(claim.id);
  }
  std::erase_if(claims, [&](const auto& claim) {
    return !apply.contains(claim.id) && !said.insert(claim.id).second;
  });
}

// `point_json` gives the JSON of a point.
template <typename P, typename PointJson>
nlohmann::ordered_json ClaimsJson(const std::vector<ClaimResultAt<P>>& claims,
                                  const PointJson& point_json) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const auto& c : claims) {
    nlohmann::ordered_json row{{"id", c.id},
                               {"statement", c.statement},
                               {"source", c.source},
                               {"point", point_json(c.point)},
                               {"theory", c.theory},
                               {"measured", c.measured},
                               {"ci95", JsonNumber(c.ci95)},
                               {"low", JsonNumber(c.low)},
                               {"high", JsonNumber(c.high)},
                               {"error", c.error},
                               {"trials", c.trials},
                               {"verdict", std::string(VerdictName(c.verdict))}};
    if (!c.reason.empty()) row["reason"] = c.reason;
    if (c.saturated) row["saturated"] = true;
    if (c.tail) {
      row["tail"] = {{"event", c.tail->event},
                     {"trials", c.tail->hits},
                     {"low95", c.tail->low95},
                     {"high95", c.tail->high95}};
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

template <typename P>
std::string PointText(const ClaimResultAt<P>& claim) {
  return absl::StrCat(claim.point.ToString(), claim.saturated ? " saturated" : "");
}

// The interval that decides, as "[0.49, 0.51]", or "exact".
template <typename P>
std::string IntervalText(const ClaimResultAt<P>& claim) {
  if (claim.error == 0) return "exact";
  return absl::StrFormat("[%.5g, %.5g]", claim.low, claim.high);
}

// One claim and point a line, failures first; then, with `all`, one line for a claim and the reason
// why it does not apply.
template <typename P>
std::string ClaimRows(const std::vector<ClaimResultAt<P>>& claims, bool all) {
  std::vector<const ClaimResultAt<P>*> rows, unapplied;
  std::map<std::pair<std::string, std::string>, int> reasons;  // points with it
  size_t width = 26;
  for (const auto& c : claims) {
    if (c.verdict == Verdict::kNotApplicable) {
      if (const auto [at, is_new] = reasons.try_emplace({c.id, c.reason}, 0);
          ++at->second, is_new) {
        unapplied.push_back(&c);
      }
      continue;
    }
    rows.push_back(&c);
    width = std::max(width, PointText(c).size());
  }
  std::stable_sort(rows.begin(), rows.end(), [](const auto* a, const auto* b) {
    return a->verdict == Verdict::kFail && b->verdict != Verdict::kFail;
  });
  const int w = static_cast<int>(width);
  std::string table = absl::StrFormat("%-25s %-*s %11s %11s %24s %6s  %s\n", "claim", w, "point",
                                      "theory", "measured", "interval", "trials", "verdict");
  for (const auto* c : rows) {
    absl::StrAppendFormat(
        &table, "%-25s %-*s %11.5g %11.5g %24s %6d  %s\n", c->id, w, PointText(*c), c->theory,
        c->measured, IntervalText(*c), c->trials,
        absl::StrCat(VerdictName(c->verdict), c->reason.empty() ? "" : ": ", c->reason));
  }
  if (!all) return table;
  for (const auto* c : unapplied) {
    const int points = reasons[{c->id, c->reason}];
    absl::StrAppendFormat(&table, "%-25s NOT APPLICABLE at %d point%s: %s\n", c->id, points,
                          points == 1 ? "" : "s", c->reason);
  }
  return table;
}

}  // namespace bfly::control

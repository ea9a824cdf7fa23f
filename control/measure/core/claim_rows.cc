// SPDX-License-Identifier: Apache-2.0
#include "control/measure/core/claim_rows.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "control/measure/core/json_number.h"

namespace bfly::control {
namespace {

using Json = nlohmann::ordered_json;

std::string PointText(const ClaimResult& claim) {
  return absl::StrCat(claim.point.ToString(), claim.saturated ? " saturated" : "");
}

}  // namespace

int CountVerdicts(const std::vector<ClaimResult>& claims, Verdict verdict) {
  int points = 0;
  for (const ClaimResult& claim : claims) points += claim.verdict == verdict ? claim.points : 0;
  return points;
}

std::string VerdictCounts(const std::vector<ClaimResult>& claims) {
  std::string counts;
  for (const Verdict verdict : kVerdicts) {
    absl::StrAppendFormat(&counts, "%s%d %s", counts.empty() ? "" : ", ",
                          CountVerdicts(claims, verdict), std::string(VerdictName(verdict)));
  }
  return counts;
}

Json VerdictsJson(const std::vector<ClaimResult>& claims) {
  Json counts = Json::object();
  for (const Verdict verdict : kVerdicts) {
    counts[std::string(VerdictName(verdict))] = CountVerdicts(claims, verdict);
  }
  return counts;
}

Json FamilyJson(const Family& family) {
  return {{"error", family.family_error}, {"tests", family.tests}};
}

std::string FamilyText(const Family& family) {
  if (family.tests == 0) return "No claim was judged by an interval.\n";
  return absl::StrFormat(
      "The intervals decide: each of %d tests fails a true claim with probability at most %.2g, so "
      "with probability at least %g no true claim fails.\n",
      family.tests, family.error(), 1 - family.family_error);
}

std::vector<std::string> NamedButNotJudged(const std::vector<ClaimResult>& claims,
                                           const std::vector<std::string>& named) {
  std::vector<std::string> unjudged;
  for (const std::string& id : named) {
    const ClaimResult* without = nullptr;
    bool judged = false;
    for (const ClaimResult& claim : claims) {
      if (claim.id != id) continue;
      judged = judged || claim.verdict != Verdict::kNotApplicable;
      // A reason from a point that the claim is about says more than one from another point.
      if (without == nullptr || claim.trials > 0) without = &claim;
    }
    if (!judged && without != nullptr) unjudged.push_back(absl::StrCat(id, ": ", without->reason));
  }
  return unjudged;
}

void KeepOneInapplicable(std::vector<ClaimResult>& claims) {
  std::set<std::string> apply;
  for (const ClaimResult& claim : claims) {
    if (claim.verdict != Verdict::kNotApplicable) apply.insert(claim.id);
  }
  std::vector<ClaimResult> kept;
  std::map<std::pair<std::string, std::string>, size_t> places;  // of (id, reason) in `kept`
  for (ClaimResult& claim : claims) {
    if (!apply.contains(claim.id)) {
      const auto [at, is_new] = places.try_emplace({claim.id, claim.reason}, kept.size());
      if (!is_new) {
        kept[at->second].points += claim.points;
        continue;
      }
    }
    kept.push_back(std::move(claim));
  }
  std::stable_partition(kept.begin(), kept.end(), [&](const ClaimResult& claim) {
    return apply.contains(claim.id) || claim.trials > 0;
  });
  claims = std::move(kept);
}

Json ClaimsJson(const std::vector<ClaimResult>& claims) {
  Json rows = Json::array();
  for (const ClaimResult& c : claims) {
    Json row{{"id", c.id},
             {"statement", c.statement},
             {"source", c.source},
             {"point", c.point.json()},
             {"theory", c.theory},
             {"measured", c.measured},
             {"ci95", JsonNumber(c.ci95)},
             {"low", JsonNumber(c.low)},
             {"high", JsonNumber(c.high)},
             {"error", c.error},
             {"trials", c.trials},
             {"verdict", std::string(VerdictName(c.verdict))}};
    if (!c.reason.empty()) row["reason"] = c.reason;
    if (c.points > 1) row["points"] = c.points;
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

std::string IntervalText(const ClaimResult& claim) {
  if (claim.error == 0) return "exact";
  return absl::StrFormat("[%.5g, %.5g]", claim.low, claim.high);
}

std::string ClaimRows(const std::vector<ClaimResult>& claims, bool all) {
  std::vector<const ClaimResult*> rows, unapplied;
  std::map<std::pair<std::string, std::string>, int> reasons;  // to the number of points with this
                                                               // reason
  size_t width = 26;
  for (const ClaimResult& c : claims) {
    if (c.verdict == Verdict::kNotApplicable) {
      if (const auto [at, is_new] = reasons.try_emplace({c.id, c.reason}, 0);
          at->second += c.points, is_new) {
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

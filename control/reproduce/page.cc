// SPDX-License-Identifier: Apache-2.0
#include "control/reproduce/page.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace bfly::control {
namespace {

// Why the results of an unmeasured statement have no verdict, each reason once.
constexpr size_t kMostReasons = 3;

Evidence EvidenceOf(const std::string& id, const ExperimentOutcome& outcome) {
  Evidence evidence{.experiment = outcome.name, .points = {}, .not_applicable = "", .closest = {}};
  for (const ClaimResult& result : outcome.results) {
    if (result.id != id) continue;
    ++evidence.points[result.verdict];
    if (result.verdict != Verdict::kNotApplicable) {
      evidence.closest.push_back(result);
    } else if (evidence.not_applicable.empty()) {
      evidence.not_applicable = result.reason;
    }
  }
  evidence.judged = evidence.closest.size();
  std::stable_sort(evidence.closest.begin(), evidence.closest.end(), IsCloser);
  if (evidence.closest.size() > kMostPoints) evidence.closest.resize(kMostPoints);
  return evidence;
}

void AddReasons(const std::string& id, const ExperimentOutcome& outcome,
                std::vector<std::string>& reasons) {
  const auto add = [&](const std::string& reason) {
    const std::string text = absl::StrCat(outcome.name, ": ", reason);
    if (reasons.size() < kMostReasons &&
        std::find(reasons.begin(), reasons.end(), text) == reasons.end()) {
      reasons.push_back(text);
    }
  };
  if (!outcome.finished) return add("has not run yet");
  bool has_result = false;
  for (const ClaimResult& result : outcome.results) {
    if (result.id != id) continue;
    has_result = true;
    add(result.reason);
  }
  if (!has_result) add("it is about none of the points");
}

// A claim with the outcomes that check it.
struct Checked {
  const CheckedClaim* claim = nullptr;
  std::vector<const ExperimentOutcome*> by;

  bool IsAboutAPointOf(const ExperimentOutcome& outcome) const {
    return std::any_of(outcome.results.begin(), outcome.results.end(),
                       [&](const auto& result) { return result.id == claim->id; });
  }
  bool JudgedBy(const ExperimentOutcome& outcome) const {
    return std::any_of(outcome.results.begin(), outcome.results.end(), [&](const auto& result) {
      return result.id == claim->id && result.verdict != Verdict::kNotApplicable;
    });
  }
};

// All claims, each once, in the order of the outcomes and of their lists.
std::vector<Checked> ClaimsOf(const std::vector<ExperimentOutcome>& outcomes) {
  std::vector<Checked> claims;
  std::map<std::pair<std::string, std::string>, size_t> place;  // of (id, statement)
  for (const ExperimentOutcome& outcome : outcomes) {
    for (const CheckedClaim& claim : outcome.claims) {
      const auto [at, is_new] = place.try_emplace({claim.id, claim.statement}, claims.size());
      if (is_new) claims.push_back({.claim = &claim, .by = {}});
      claims[at->second].by.push_back(&outcome);
    }
  }
  return claims;
}

// Empty: the claim names no paper, and it is about none of the points that were run. A kind of
// experiment lists the claims of all its programs, so a claim may be listed without being checked.
std::string PaperOf(const v1::Reproduction& list, const Checked& checked) {
  for (const v1::Paper& paper : list.papers()) {
    for (const std::string& name : paper.cited_as()) {
      if (absl::StrContains(checked.claim->source, name)) return paper.name();
    }
  }
  for (const ExperimentOutcome* outcome : checked.by) {
    if (checked.JudgedBy(*outcome)) return outcome->paper;
  }
  for (const ExperimentOutcome* outcome : checked.by) {
    if (!outcome->finished || checked.IsAboutAPointOf(*outcome)) return outcome->paper;
  }
  return "";
}

// "Cole et al. 1998, section 2.1" as "Section 2.1", where the paper is the one that the part is
// about.
std::string WithoutPaper(const std::string& source, const v1::Paper& paper) {
  for (const std::string& name : paper.cited_as()) {
    absl::string_view rest = source;
    if (!absl::ConsumePrefix(&rest, name)) continue;
    absl::ConsumePrefix(&rest, " ");
    while (!rest.empty() && absl::ascii_isdigit(static_cast<unsigned char>(rest[0]))) {
      rest.remove_prefix(1);
    }
    if (!absl::ConsumePrefix(&rest, ", ") || rest.empty()) continue;
    std::string text(rest);
    text[0] = absl::ascii_toupper(static_cast<unsigned char>(text[0]));
    return text;
  }
  return source;
}

Statement StatementOf(const Checked& checked, const v1::Paper& paper) {
  Statement statement{.id = checked.claim->id,
                      .statement = checked.claim->statement,
                      .source = WithoutPaper(checked.claim->source, paper),
                      .evidence = {},
                      .reasons = {},
                      .differences = {}};
  for (const ExperimentOutcome* outcome : checked.by) {
    if (checked.JudgedBy(*outcome)) {
      statement.evidence.push_back(EvidenceOf(statement.id, *outcome));
    }
  }
  if (statement.evidence.empty()) {
    for (const ExperimentOutcome* outcome : checked.by)
      AddReasons(statement.id, *outcome, statement.reasons);
  }
  for (int i = 0; i < paper.differences_size(); ++i) {
    const auto& claims = paper.differences(i).claims();
    if (std::find(claims.begin(), claims.end(), statement.id) != claims.end()) {
      statement.differences.push_back(i);
    }
  }
  return statement;
}

}  // namespace

std::optional<Verdict> Statement::verdict() const {
  for (const Verdict verdict : kMostTellingFirst) {
    if (verdict == Verdict::kNotApplicable) break;
    for (const Evidence& one : evidence) {
      if (one.points.contains(verdict)) return verdict;
    }
  }
  return std::nullopt;
}

std::string StandingName(const std::optional<Verdict>& verdict) {
  return verdict ? std::string(VerdictName(*verdict)) : "NOT MEASURED";
}

int PaperPart::Count(const std::optional<Verdict>& standing) const {
  const auto count = std::count_if(statements.begin(), statements.end(),
                                   [&](const auto& s) { return s.verdict() == standing; });
  return static_cast<int>(count) + (standing ? 0 : static_cast<int>(not_measured.size()));
}

int PaperPart::Points(Verdict verdict) const {
  int points = 0;
  for (const Statement& statement : statements) {
    for (const Evidence& one : statement.evidence) {
      const auto found = one.points.find(verdict);
      if (found != one.points.end()) points += found->second;
    }
  }
  return points;
}

int Page::Count(const std::optional<Verdict>& standing) const {
  int count = 0;
  for (const PaperPart& paper : papers) count += paper.Count(standing);
  return count;
}

Page MakePage(const v1::Reproduction& list, const std::vector<std::string>& chosen,
              const std::vector<ExperimentOutcome>& outcomes, bool quick,
              const Provenance& provenance) {
  Page page{.papers = {}, .provenance = provenance, .quick = quick, .planned = outcomes.size()};
  for (const ExperimentOutcome& outcome : outcomes) {
    page.finished += outcome.finished ? 1 : 0;
    page.seconds += outcome.seconds;
  }
  const std::vector<Checked> claims = ClaimsOf(outcomes);
  for (const v1::Paper& paper : list.papers()) {
    const bool is_chosen = std::find(chosen.begin(), chosen.end(), paper.name()) != chosen.end();
    PaperPart part{.name = paper.name(),
                   .title = paper.title(),
                   .authors = paper.authors(),
                   .statements = {},
                   .differences = {paper.differences().begin(), paper.differences().end()},
                   .not_measured = {},
                   .experiments = {}};
    for (const Checked& checked : claims) {
      if (PaperOf(list, checked) != paper.name()) continue;
      Statement statement = StatementOf(checked, paper);
      if (is_chosen || statement.verdict()) part.statements.push_back(std::move(statement));
    }
    std::stable_partition(
        part.statements.begin(), part.statements.end(),
        [](const Statement& statement) { return statement.verdict().has_value(); });
    for (const ExperimentOutcome& outcome : outcomes) {
      if (outcome.paper == paper.name()) part.experiments.push_back(&outcome);
    }
    if (is_chosen) {
      part.not_measured.assign(paper.not_measured().begin(), paper.not_measured().end());
    }
    if (is_chosen || !part.statements.empty()) page.papers.push_back(std::move(part));
  }
  return page;
}

}  // namespace bfly::control

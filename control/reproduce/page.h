// SPDX-License-Identifier: Apache-2.0
// The page of a reproduction as plain values: papers, their statements, and what was measured.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bfly/v1/reproduction.pb.h"
#include "control/measure/core/claim.h"
#include "control/reproduce/outcome.h"

namespace bfly::control {

// What measured, and how to measure it again.
struct Provenance {
  std::string version;   // of bfly, with its commit
  std::string compiler;  // that built it
  std::string machine;   // where the page was made
  std::string day;       // when the page was made
  std::string command;
};

// What one experiment says about one statement.
struct Evidence {
  std::string experiment;
  std::map<Verdict, int> points;     // the number of points with each verdict
  std::string not_applicable;        // the reason of the first point that is not applicable
  std::vector<ClaimResult> closest;  // the other points, in the order of IsCloser (claim.h);
                                     // kMostPoints of them at most
  size_t judged = 0;                 // all points but those that are not applicable
};
inline constexpr size_t kMostPoints = 12;

struct Statement {
  std::string id;
  std::string statement;
  std::string source;                // without the name of the paper that it stands under
  std::vector<Evidence> evidence;    // only of experiments that judged the statement at some point
  std::vector<std::string> reasons;  // why it is not measured, if there is no evidence
  std::vector<int> differences;      // places in PaperPart::differences

  // The most telling verdict of all points: FAIL, PASS, INVARIANT, VACUOUS. Nothing: it is not
  // measured.
  std::optional<Verdict> verdict() const;
};

// The standing of a statement as a word: a verdict's name or "NOT MEASURED".
std::string StandingName(const std::optional<Verdict>& verdict);

struct PaperPart {
  std::string name;
  std::string title;
  std::string authors;
  std::vector<Statement> statements;  // those that are not measured come last
  std::vector<v1::Difference> differences;
  std::vector<v1::UnmeasuredStatement> not_measured;
  std::vector<const ExperimentOutcome*> experiments;

  // Statements with this standing; those of `not_measured` count too.
  int Count(const std::optional<Verdict>& standing) const;
  // Pairs of a claim and a point with this verdict.
  int Points(Verdict verdict) const;
};

struct Page {
  std::vector<PaperPart> papers;
  Provenance provenance;
  bool quick = false;
  size_t finished = 0, planned = 0;  // experiments
  double seconds = 0;                // that all experiments took

  bool complete() const { return finished == planned; }
  int Count(const std::optional<Verdict>& standing) const;
};

// Sorts every claim of every outcome into the papers, each claim once: into the first paper that
// its source names or, if it names none, into that of the experiment that judges it. A paper that
// is not in `chosen` only appears with statements that an outcome judged. The page points into
// `outcomes`.
Page MakePage(const v1::Reproduction& list, const std::vector<std::string>& chosen,
              const std::vector<ExperimentOutcome>& outcomes, bool quick,
              const Provenance& provenance);

}  // namespace bfly::control

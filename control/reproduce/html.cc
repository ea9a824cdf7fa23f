// SPDX-License-Identifier: Apache-2.0
#include "control/reproduce/html.h"

#include <ctemplate/template.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "control/measure/core/claim_rows.h"
#include "control/plot/palette.h"
#include "control/reproduce/duration_text.h"
#include "control/reproduce/inline_svg.h"
#include "control/reproduce/page_template.h"
#include "control/reproduce/shell_word.h"

namespace bfly::control {
namespace {

using Dictionary = ctemplate::TemplateDictionary;
using Standing = std::optional<Verdict>;

// The columns of the first table: how a statement can stand.
const std::vector<Standing>& Standings() {
  static const std::vector<Standing> all = {Verdict::kPass, Verdict::kFail, Verdict::kInvariant,
                                            Verdict::kVacuous, std::nullopt};
  return all;
}

std::string ClassOf(const Standing& standing) {
  return absl::StrReplaceAll(StandingName(standing), {{" ", "-"}});
}

std::string Counted(size_t count, const char* thing) {
  return absl::StrCat(count, " ", thing, count == 1 ? "" : "s");
}

std::string Number(double value) {
  return std::isnan(value) ? "–" : absl::StrFormat("%.5g", value);
}

std::string TheoryText(const ClaimResult& claim) {
  const char* sign = claim.relation == Relation::kEqual    ? "= "
                     : claim.relation == Relation::kAtMost ? "≤ "
                                                           : "≥ ";
  return sign + Number(claim.theory);
}

// "12 PASS, 1 FAIL, 2 NOT APPLICABLE: 3 seeds are too few for a verdict, which takes 10".
std::string CountsText(const Evidence& evidence) {
  std::string text;
  for (const Verdict verdict : kVerdicts) {
    const auto found = evidence.points.find(verdict);
    if (found == evidence.points.end()) continue;
    absl::StrAppend(&text, text.empty() ? "" : ", ", found->second, " ", VerdictName(verdict));
  }
  if (!evidence.not_applicable.empty()) absl::StrAppend(&text, ": ", evidence.not_applicable);
  return text;
}

std::string ModeText(const Page& page) {
  return page.quick ? "quick run with smaller sweeps" : "full run";
}

void SetColours(Dictionary& page, const char* section, const Palette& palette) {
  const auto add = [&](const std::string& name, const char* colour) {
    Dictionary& one = *page.AddSectionDictionary(section);
    one.SetValue("NAME", name);
    one.SetValue("COLOUR", colour);
  };
  add("paper", palette.paper);
  add("ink", palette.ink);
  add("faint", palette.faint);
  add("frame", palette.frame);
  for (size_t i = 0; i < palette.curves.size(); ++i) {
    add(absl::StrCat("curve", i), palette.curves[i]);
  }
}

void SetPoint(Dictionary& row, const ClaimResult& claim, const char* note) {
  row.SetValue("POINT", claim.point.ToString());
  row.SetValue("THEORY", TheoryText(claim));
  row.SetValue("MEASURED", Number(claim.measured));
  row.SetValue("INTERVAL", IntervalText(claim));
  row.SetIntValue("TRIALS", claim.trials);
  row.SetValue("VERDICT", std::string(VerdictName(claim.verdict)));
  if (!claim.reason.empty()) row.SetValueAndShowSection("NOTE_TEXT", claim.reason, note);
}

class Writer {
 public:
  explicit Writer(const Page& page) : page_(page), root_("page") {}

  absl::StatusOr<std::string> Text() {
    SetColours(root_, "LIGHT", kLightPalette);
    SetColours(root_, "DARK", kDarkPalette);
    root_.SetValue("SVG_RULES", SvgColourRules());
    SetHead();
    SetSummary();
    for (const PaperPart& paper : page_.papers) SetPaper(paper);
    SetFailures();
    constexpr char kName[] = "page.tpl";
    ctemplate::TemplateCache cache;
    std::string text;
    if (!cache.StringToTemplateCache(kName, kPageTemplate, ctemplate::DO_NOT_STRIP) ||
        !cache.ExpandWithData(kName, ctemplate::DO_NOT_STRIP, &root_, nullptr, &text)) {
      return absl::InternalError("the template of the page (control/reproduce/page.tpl) is broken");
    }
    return text;
  }

 private:
  void SetHead() {
    const Provenance& made = page_.provenance;
    root_.SetValue("VERSION", made.version);
    root_.SetValue("COMPILER", made.compiler);
    root_.SetValue("MACHINE", Machines());
    root_.SetValue("DAY", made.day);
    root_.SetValue("COMMAND", made.command);
    root_.SetValue("MODE", ModeText(page_));
    root_.SetValue("TIME", DurationText(page_.seconds));
    root_.SetValue("EXPERIMENTS", Counted(page_.finished, "experiment"));
    if (page_.complete()) return;
    Dictionary& incomplete = *root_.AddSectionDictionary("INCOMPLETE");
    incomplete.SetIntValue("FINISHED", static_cast<int>(page_.finished));
    incomplete.SetIntValue("PLANNED", static_cast<int>(page_.planned));
  }

  // The machines that measured what stands on the page, in its order. An earlier run may have
  // measured on another machine than the one where the page is made.
  std::string Machines() const {
    std::vector<std::string> machines;
    for (const PaperPart& paper : page_.papers) {
      for (const ExperimentOutcome* outcome : paper.experiments) {
        if (!outcome->finished ||
            std::find(machines.begin(), machines.end(), outcome->machine) != machines.end()) {
          continue;
        }
        machines.push_back(outcome->machine);
      }
    }
    return machines.empty() ? page_.provenance.machine : absl::StrJoin(machines, " and ");
  }

  void SetSummary() {
    for (const Standing& standing : Standings()) {
      root_.AddSectionDictionary("COLUMN")->SetValue("WORD", StandingName(standing));
    }
    for (const PaperPart& paper : page_.papers) {
      Dictionary& row = *root_.AddSectionDictionary("ROW");
      Dictionary& linked = *row.AddSectionDictionary("LINKED");
      linked.SetValue("ANCHOR", paper.name);
      linked.SetValue("NAME", paper.title);
      linked.SetValue("KEY_NAME", paper.name);
      for (const Standing& standing : Standings()) {
        SetCell(row, standing, paper.Count(standing), standing ? paper.Points(*standing) : 0);
      }
    }
    Dictionary& total = *root_.AddSectionDictionary("ROW");
    total.AddSectionDictionary("PLAIN")->SetValue("NAME", "Together");
    for (const Standing& standing : Standings()) {
      int points = 0;
      for (const PaperPart& paper : page_.papers) points += standing ? paper.Points(*standing) : 0;
      SetCell(total, standing, page_.Count(standing), points);
    }
  }

  static void SetCell(Dictionary& row, const Standing& standing, int statements, int points) {
    Dictionary& cell = *row.AddSectionDictionary("CELL");
    cell.SetIntValue("STATEMENTS", statements);
    cell.SetValue("CLASS", statements == 0 ? "none" : ClassOf(standing));
    if (points > 0) {
      cell.SetValueAndShowSection("POINTS_TEXT", Counted(static_cast<size_t>(points), "test"),
                                  "POINTS");
    }
  }

  void SetPaper(const PaperPart& paper) {
    Dictionary& part = *root_.AddSectionDictionary("PAPER");
    part.SetValue("ANCHOR", paper.name);
    part.SetValue("NAME", paper.name);
    part.SetValue("TITLE", paper.title);
    part.SetValue("AUTHORS", paper.authors);
    if (!paper.experiments.empty()) part.ShowSection("KEY");
    SetDifferences(part, paper);
    if (!paper.statements.empty() || !paper.not_measured.empty()) {
      Dictionary& statements = *part.AddSectionDictionary("STATEMENTS");
      for (const Statement& statement : paper.statements) {
        SetStatement(statements, paper, statement);
      }
      for (const v1::UnmeasuredStatement& statement : paper.not_measured) {
        Dictionary& row = *statements.AddSectionDictionary("UNMEASURED");
        row.SetValue("SOURCE", statement.source());
        row.SetValue("SAYS", statement.statement());
        row.SetValue("WHY", statement.reason());
      }
    }
    if (paper.experiments.empty()) return;
    Dictionary& experiments = *part.AddSectionDictionary("EXPERIMENTS_PART");
    for (const ExperimentOutcome* outcome : paper.experiments) SetExperiment(experiments, *outcome);
  }

  static std::string DifferenceAnchor(const PaperPart& paper, int number) {
    return absl::StrCat(paper.name, "-difference-", number + 1);
  }

  static void SetDifferences(Dictionary& part, const PaperPart& paper) {
    if (paper.differences.empty()) return;
    Dictionary& all = *part.AddSectionDictionary("DIFFERENCES");
    for (size_t i = 0; i < paper.differences.size(); ++i) {
      Dictionary& one = *all.AddSectionDictionary("DIFFERENCE");
      one.SetValue("ANCHOR", DifferenceAnchor(paper, static_cast<int>(i)));
      one.SetValue("SOURCE", paper.differences[i].source());
      one.SetValue("TEXT", paper.differences[i].text());
    }
  }

  void SetStatement(Dictionary& statements, const PaperPart& paper, const Statement& statement) {
    Dictionary& body = *statements.AddSectionDictionary("STATEMENT");
    std::string anchor = absl::StrCat("claim-", statement.id);
    if (const int before = anchors_[anchor]++; before > 0) absl::StrAppend(&anchor, "-", before);
    const Standing standing = statement.verdict();
    if (standing == Verdict::kFail)
      failures_.emplace_back(anchor, absl::StrCat(paper.name, ", ", statement.source));
    body.SetValue("ANCHOR", anchor);
    body.SetValue("CLASS", ClassOf(standing));
    body.SetValue("VERDICT", StandingName(standing));
    body.SetValue("SOURCE", statement.source);
    body.SetValue("SAYS", statement.statement);
    body.SetValue("ID", statement.id);
    for (const int number : statement.differences) {
      Dictionary& see = *body.AddSectionDictionary("SEE");
      see.SetValue("DIFFERENCE_ANCHOR", DifferenceAnchor(paper, number));
      see.SetIntValue("NUMBER", number + 1);
    }
    for (const std::string& reason : statement.reasons) {
      body.AddSectionDictionary("REASON")->SetValue("WHY", reason);
    }
    for (const Evidence& evidence : statement.evidence) SetEvidence(body, evidence);
  }

  static void SetEvidence(Dictionary& body, const Evidence& evidence) {
    Dictionary& row = *body.AddSectionDictionary("EVIDENCE");
    row.SetValue("EXPERIMENT", evidence.experiment);
    row.SetValue("EXPERIMENT_ANCHOR", absl::StrCat("experiment-", evidence.experiment));
    row.SetValue("COUNTS", CountsText(evidence));
    SetPoint(row, evidence.closest[0], "NOTE");
    if (evidence.judged == 1) return;
    Dictionary& more = *row.AddSectionDictionary("MORE");
    more.SetValue("MORE_TEXT", evidence.judged > evidence.closest.size()
                                   ? absl::StrCat("the ", evidence.closest.size(), " closest of ",
                                                  evidence.judged, " tests")
                                   : absl::StrCat("all ", evidence.judged, " tests"));
    for (const ClaimResult& claim : evidence.closest) {
      SetPoint(*more.AddSectionDictionary("POINT_ROW"), claim, "POINT_NOTE");
    }
  }

  static void SetExperiment(Dictionary& experiments, const ExperimentOutcome& outcome) {
    Dictionary& part = *experiments.AddSectionDictionary("EXPERIMENT_PART");
    part.SetValue("ANCHOR", absl::StrCat("experiment-", outcome.name));
    part.SetValue("NAME", outcome.name);
    part.SetValue("TITLE", outcome.title);
    part.SetValue("WHAT", WhatText(outcome));
    if (!outcome.note.empty()) part.SetValueAndShowSection("NOTE_TEXT", outcome.note, "NOTE");
    part.SetValue("RERUN", RerunText(outcome));
    part.SetValue("CONFIGURATION", outcome.configuration);
    for (const Drawing& drawing : outcome.drawings) {
      part.AddSectionDictionary("FIGURE")->SetValue("SVG", drawing.svg);
    }
    for (const auto& [name, text] : outcome.texts) {
      Dictionary& one = *part.AddSectionDictionary("TEXT");
      one.SetValue("TEXT_NAME", name);
      one.SetValue("TEXT_BODY", text);
    }
  }

  static std::string WhatText(const ExperimentOutcome& outcome) {
    std::string text =
        absl::StrCat(outcome.file, ": ", Counted(outcome.points, "point"), ", ",
                     Counted(outcome.trials, "trial"), ", seeds ", outcome.seeds, ". ");
    if (!outcome.settings.empty()) {
      absl::StrAppend(&text, "Quick run: ", absl::StrJoin(outcome.settings, ", "), ". ");
    }
    if (!outcome.finished) return text + "It has not run yet.";
    return absl::StrCat(text, "Took ", DurationText(outcome.seconds), " on ", outcome.machine, ". ",
                        FamilyText(outcome.family));
  }

  static std::string RerunText(const ExperimentOutcome& outcome) {
    std::string text = absl::StrCat("bfly measure ", ShellWord(outcome.file), " --out ",
                                    ShellWord("/tmp/" + outcome.name));
    for (const std::string& setting : outcome.settings) {
      absl::StrAppend(&text, " --set ", ShellWord(setting));
    }
    return text;
  }

  void SetFailures() {
    if (failures_.empty()) return;
    Dictionary& all = *root_.AddSectionDictionary("FAILURES");
    all.SetValue("COUNT", Counted(failures_.size(), "statement"));
    for (const auto& [anchor, source] : failures_) {
      Dictionary& one = *all.AddSectionDictionary("FAILURE");
      one.SetValue("ANCHOR", anchor);
      one.SetValue("SOURCE", source);
    }
  }

  const Page& page_;
  Dictionary root_;
  std::map<std::string, int> anchors_;
  std::vector<std::pair<std::string, std::string>> failures_;  // (anchor, source)
};

}  // namespace

absl::StatusOr<std::string> PageHtml(const Page& page) { return Writer(page).Text(); }

}  // namespace bfly::control

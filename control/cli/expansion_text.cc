// SPDX-License-Identifier: Apache-2.0
#include "control/cli/expansion_text.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace bfly::control {
namespace {

std::string HowFound(const v1::LevelExpansion& level) {
  if (level.exact()) return "exact";
  return level.has_second_singular_value() ? "bounds" : "search";
}

std::string SetsText(const v1::LevelExpansion& level, const v1::ExpandingSets& sets) {
  if (level.exact()) return absl::StrCat(sets.at_least());
  return absl::StrCat(sets.at_least(), "..", sets.at_most());
}

std::string StageTable(const v1::DescribeResponse& facts) {
  const v1::Expansion& expansion = facts.expansion();
  std::string text = absl::StrFormat(
      "\nsplitters: %u, with %u links from an input to each side and %u into an output\n"
      "the largest K such that every set of up to K inputs has at least b neighbours an input on "
      "each side:\n"
      "  exact   all sets were tried\n"
      "  bounds  certified by the second singular value .. what the worst set of a search allows\n"
      "  search  certified for single inputs only .. what the worst set of a search allows\n"
      "\n  stage  splitters  examined  inputs  found   2nd value",
      facts.rows() - 1, facts.multiplicity(), 2 * facts.multiplicity());
  for (const v1::NetworkExpansion& of_beta : expansion.network()) {
    absl::StrAppendFormat(&text, "%12s", absl::StrCat("b = ", of_beta.beta()));
  }
  text += '\n';
  for (const v1::LevelExpansion& level : expansion.levels()) {
    absl::StrAppendFormat(&text, "  %5u  %9u  %8u  %6u  %-6s  ", level.stage(), level.splitters(),
                          level.examined(), level.inputs(), HowFound(level));
    text += level.has_second_singular_value()
                ? absl::StrFormat("%9.4f", level.second_singular_value())
                : absl::StrFormat("%9s", "-");
    for (const v1::ExpandingSets& sets : level.sets()) {
      absl::StrAppendFormat(&text, "%12s", SetsText(level, sets));
    }
    text += '\n';
  }
  return text;
}

// An alpha that a theorem accepts. Where alpha times the rows is below 1 it speaks of no set.
std::string AcceptedText(double alpha, uint32_t rows) {
  if (alpha == 0) return "none";
  return absl::StrFormat("%.3g%s", alpha, alpha * rows < 1 ? " (no set)" : "");
}

std::string BetaTable(const v1::DescribeResponse& facts) {
  const v1::Expansion& expansion = facts.expansion();
  std::string text = absl::StrCat(
      "\n(alpha, b)-expansion: sets of up to alpha m of the m inputs of ",
      expansion.examined_all() ? "every splitter" : "every examined splitter",
      " have b neighbours an input\n"
      "for every alpha below the first figure, and not for the second; the theorems accept for ",
      facts.multiplicity(), " links\n\n",
      "      b  alpha of this network  Fact 1, alpha <   Lemma 1, alpha <=  delta (R = 8)\n");
  for (const v1::NetworkExpansion& of_beta : expansion.network()) {
    absl::StrAppendFormat(
        &text, "  %5g  %21s  %-16s  %-17s  %s\n", of_beta.beta(),
        absl::StrFormat("%.4g..%.4g", of_beta.alpha_at_least(), of_beta.alpha_at_most()),
        AcceptedText(of_beta.fact_1_alpha(), facts.rows()),
        AcceptedText(of_beta.concentrator_alpha(), facts.rows()),
        of_beta.delta() > 0 ? absl::StrFormat("%.4g", of_beta.delta()) : "none");
  }
  absl::StrAppend(&text,
                  "  Fact 1 and delta: Pietracaprina 1997; Lemma 1: Diebold 2008. They say that "
                  "such a network exists,\n  not that this one is one. (no set): alpha is below 1 "
                  "input of the largest splitter.\n  none: Fact 1 and Lemma 1 need more than b + 1 "
                  "links a side, and delta needs more than (",
                  facts.multiplicity(), " + R - 1) / 2 for b.\n");
  return text;
}

}  // namespace

std::string ExpansionText(const v1::DescribeResponse& facts) {
  return StageTable(facts) + BetaTable(facts);
}

}  // namespace bfly::control

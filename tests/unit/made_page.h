// SPDX-License-Identifier: Apache-2.0
// Pages of a reproduction from results that a test makes up.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "control/reproduce/html.h"
#include "control/reproduce/page.h"

namespace bfly::control {

struct Anywhere {
  int d = 3;
  std::string Curve() const { return "curve"; }
  std::string ToString() const { return "d=3"; }
  nlohmann::ordered_json ToJson() const { return {{"d", d}}; }
  std::string ToCsv() const { return "3"; }
};

inline ClaimResult Result(const std::string& id, Verdict verdict, double theory, double measured) {
  ClaimResult result;
  result.id = id;
  result.point = Point(Anywhere());
  result.theory = theory;
  result.measured = measured;
  result.trials = 20;
  result.verdict = verdict;
  result.relation = Relation::kAtMost;
  return result;
}

inline ExperimentOutcome Finished(const std::string& name, const std::string& paper,
                                  const std::vector<CheckedClaim>& claims,
                                  const std::vector<ClaimResult>& results) {
  return {.name = name,
          .title = "Title of " + name,
          .file = name + ".yaml",
          .paper = paper,
          .note = "",
          .settings = {},
          .configuration = "name: x",
          .seeds = "1 to 20",
          .points = 1,
          .trials = 20,
          .claims = claims,
          .finished = true,
          .results = results};
}

inline v1::Reproduction TwoPapers() {
  v1::Reproduction list;
  v1::Paper& first = *list.add_papers();
  first.set_name("first");
  first.set_title("First paper");
  first.add_cited_as("First et al.");
  v1::Paper& second = *list.add_papers();
  second.set_name("second");
  second.set_title("Second paper");
  return list;
}

inline const Provenance kProvenance = {.version = "0.1.0 (abc)",
                                       .compiler = "gcc",
                                       .machine = "2 cores",
                                       .day = "2026-01-01",
                                       .command = "bfly reproduce --out x"};

inline std::string Html(const Page& page) {
  const auto html = PageHtml(page);
  EXPECT_TRUE(html.ok()) << html.status();
  return html.value_or("");
}

}  // namespace bfly::control

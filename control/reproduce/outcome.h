// SPDX-License-Identifier: Apache-2.0
// What is told of one experiment on the page, as plain values.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "control/measure/core/claim.h"
#include "control/measure/core/family.h"

namespace bfly::control {

// A claim that the experiment checks, whether or not it applies to any of its points.
struct CheckedClaim {
  std::string id;
  std::string statement;
  std::string source;
};

struct Drawing {
  std::string name;
  std::string svg;  // an <svg> element that can stand in a page (inline_svg.h)
};

struct ExperimentOutcome {
  std::string name;  // of its results folder
  std::string title;
  std::string file;
  std::string paper;
  std::string note;
  std::vector<std::string> settings;  // laid over the file
  std::string configuration;          // the effective one, as a file
  std::string seeds;                  // "1 to 20"
  size_t points = 0;
  size_t trials = 0;
  std::vector<CheckedClaim> claims;

  bool finished = false;  // the fields below are empty if it is not
  std::vector<ClaimResult> results = {};
  Family family = {};
  std::vector<Drawing> drawings = {};
  std::vector<std::pair<std::string, std::string>> texts = {};  // (name, text) of further tables
  double seconds = 0;                                           // that it took
  std::string machine = {};                                     // where it was measured
};

}  // namespace bfly::control

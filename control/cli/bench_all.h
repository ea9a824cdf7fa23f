// SPDX-License-Identifier: Apache-2.0
// What `bfly bench all` runs, and how it writes what came out into pages.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace bfly::control {

// A bench with its options, and the page on which its figures stand.
struct BenchFigure {
  std::string name;                      // for --only: the bench's verb
  std::string page;                      // file name, such as "ports.md"
  std::string title;                     // of the figure
  std::vector<std::string> words;        // behind `bfly bench`
  std::vector<std::string> quick_words;  // instead, with --quick
  std::string fabric = "";               // a topology file that must be up meanwhile; empty: none
};

// In the order in which they run. Figures of a page follow each other.
const std::vector<BenchFigure>& AllFigures();

// Puts `figures` between the two marker lines of a page, in place of what stands there, or at the
// end of a page without markers. Everything outside of the markers stays as it is.
// FailedPrecondition: the page has one of the markers without the other, or has one twice.
absl::StatusOr<std::string> WithFigures(const std::string& page, const std::string& figures);

}  // namespace bfly::control

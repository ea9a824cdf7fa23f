// SPDX-License-Identifier: Apache-2.0
// The steps of an adversary, read from text.
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "control/protocols/churn.h"

namespace bfly::control {

absl::StatusOr<std::vector<ChurnStep>> ParseChurn(absl::string_view text, Row rows,
                                                  absl::string_view where) {
  std::vector<ChurnStep> steps;
  std::vector<std::optional<Row>> output_of(rows);
  std::vector<bool> output_busy(rows);
  int line = 0;
  for (const absl::string_view whole : absl::StrSplit(text, '\n')) {
    ++line;
    const auto wrong = [&](const auto&... what) {
      return absl::InvalidArgumentError(absl::StrCat(where, ":", line, ": ", what...));
    };
    const std::vector<absl::string_view> words = absl::StrSplit(
        whole.substr(0, whole.find('#')), absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
    if (words.empty()) continue;
    ChurnStep step{.set_up = words[0] == "setup"};
    if ((!step.set_up && words[0] != "release") || words.size() != (step.set_up ? 3 : 2)) {
      return wrong("is neither \"setup INPUT OUTPUT\" nor \"release INPUT\"");
    }
    for (size_t i = 1; i < words.size(); ++i) {
      Row& row = i == 1 ? step.input : step.output;
      if (!absl::SimpleAtoi(words[i], &row) || row >= rows) {
        return wrong("\"", words[i].substr(0, 40), "\" is not a row, 0..", rows - 1);
      }
    }
    std::optional<Row>& held = output_of[step.input];
    if (step.set_up) {
      if (held) return wrong("input ", step.input, " has a circuit to ", *held, " then");
      if (output_busy[step.output]) return wrong("output ", step.output, " has a circuit then");
      held = step.output;
      output_busy[step.output] = true;
    } else {
      if (!held) return wrong("input ", step.input, " has no circuit then");
      output_busy[*held] = false;
      held.reset();
    }
    steps.push_back(step);
  }
  if (steps.empty()) return absl::InvalidArgumentError(absl::StrCat(where, ": has no steps"));
  return steps;
}

}  // namespace bfly::control

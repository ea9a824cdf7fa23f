// SPDX-License-Identifier: Apache-2.0
// Options of commands that are numbers with a point.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace bfly::control {

// A number from `least` to `most`. CLI::Range takes "nan" for one.
inline CLI::Validator NumberFrom(double least, double most) {
  const std::string range = absl::StrCat("[", least, " - ", most, "]");
  return CLI::Validator(
      [=](std::string& text) -> std::string {
        double number = 0;
        if (absl::SimpleAtod(text, &number) && number >= least && number <= most) return "";
        return absl::StrCat("'", text, "' is not a number in ", range);
      },
      absl::StrCat("FLOAT in ", range));
}

}  // namespace bfly::control

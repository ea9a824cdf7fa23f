// SPDX-License-Identifier: Apache-2.0
#include "control/top/number_text.h"

#include "absl/strings/str_format.h"

namespace bfly::control {
namespace {

// Three significant figures of a number below 1000.
std::string ThreeFigures(double value) {
  const int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return absl::StrFormat("%.*f", decimals, value);
}

}  // namespace

std::string Count(double value) {
  const char* const units[] = {"", "k", "M", "G", "T", "P"};
  int unit = 0;
  while (value >= 999.5 && unit < 5) {
    value /= 1000;
    ++unit;
  }
  return unit == 0 ? absl::StrFormat("%.0f", value) : ThreeFigures(value) + units[unit];
}

std::string Percent(std::optional<double> share) {
  if (!share) return "-";
  return absl::StrFormat("%.*f%%", *share >= 0.9995 ? 0 : 1, 100 * *share);
}

std::string Nanoseconds(double value) {
  const char* const units[] = {" ns", " us", " ms", " s"};
  int unit = 0;
  while (value >= 999.5 && unit < 3) {
    value /= 1000;
    ++unit;
  }
  return (unit == 0 ? absl::StrFormat("%.0f", value) : ThreeFigures(value)) + units[unit];
}

}  // namespace bfly::control

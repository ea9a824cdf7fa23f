// SPDX-License-Identifier: Apache-2.0
#include "control/topology_file/quantity.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "control/topology_file/diagnostic.h"
#include "dataplane/links/link_shape.h"

namespace bfly::control {
namespace {

struct Unit {
  absl::string_view name;
  uint64_t size;
};
constexpr Unit kRateUnits[] = {
    {"bps", 1}, {"kbps", 1'000}, {"Mbps", 1'000'000}, {"Gbps", 1'000'000'000}};
constexpr Unit kDurationUnits[] = {
    {"ns", 1}, {"us", 1'000}, {"ms", 1'000'000}, {"s", 1'000'000'000}};

absl::Status Wrong(absl::string_view text, absl::string_view why, absl::string_view allowed) {
  return absl::InvalidArgumentError(
      absl::StrCat("\"", Quotable(text), "\" ", why, " (allowed: ", allowed, ")"));
}

absl::StatusOr<uint64_t> Parse(absl::string_view text, absl::Span<const Unit> units, uint64_t least,
                               uint64_t most, absl::string_view allowed) {
  const absl::string_view whole = text;
  if (whole.size() > kLongestQuantity) {
    return Wrong(whole, absl::StrCat("is longer than ", kLongestQuantity, " characters"), allowed);
  }
  text = absl::StripAsciiWhitespace(text);
  const bool negative = !text.empty() && text[0] == '-';
  if (negative) text.remove_prefix(1);
  size_t digits = 0;
  while (digits < text.size() && (absl::ascii_isdigit(text[digits]) || text[digits] == '.')) {
    ++digits;
  }
  double number = 0;
  if (digits == 0 || !absl::SimpleAtod(text.substr(0, digits), &number)) {
    return Wrong(whole, "does not begin with a number", allowed);
  }
  const absl::string_view name = absl::StripAsciiWhitespace(text.substr(digits));
  if (name.empty()) return Wrong(whole, "has no unit", allowed);
  const auto* const unit =
      std::find_if(units.begin(), units.end(), [name](const Unit& u) { return u.name == name; });
  if (unit == units.end()) {
    return Wrong(whole, absl::StrCat("has an unknown unit, \"", Quotable(name), "\""), allowed);
  }
  if (negative) return Wrong(whole, "is negative", allowed);
  const double value = number * static_cast<double>(unit->size);
  // A value between 0 and the smallest unit cannot be represented.
  if (!(value <= static_cast<double>(most)) || (number > 0 && value < 1) ||
      value < static_cast<double>(least)) {
    return Wrong(whole, "is out of range", allowed);
  }
  return static_cast<uint64_t>(std::llround(value));
}

std::string Format(uint64_t value, absl::Span<const Unit> units) {
  size_t unit = units.size() - 1;
  while (value % units[unit].size != 0) --unit;
  return absl::StrCat(value / units[unit].size, units[unit].name);
}

}  // namespace

absl::StatusOr<uint64_t> ParseRate(absl::string_view text) {
  if (text == "none") return 0;
  return Parse(text, kRateUnits, 1, dataplane::kMaxLinkRate, kRateSyntax);
}

absl::StatusOr<uint64_t> ParseDuration(absl::string_view text) {
  return Parse(text, kDurationUnits, 0, dataplane::kMaxLinkDelayNs, kDurationSyntax);
}

std::string FormatRate(uint64_t bits_per_second) {
  return bits_per_second == 0 ? "none" : Format(bits_per_second, kRateUnits);
}

std::string FormatDuration(uint64_t nanoseconds) { return Format(nanoseconds, kDurationUnits); }

}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
#include "control/topology_file/yaml_number.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace bfly::control {
namespace {

// The first double that is no 64-bit number.
constexpr double kBeyond64Bits = 18446744073709551616.0;

// Removes digits from the front, and returns how many.
size_t ConsumeDigits(absl::string_view* text) {
  const auto* const end = std::find_if_not(text->begin(), text->end(), absl::ascii_isdigit);
  const auto count = static_cast<size_t>(end - text->begin());
  text->remove_prefix(count);
  return count;
}

// [0-9]+(\.[0-9]*)?([eE][-+]?[0-9]+)? or \.[0-9]+([eE][-+]?[0-9]+)?
bool IsDecimal(absl::string_view text) {
  const size_t whole = ConsumeDigits(&text);
  const bool point = absl::ConsumePrefix(&text, ".");
  const size_t fraction = point ? ConsumeDigits(&text) : 0;
  if (whole + fraction == 0) return false;
  if (absl::ConsumePrefix(&text, "e") || absl::ConsumePrefix(&text, "E")) {
    if (!absl::ConsumePrefix(&text, "-")) absl::ConsumePrefix(&text, "+");
    if (ConsumeDigits(&text) == 0) return false;
  }
  return text.empty();
}

std::optional<uint64_t> Octal(absl::string_view digits) {
  uint64_t number = 0;
  if (digits.empty()) return std::nullopt;
  for (const char digit : digits) {
    if (digit < '0' || digit > '7' || number > UINT64_MAX / 8) return std::nullopt;
    number = number * 8 + static_cast<uint64_t>(digit - '0');
  }
  return number;
}

std::optional<uint64_t> Hexadecimal(absl::string_view digits) {
  uint64_t number = 0;
  const bool plain =
      !digits.empty() && std::all_of(digits.begin(), digits.end(), absl::ascii_isxdigit);
  return plain && absl::SimpleHexAtoi(digits, &number) ? std::optional(number) : std::nullopt;
}

std::optional<uint64_t> Decimal(absl::string_view text) {
  const bool negative = absl::ConsumePrefix(&text, "-");
  if (!negative) absl::ConsumePrefix(&text, "+");
  uint64_t number = 0;
  double real = 0;
  if (!IsDecimal(text)) return std::nullopt;
  if (!absl::SimpleAtoi(text, &number)) {
    if (!absl::SimpleAtod(text, &real) || real >= kBeyond64Bits || real != std::floor(real))
      return std::nullopt;
    number = static_cast<uint64_t>(real);
  }
  return negative && number != 0 ? std::nullopt : std::optional(number);
}

}  // namespace

std::optional<std::string> WholeNumberOf(absl::string_view text) {
  const std::optional<uint64_t> number = absl::ConsumePrefix(&text, "0x")   ? Hexadecimal(text)
                                         : absl::ConsumePrefix(&text, "0o") ? Octal(text)
                                                                            : Decimal(text);
  if (!number) return std::nullopt;
  return absl::StrCat(*number);
}

}  // namespace bfly::control

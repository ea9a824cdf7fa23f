// SPDX-License-Identifier: Apache-2.0
#include "control/topology_file/diagnostic.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "control/status/field_errors.h"

namespace bfly::control {
namespace {

constexpr size_t kLongestQuote = 80;
constexpr size_t kMostErrors = 100;  // that one status quotes; more would not help

}  // namespace

std::string ToString(const Violation& violation) {
  if (violation.field.empty()) return violation.message;
  return absl::StrCat(violation.field, ": ", violation.message);
}

std::string ToString(const Diagnostic& diagnostic) {
  std::string place = Quotable(diagnostic.file);
  if (diagnostic.line > 0) absl::StrAppend(&place, ":", diagnostic.line);
  return absl::StrCat(place, ": ",
                      ToString(Violation{diagnostic.field, diagnostic.value, diagnostic.message}));
}

absl::Status ToStatus(const std::vector<Diagnostic>& diagnostics) {
  if (diagnostics.empty()) return absl::OkStatus();
  std::string text;
  for (size_t i = 0; i < diagnostics.size() && i < kMostErrors; ++i) {
    absl::StrAppend(&text, i == 0 ? "" : "\n", ToString(diagnostics[i]));
  }
  if (diagnostics.size() > kMostErrors) {
    absl::StrAppend(&text, "\nand ", diagnostics.size() - kMostErrors, " more errors");
  }
  return absl::InvalidArgumentError(text);
}

absl::Status ToStatus(const std::vector<Violation>& violations) {
  FieldErrors errors;
  for (size_t i = 0; i < violations.size() && i < kMostErrors; ++i) {
    errors.Add(violations[i].field, violations[i].message);
  }
  return errors.ToStatus();
}

std::string Quotable(absl::string_view input) {
  // The cut must not fall inside a character of several bytes.
  size_t length = input.size();
  if (length > kLongestQuote) {
    length = kLongestQuote;
    while (length > 0 && (input[length] & 0xc0) == 0x80) --length;
  }
  return absl::StrCat(absl::Utf8SafeCHexEscape(input.substr(0, length)),
                      length < input.size() ? "..." : "");
}

}  // namespace bfly::control

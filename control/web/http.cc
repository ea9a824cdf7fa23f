// SPDX-License-Identifier: Apache-2.0
#include "control/web/http.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace bfly::control {
namespace {

// A query of the page has at most six names.
constexpr size_t kMaxNames = 32;

std::optional<std::string> Decoded(absl::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i] == '+' ? ' ' : text[i];
      continue;
    }
    const absl::string_view digits = text.substr(i + 1, 2);
    if (digits.size() < 2 || !absl::ascii_isxdigit(digits[0]) || !absl::ascii_isxdigit(digits[1]))
      return std::nullopt;
    decoded += absl::HexStringToBytes(digits);
    i += 2;
  }
  return decoded;
}

}  // namespace

bool ReadTarget(const std::string& target, HttpRequest* request) {
  if (target.empty() || target[0] != '/') return false;
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(target, absl::MaxSplits('?', 1));
  // Paths of the page have no escapes, so a path with one is not found.
  request->path = std::string(parts.first);
  request->query.clear();
  for (const absl::string_view pair : absl::StrSplit(parts.second, '&', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> words =
        absl::StrSplit(pair, absl::MaxSplits('=', 1));
    std::optional<std::string> name = Decoded(words.first), value = Decoded(words.second);
    if (!name.has_value() || !value.has_value()) return false;
    if (request->query.size() == kMaxNames) return false;
    request->query.try_emplace(*std::move(name), *std::move(value));
  }
  return true;
}

HttpResponse HttpError(unsigned status, const std::string& message) {
  const auto replace = nlohmann::json::error_handler_t::replace;
  return {.status = status,
          .content_type = "application/json",
          .body = nlohmann::json{{"error", message}}.dump(-1, ' ', false, replace)};
}

}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
#include "control/log/log_record.h"

#include <ctime>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace bfly::control {
namespace {

constexpr std::pair<LogLevel, absl::string_view> kLevels[] = {{LogLevel::kError, "error"},
                                                              {LogLevel::kWarning, "warning"},
                                                              {LogLevel::kInfo, "info"},
                                                              {LogLevel::kDebug, "debug"}};

std::string TextOf(const LogField& field) {
  return std::visit(
      [](const auto& value) -> std::string {
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, bool>) return value ? "true" : "false";
        if constexpr (!std::is_same_v<Value, bool>) return absl::StrCat(value);
      },
      field.value);
}

// "2026-11-25T22:31:19.123456Z"
std::string TimeText(int64_t time_ns) {
  const time_t seconds = time_ns / 1'000'000'000;
  tm utc{};
  gmtime_r(&seconds, &utc);
  return absl::StrFormat("%04d-%02d-%02dT%02d:%02d:%02d.%06dZ", utc.tm_year + 1900, utc.tm_mon + 1,
                         utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
                         time_ns % 1'000'000'000 / 1'000);
}

}  // namespace

absl::string_view LevelName(LogLevel level) {
  for (const auto& [one, name] : kLevels) {
    if (one == level) return name;
  }
  return "info";
}

std::optional<LogLevel> LevelOfName(absl::string_view name) {
  for (const auto& [level, one] : kLevels) {
    if (one == name) return level;
  }
  return std::nullopt;
}

std::string JsonLine(const LogRecord& record, const std::string& program, int64_t time_ns) {
  nlohmann::ordered_json line = {{"time", TimeText(time_ns)},
                                 {"level", std::string(LevelName(record.level))},
                                 {"program", program},
                                 {"event", record.event},
                                 {"text", record.text}};
  for (const LogField& field : record.fields) {
    const std::string name =
        line.contains(field.name) ? absl::StrCat(record.event, "_", field.name) : field.name;
    std::visit([&](const auto& value) { line[name] = value; }, field.value);
  }
  // Bytes that are not UTF-8, as a file name may have them, must not end the daemon.
  return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::vector<std::string> JournalFields(const LogRecord& record, const std::string& program) {
  std::vector<std::string> fields = {
      absl::StrCat("MESSAGE=", record.text),
      absl::StrCat("PRIORITY=", static_cast<int>(record.level)),
      absl::StrCat("SYSLOG_IDENTIFIER=", program),
  };
  if (!record.event.empty()) fields.push_back(absl::StrCat("BFLY_EVENT=", record.event));
  for (const LogField& field : record.fields) {
    fields.push_back(absl::StrCat("BFLY_", absl::AsciiStrToUpper(field.name), "=", TextOf(field)));
  }
  return fields;
}

}  // namespace bfly::control

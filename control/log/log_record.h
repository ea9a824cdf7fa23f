// SPDX-License-Identifier: Apache-2.0
// What a daemon logs: a line of plain words with its level, and the same as fields that a program
// can read. Pure: no clock, no file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"

namespace bfly::control {

// The numbers are those of syslog(3).
enum class LogLevel { kError = 3, kWarning = 4, kInfo = 6, kDebug = 7 };

// "error", "warning", "info", "debug".
absl::string_view LevelName(LogLevel level);
std::optional<LogLevel> LevelOfName(absl::string_view name);

// Names are lower case with underscores: "data_plane".
struct LogField {
  std::string name;
  std::variant<std::string, int64_t, uint64_t, double, bool> value;
};

struct LogRecord {
  LogLevel level = LogLevel::kInfo;
  std::string text = {};   // one line, without its end
  std::string event = {};  // the kind of the event that the record is of; empty: of none
  std::vector<LogField> fields = {};
};

// The record as an object of JSON on one line, without the end of the line: time (UTC, to the
// microsecond), level, program, event, text and the fields. A field of one of these names has the
// name EVENT_NAME. `time_ns` is the time of day.
std::string JsonLine(const LogRecord& record, const std::string& program, int64_t time_ns);

// The record as fields of the journal (sd_journal_send(3)): MESSAGE, PRIORITY, SYSLOG_IDENTIFIER,
// BFLY_EVENT, and BFLY_NAME for a field `name`. Each is "NAME=value".
std::vector<std::string> JournalFields(const LogRecord& record, const std::string& program);

}  // namespace bfly::control

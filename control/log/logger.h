// SPDX-License-Identifier: Apache-2.0
// Where the daemons log: the journal, with fields, under systemd; else a line on standard error.
#pragma once

#include <CLI/App.hpp>
#include <mutex>
#include <string>

#include "control/log/log_record.h"

namespace bfly::control {

struct LogFlags {
  // Empty: the journal under systemd, else text.
  std::string format;
  std::string level = "info";
};

// Declares --log-format and --log-level.
void DeclareLog(CLI::App& app, LogFlags& flags);

// Thread-safe.
class Logger {
 public:
  // `program` stands before every line: "bfly-controller". `identifier` is what the journal calls
  // it.
  Logger(std::string program, const LogFlags& flags, std::string identifier);
  Logger(const std::string& program, const LogFlags& flags) : Logger(program, flags, program) {}

  LogLevel level() const { return level_; }
  // Does nothing with records that are less urgent than the level.
  void Write(const LogRecord& record);

 private:
  enum class Format { kText, kJson, kJournal };
  // Returns false if the journal does not take it.
  bool SendToJournal(const LogRecord& record) const;

  const std::string program_, identifier_;
  const LogLevel level_;
  const bool stderr_is_journal_;
  const Format format_;
  std::mutex mutex_;  // a line is written whole
};

}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
#include "control/log/logger.h"

#include <sys/stat.h>
#include <sys/uio.h>
#include <systemd/sd-journal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace bfly::control {
namespace {

constexpr char kJournalSocket[] = "/run/systemd/journal/socket";

// systemd says in JOURNAL_STREAM which file leads to the journal. Standard error may have been sent
// elsewhere since.
bool StandardErrorIsJournal() {
  const char* journal = std::getenv("JOURNAL_STREAM");
  struct stat file {};
  return journal != nullptr && fstat(STDERR_FILENO, &file) == 0 &&
         journal == absl::StrCat(file.st_dev, ":", file.st_ino);
}

int64_t TimeOfDay() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

void DeclareLog(CLI::App& app, LogFlags& flags) {
  app.add_option("--log-format", flags.format,
                 "How to log on standard error: text, or json for an object a line [text; under "
                 "systemd the journal, with fields]")
      ->check(CLI::IsMember({"text", "json"}));
  app.add_option("--log-level", flags.level, "Log what is at least so urgent")
      ->check(CLI::IsMember({"error", "warning", "info", "debug"}))
      ->capture_default_str();
}

Logger::Logger(std::string program, const LogFlags& flags, std::string identifier)
    : program_(std::move(program)),
      identifier_(std::move(identifier)),
      level_(LevelOfName(flags.level).value_or(LogLevel::kInfo)),
      stderr_is_journal_(StandardErrorIsJournal()),
      format_(flags.format == "json"                       ? Format::kJson
              : flags.format.empty() && stderr_is_journal_ ? Format::kJournal
                                                           : Format::kText) {}

void Logger::Write(const LogRecord& record) {
  if (record.level > level_) return;
  if (format_ == Format::kJournal && SendToJournal(record)) return;
  std::string line;
  if (format_ == Format::kJson) {
    line = JsonLine(record, program_, TimeOfDay());
  } else {
    // A line for the journal begins with its level (sd-daemon(3)).
    if (stderr_is_journal_) line = absl::StrCat("<", static_cast<int>(record.level), ">");
    absl::StrAppend(&line, program_, ": ", record.text);
  }
  const std::lock_guard lock(mutex_);
  std::cerr << absl::StrCat(line, "\n") << std::flush;
}

bool Logger::SendToJournal(const LogRecord& record) const {
  // libsystemd says that it sent a record also where no journal runs.
  if (access(kJournalSocket, F_OK) != 0) return false;
  std::vector<std::string> fields = JournalFields(record, identifier_);
  std::vector<iovec> parts;
  for (std::string& field : fields) parts.push_back({field.data(), field.size()});
  return sd_journal_sendv(parts.data(), static_cast<int>(parts.size())) == 0;
}

}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
#include "control/access/audit_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace bfly::control {
namespace {

constexpr mode_t kMode = 0640;

absl::StatusOr<int> OpenFile(const std::string& path) {
  // A link in a directory that others may write to could lead to any file.
  const int fd = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kMode);
  if (fd < 0)
    return absl::PermissionDeniedError(
        absl::StrCat("audit: cannot open ", path, ": ", std::strerror(errno)));
  struct stat info {};
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    close(fd);
    return absl::InvalidArgumentError(absl::StrCat("audit: ", path, " is not a plain file"));
  }
  return fd;
}

std::string Cut(std::string text) {
  if (text.size() > kMaxAuditText) {
    text.resize(kMaxAuditText);
    text += "...";
  }
  return text;
}

}  // namespace

std::string AuditLine(const AuditEntry& entry) {
  nlohmann::ordered_json line = {
      {"time", absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", absl::FromChrono(entry.begin),
                                absl::UTCTimeZone())},
      {"caller", entry.caller.name},
      {"role", std::string(NameOf(entry.caller.role))},
      {"call", entry.call},
      {"status", entry.status},
      {"us", entry.took.count()},
      {"messages", entry.messages},
  };
  if (!entry.error.empty()) line["error"] = Cut(entry.error);
  if (entry.request != nullptr) line["request"] = Cut(entry.request());
  // Bytes that are not UTF-8 came from a client.
  return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

absl::StatusOr<std::unique_ptr<AuditLog>> AuditLog::Open(const std::string& path,
                                                         uint64_t max_file) {
  const absl::StatusOr<int> fd = OpenFile(path);
  if (!fd.ok()) return fd.status();
  struct stat info {};
  fstat(*fd, &info);
  return std::unique_ptr<AuditLog>(
      new AuditLog(path, *fd, static_cast<uint64_t>(info.st_size), max_file));
}

AuditLog::AuditLog(std::string path, int fd, uint64_t size, uint64_t max_file)
    : path_(std::move(path)), max_file_(max_file), fd_(fd), size_(size) {
  thread_ = std::thread([this] { Run(); });
}

AuditLog::~AuditLog() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  news_.notify_one();
  thread_.join();
  close(fd_);
}

void AuditLog::Write(AuditEntry entry) {
  std::unique_lock lock(mutex_);
  room_.wait(lock, [this] { return waiting_.size() < kMaxWaiting; });
  waiting_.push_back(std::move(entry));
  if (waiting_.size() == 1) news_.notify_one();
}

void AuditLog::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    news_.wait(lock, [this] { return !waiting_.empty() || stopping_; });
    if (waiting_.empty()) return;
    std::deque<AuditEntry> entries;
    entries.swap(waiting_);
    lock.unlock();
    room_.notify_all();
    WriteLines(entries);
    entries.clear();
    lock.lock();
  }
}

void AuditLog::WriteLines(const std::deque<AuditEntry>& entries) {
  for (const AuditEntry& entry : entries) {
    const std::string line = AuditLine(entry) + "\n";
    if (size_ + line.size() > max_file_ && size_ > 0) BeginNewFile();
    // A line that the disk has no room for is missing from the file; the fabric goes on.
    if (write(fd_, line.data(), line.size()) > 0) size_ += line.size();
  }
}

void AuditLog::BeginNewFile() {
  if (std::rename(path_.c_str(), absl::StrCat(path_, ".1").c_str()) != 0) return;
  const absl::StatusOr<int> fd = OpenFile(path_);
  if (!fd.ok()) return;
  close(fd_);
  fd_ = *fd;
  size_ = 0;
}

}  // namespace bfly::control

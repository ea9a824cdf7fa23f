// SPDX-License-Identifier: Apache-2.0
#include "control/access/audit_log.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace bfly::control {
namespace {

constexpr mode_t kMode = 0640;
// How often calls without a line are counted in one.
constexpr std::chrono::seconds kCountEvery{1};
// How every line begins.
constexpr std::string_view kLineBegin = R"({"time":)";
// How long a process that has just ended may take to let go of its file, and how often that is
// looked at.
constexpr std::chrono::milliseconds kLockPatience{1000};
constexpr std::chrono::milliseconds kLockLook{20};

// Returns false while another process holds the file. On a file system without locks the log is
// written all the same.
bool Lock(int fd) {
  const auto deadline = std::chrono::steady_clock::now() + kLockPatience;
  while (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(kLockLook);
  }
  return true;
}

// Returns false if the file begins with something else than a line of the log, which may have been
// cut short. Of a first line that a power cut kept from the disk there may be zeros.
bool IsLog(int fd) {
  std::array<char, kLineBegin.size()> first{};
  const ssize_t got = pread(fd, first.data(), first.size(), 0);
  if (got < 0) return false;
  const std::string_view text(first.data(), static_cast<size_t>(got));
  return text == kLineBegin.substr(0, text.size()) || text == std::string(text.size(), '\0');
}

absl::StatusOr<int> OpenFile(const std::string& path) {
  // A link in a directory that others may write to could lead to any file.
  const int fd = open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kMode);
  if (fd < 0)
    return absl::PermissionDeniedError(
        absl::StrCat("audit: cannot open ", path, ": ", std::strerror(errno)));
  struct stat info {};
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    close(fd);
    return absl::InvalidArgumentError(absl::StrCat("audit: ", path, " is not a plain file"));
  }
  if (!Lock(fd)) {
    close(fd);
    return absl::FailedPreconditionError(
        absl::StrCat("audit: another process writes ", path, "; name another file"));
  }
  if (!IsLog(fd)) {
    close(fd);
    return absl::InvalidArgumentError(
        absl::StrCat("audit: ", path, " is not an audit log; name another file"));
  }
  return fd;
}

// Returns how many of the `size` bytes of the file are whole lines. A machine that went down in the
// middle of a line left a part of it at the end.
uint64_t BytesOfWholeLines(int fd, uint64_t size) {
  std::array<char, 4096> block;
  for (uint64_t end = size; end > 0;) {
    const uint64_t bytes = std::min<uint64_t>(end, block.size());
    const ssize_t got = pread(fd, block.data(), bytes, static_cast<off_t>(end - bytes));
    if (got != static_cast<ssize_t>(bytes)) return size;
    const size_t last = std::string_view(block.data(), bytes).rfind('\n');
    if (last != std::string_view::npos) return end - bytes + last + 1;
    end -= bytes;
  }
  return 0;
}

std::string TimeText(std::chrono::system_clock::time_point time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", absl::FromChrono(time), absl::UTCTimeZone());
}

// Bytes that are not UTF-8 came from a client.
std::string TextOf(const nlohmann::ordered_json& line) {
  return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
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
      {"time", TimeText(entry.begin)},
      {"caller", entry.caller.name},
      {"role", std::string(NameOf(entry.caller.role))},
      {"call", entry.call},
      {"status", entry.status},
      {"us", entry.took.count()},
      {"messages", entry.messages},
  };
  if (!entry.error.empty()) line["error"] = Cut(entry.error);
  if (entry.request != nullptr) line["request"] = Cut(entry.request());
  return TextOf(line);
}

absl::StatusOr<std::unique_ptr<AuditLog>> AuditLog::Open(const std::string& path,
                                                         uint64_t max_file) {
  const absl::StatusOr<int> fd = OpenFile(path);
  if (!fd.ok()) return fd.status();
  struct stat info {};
  fstat(*fd, &info);
  const auto size = static_cast<uint64_t>(info.st_size);
  const uint64_t whole = BytesOfWholeLines(*fd, size);
  const bool cut = whole != size && ftruncate(*fd, static_cast<off_t>(whole)) == 0;
  return std::unique_ptr<AuditLog>(new AuditLog(path, *fd, cut ? whole : size, cut, max_file));
}

AuditLog::AuditLog(std::string path, int fd, uint64_t size, bool cut, uint64_t max_file)
    : path_(std::move(path)), max_file_(max_file), fd_(fd), size_(size) {
  if (cut) {
    lost_ = 1;
    lost_why_ = "the process or the machine ended while it was written";
  }
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
  if (entry.beyond_role && !refused_.Take(entry.caller.who, std::chrono::steady_clock::now())) {
    const bool crowded = left_out_.size() >= CallRate::kMostCallers;
    ++left_out_[crowded && !left_out_.contains(entry.caller.who) ? "others" : entry.caller.who];
    news_.notify_one();
    return;
  }
  room_.wait(lock, [this] { return waiting_.size() < kMaxWaiting; });
  waiting_.push_back(std::move(entry));
  if (waiting_.size() == 1) news_.notify_one();
}

void AuditLog::Run() {
  std::unique_lock lock(mutex_);
  auto count_at = std::chrono::steady_clock::now();
  while (!stopping_ || !waiting_.empty() || !left_out_.empty()) {
    const auto is_asked = [this] { return !waiting_.empty() || stopping_; };
    if (left_out_.empty()) {
      news_.wait(lock, [&] { return is_asked() || !left_out_.empty(); });
    } else {
      news_.wait_until(lock, count_at, is_asked);
    }
    std::deque<AuditEntry> entries;
    entries.swap(waiting_);
    std::map<std::string, uint64_t> left_out;
    if (const auto now = std::chrono::steady_clock::now(); now >= count_at || stopping_) {
      left_out.swap(left_out_);
      count_at = now + kCountEvery;
    }
    lock.unlock();
    room_.notify_all();
    for (const AuditEntry& entry : entries) WriteLine(AuditLine(entry) + "\n");
    WriteCounts(left_out);
    entries.clear();
    lock.lock();
  }
}

void AuditLog::WriteCounts(const std::map<std::string, uint64_t>& left_out) {
  for (const auto& [who, count] : left_out) {
    const nlohmann::ordered_json line = {{"time", TimeText(std::chrono::system_clock::now())},
                                         {"caller", who},
                                         {"status", "PERMISSION_DENIED"},
                                         {"calls_left_out", count}};
    WriteLine(TextOf(line) + "\n");
  }
}

void AuditLog::WriteLine(const std::string& line) {
  if (size_ + line.size() > max_file_ && size_ > 0) BeginNewFile();
  if (lost_ > 0) {
    const nlohmann::ordered_json loss = {{"time", TimeText(std::chrono::system_clock::now())},
                                         {"lines_lost", lost_},
                                         {"error", lost_why_}};
    if (Append(TextOf(loss) + "\n")) lost_ = 0;
  }
  // A line that the disk has no room for is missing from the file; the fabric goes on.
  if (lost_ > 0 || !Append(line)) ++lost_;
}

bool AuditLog::Append(const std::string& line) {
  const ssize_t written = write(fd_, line.data(), line.size());
  if (written == static_cast<ssize_t>(line.size())) {
    size_ += line.size();
    return true;
  }
  lost_why_ = written < 0 ? std::strerror(errno) : "the disk is full";
  // A part of a line would make the next one unreadable.
  if (written > 0 && ftruncate(fd_, static_cast<off_t>(size_)) != 0) {
    size_ += static_cast<uint64_t>(written);
  }
  return false;
}

void AuditLog::BeginNewFile() {
  // The file is not there if it could be renamed and then no new one could be opened.
  if (std::rename(path_.c_str(), absl::StrCat(path_, ".1").c_str()) != 0 && errno != ENOENT) return;
  const absl::StatusOr<int> fd = OpenFile(path_);
  if (!fd.ok()) return;
  close(fd_);
  fd_ = *fd;
  size_ = 0;
}

}  // namespace bfly::control

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
#include <filesystem>
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
// The part of a file that calls beyond the role of a caller may fill.
constexpr uint64_t kRefusedPart = 8;
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

std::string OldName(const std::string& path) { return absl::StrCat(path, ".1"); }

// A full file must be renamed, or the log would grow for ever.
absl::Status CheckCanBeRenamed(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  const std::string directory = parent.empty() ? "." : parent.string();
  if (faccessat(AT_FDCWD, directory.c_str(), W_OK | X_OK, AT_EACCESS) != 0) {
    return absl::PermissionDeniedError(
        absl::StrCat("audit: ", path,
                     " could not be renamed once it is full, because this user may "
                     "not write to ",
                     directory, ": ", std::strerror(errno)));
  }
  struct stat old {};
  if (lstat(OldName(path).c_str(), &old) == 0 && !S_ISREG(old.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat("audit: ", OldName(path), " is not a plain file, so ", path,
                     " could not take its place once it is full; remove it"));
  }
  return absl::OkStatus();
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
  if (absl::Status status = CheckCanBeRenamed(path); !status.ok()) {
    close(*fd);
    return status;
  }
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
    LeaveOut(left_out_, entry.caller.who, 1);
    news_.notify_one();
    return;
  }
  room_.wait(lock, [this] { return waiting_.size() < kMaxWaiting; });
  waiting_.push_back(std::move(entry));
  if (waiting_.size() == 1) news_.notify_one();
}

void AuditLog::LeaveOut(LeftOut& left_out, const std::string& who, uint64_t calls) {
  const bool crowded = left_out.size() >= CallRate::kMostCallers && !left_out.contains(who);
  left_out[crowded ? "others" : who] += calls;
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
    LeftOut left_out;
    if (const auto now = std::chrono::steady_clock::now(); now >= count_at || stopping_) {
      left_out.swap(left_out_);
      count_at = now + kCountEvery;
    }
    lock.unlock();
    room_.notify_all();
    for (const AuditEntry& entry : entries) WriteEntry(entry);
    for (const auto& [who, calls] : left_out) LeaveOut(uncounted_, who, calls);
    WriteCounts(/*all=*/false);
    entries.clear();
    lock.lock();
  }
  WriteCounts(/*all=*/true);
}

void AuditLog::WriteEntry(const AuditEntry& entry) {
  const std::string line = AuditLine(entry) + "\n";
  if (!entry.beyond_role) return WriteLine(line);
  if (!WriteRefused(line)) LeaveOut(uncounted_, entry.caller.who, 1);
}

void AuditLog::WriteCounts(bool all) {
  for (auto next = uncounted_.begin(); next != uncounted_.end();) {
    const nlohmann::ordered_json count = {{"time", TimeText(std::chrono::system_clock::now())},
                                          {"caller", next->first},
                                          {"calls_left_out", next->second}};
    const std::string line = TextOf(count) + "\n";
    if (all) {
      WriteLine(line);
    } else if (!WriteRefused(line)) {
      return;
    }
    next = uncounted_.erase(next);
  }
}

bool AuditLog::WriteRefused(const std::string& line) {
  if (refused_size_ + line.size() > max_file_ / kRefusedPart) return false;
  WriteLine(line);
  refused_size_ += line.size();
  return true;
}

void AuditLog::WriteLine(const std::string& line) {
  if (size_ + line.size() > max_file_ && size_ > 0 && !BeginNewFile()) {
    ++lost_;
    return;
  }
  if (lost_ > 0) {
    const nlohmann::ordered_json loss = {{"time", TimeText(std::chrono::system_clock::now())},
                                         {"lines_lost", lost_},
                                         {"error", lost_why_}};
    if (Append(TextOf(loss) + "\n")) lost_ = 0;
  }
  // A line that has no room is missing from the file; the fabric goes on.
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

bool AuditLog::BeginNewFile() {
  // The file is not there if it could be renamed and then no new one could be opened.
  if (std::rename(path_.c_str(), OldName(path_).c_str()) != 0 && errno != ENOENT) {
    lost_why_ = absl::StrCat("the full file cannot be renamed to ", OldName(path_), ": ",
                             std::strerror(errno));
    return false;
  }
  const absl::StatusOr<int> fd = OpenFile(path_);
  if (!fd.ok()) {
    lost_why_ = std::string(fd.status().message());
    return false;
  }
  close(fd_);
  fd_ = *fd;
  size_ = 0;
  refused_size_ = 0;
  return true;
}

}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
// The file that says who changed the fabric, when, and how the call ended: one JSON object a line.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "control/access/gate.h"

namespace bfly::control {

struct AuditEntry {
  std::chrono::system_clock::time_point begin;
  std::chrono::microseconds took{0};
  Caller caller;
  std::string call;       // "bfly.v1.Fabric.Load"
  uint64_t messages = 0;  // requests of the call
  std::string status;     // "OK", "PERMISSION_DENIED", ...
  std::string error;
  // Makes the text of the first request. The log's own thread calls it, so a caller never waits for
  // it.
  std::function<std::string()> request;
};

// The line of an entry, without the end of the line. Texts longer than kMaxAuditText are cut.
std::string AuditLine(const AuditEntry& entry);
inline constexpr size_t kMaxAuditText = 512;

// Thread-safe. A thread of its own writes; at most kMaxWaiting entries wait for it, and then Write
// waits too, so no entry is lost while the process lives.
class AuditLog {
 public:
  static constexpr size_t kMaxWaiting = 16384;
  static constexpr uint64_t kMaxFile = 64 << 20;

  // Appends to the file, which only its owner and its group may read. Once it has kMaxFile bytes it
  // becomes PATH.1, in place of the PATH.1 before, and a new file begins. PERMISSION_DENIED: it
  // cannot be opened. INVALID_ARGUMENT: it is not a plain file.
  static absl::StatusOr<std::unique_ptr<AuditLog>> Open(const std::string& path,
                                                        uint64_t max_file = kMaxFile);
  // Writes what waits.
  ~AuditLog();

  void Write(AuditEntry entry);

 private:
  AuditLog(std::string path, int fd, uint64_t size, uint64_t max_file);
  void Run();
  void WriteLines(const std::deque<AuditEntry>& entries);
  void BeginNewFile();

  const std::string path_;
  const uint64_t max_file_;
  int fd_;         // thread_
  uint64_t size_;  // thread_
  std::mutex mutex_;
  std::condition_variable news_;    // for thread_
  std::condition_variable room_;    // for Write
  std::deque<AuditEntry> waiting_;  // mutex_
  bool stopping_ = false;           // mutex_
  std::thread thread_;
};

}  // namespace bfly::control

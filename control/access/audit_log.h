// SPDX-License-Identifier: Apache-2.0
// The file that says who changed the fabric, when, and how the call ended: one JSON object a line.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "control/access/call_rate.h"
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
  bool beyond_role = false;  // the caller lacks the role that the call needs, so nothing was done
  // Makes the text of the first request. The log's own thread calls it, so a caller never waits for
  // it.
  std::function<std::string()> request;
};

// The line of an entry, without the end of the line. Texts longer than kMaxAuditText are cut.
std::string AuditLine(const AuditEntry& entry);
inline constexpr size_t kMaxAuditText = 512;

// Thread-safe. A thread of its own writes; at most kMaxWaiting entries wait for it, and then Write
// waits too, so no entry is lost while the process lives. Of calls beyond the role of a caller only
// kRefusedLines a second have a line each, and a line a second says how many more there were. They
// fill at most an eighth of a file: what comes then is counted in the next file, or when the log
// ends. Whoever may change nothing shall not drive what others changed out of the file.
class AuditLog {
 public:
  static constexpr size_t kMaxWaiting = 16384;
  static constexpr uint64_t kMaxFile = 64 << 20;
  static constexpr int kRefusedLines = 10;  // a caller (Caller::who)

  // Appends to the file, which only its owner and its group may read. A last line that was not
  // written to its end is cut off and counted as lost. Once it has kMaxFile bytes it
  // becomes PATH.1, in place of the PATH.1 before, and a new file begins. PERMISSION_DENIED: it
  // cannot be opened, or not be renamed. INVALID_ARGUMENT: it or PATH.1 is not a plain file, or it
  // holds something else. FAILED_PRECONDITION: another log writes it.
  static absl::StatusOr<std::unique_ptr<AuditLog>> Open(const std::string& path,
                                                        uint64_t max_file = kMaxFile);
  // Writes what waits.
  ~AuditLog();

  void Write(AuditEntry entry);

 private:
  // Calls beyond the role without a line, by Caller::who. At most CallRate::kMostCallers of them;
  // the others count as "others".
  using LeftOut = std::map<std::string, uint64_t>;
  static void LeaveOut(LeftOut& left_out, const std::string& who, uint64_t calls);

  // `cut`: a part of a line was cut off the end of the file.
  AuditLog(std::string path, int fd, uint64_t size, bool cut, uint64_t max_file);
  void Run();
  // What follows is for thread_.

  void WriteEntry(const AuditEntry& entry);
  // Writes a line for each caller of uncounted_; if not `all`, while WriteRefused has room.
  void WriteCounts(bool all);
  // Returns false, and writes nothing, if lines about calls beyond the role have filled their part
  // of the file.
  bool WriteRefused(const std::string& line);
  // Writes all of the line or nothing.
  void WriteLine(const std::string& line);
  bool Append(const std::string& line);
  // Returns false, with lost_why_, if the file stays as it is.
  bool BeginNewFile();

  const std::string path_;
  const uint64_t max_file_;
  int fd_;         // thread_
  uint64_t size_;  // thread_; of the whole lines
  // thread_; of the lines about calls beyond the role, since the file was begun or opened
  uint64_t refused_size_ = 0;
  uint64_t lost_ = 0;     // thread_; lines since the last one that could be written
  std::string lost_why_;  // thread_
  CallRate refused_{kRefusedLines};
  std::mutex mutex_;
  std::condition_variable news_;    // for thread_
  std::condition_variable room_;    // for Write
  std::deque<AuditEntry> waiting_;  // mutex_
  LeftOut left_out_;                // mutex_; since the last count
  LeftOut uncounted_;               // thread_; was left_out_, and has no line yet
  bool stopping_ = false;           // mutex_
  std::thread thread_;
};

}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
// A child process of the port benches. It reports by one pipe, and ends when the other is closed.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace bfly::dataplane {

// Prints why a child failed, and returns the child's exit code.
int ChildFailed(const absl::Status& status);

void PauseFor(double seconds);

// Whether this process keeps a CPU until it gives it up (SCHED_FIFO, SCHED_RR).
bool IsRealTime();

// Runs a program to its end, and returns what it printed, which goes to the file `log`.
// Unavailable: it did not end in time, or its exit code was not 0; the error quotes what it printed
// last.
absl::StatusOr<std::string> RunToEnd(const std::vector<std::string>& words, const std::string& log,
                                     double seconds);

// The child of a real-time process has a priority below it, so it can always be ended. At the
// lowest priority the process raises its own first.
class BenchProcess {
 public:
  // Runs `body(report, stop)` in a child. `body` writes to the descriptor `report`, and returns the
  // exit code soon after `stop` can be read. What the child prints goes to the file `log`.
  template <typename Body>
  static absl::StatusOr<std::unique_ptr<BenchProcess>> Fork(const std::string& log, Body body) {
    auto process = Start(log);
    if (!process.ok() || *process != nullptr) return process;
    Exit(body(kReport, kStop));
  }
  // Runs a program that ends when its standard input is closed.
  static absl::StatusOr<std::unique_ptr<BenchProcess>> Execute(
      const std::string& log, const std::vector<std::string>& words);
  ~BenchProcess() { Stop(0); }
  BenchProcess(const BenchProcess&) = delete;
  BenchProcess& operator=(const BenchProcess&) = delete;

  pid_t pid() const { return pid_; }
  // Returns false if fewer bytes of report come in time.
  bool Read(void* out, size_t size, double seconds);
  // Writes to its standard input. Returns false if the child has ended.
  bool Tell(const std::string& words);
  // Asks the child to end.
  void AskToStop();
  // Asks the child to end, and kills it if it does not end in time.
  void Stop(double seconds);
  // Returns false if the child ends, or does not print `words` in time.
  bool WaitForLog(const std::string& words, double seconds) const;
  bool HasEnded() const;
  // The error of a child that did not do what it was to do: it ended before it did, or took more
  // than `seconds`. `name` says which program it is, `done` what it was to have done ("started").
  // The error quotes what the child printed last.
  absl::Status Silent(const std::string& name, const std::string& done, double seconds) const;
  // Waits until the child has ended, and returns its exit code, or -1 if it was killed or did not
  // end in time.
  int WaitForEnd(double seconds) const;
  // Returns the end of what the child printed, or "(nothing)".
  std::string LogTail() const;
  std::string Log() const;

 private:
  static constexpr int kStop = 0;    // a descriptor in the child
  static constexpr int kReport = 3;  // a descriptor in the child

  BenchProcess() = default;
  // Null in the child.
  static absl::StatusOr<std::unique_ptr<BenchProcess>> Start(const std::string& log);
  [[noreturn]] static void Exit(int code);

  pid_t pid_ = -1;
  int report_ = -1;
  int stop_ = -1;
  std::string log_;
};

}  // namespace bfly::dataplane

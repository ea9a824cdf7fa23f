// SPDX-License-Identifier: Apache-2.0
// A child process of the port bench: it reports by one pipe, and ends when the other is closed.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace bfly::dataplane {

// Prints why a child failed, and returns its exit code.
int ChildFailed(const absl::Status& status);

class BenchProcess {
 public:
  // Runs `body(report, stop)` in a child: it writes to the first descriptor, and returns its exit
  // code soon after the second can be read. What the child prints goes to the file `log`.
  template <typename Body>
  static absl::StatusOr<std::unique_ptr<BenchProcess>> Fork(const std::string& log, Body body) {
    auto process = Start(log);
    if (!process.ok() || *process != nullptr) return process;
    Exit(body(kReport, kStop));
  }
  // Runs a program that ends when its standard input does.
  static absl::StatusOr<std::unique_ptr<BenchProcess>> Execute(
      const std::string& log, const std::vector<std::string>& words);
  ~BenchProcess() { Stop(0); }
  BenchProcess(const BenchProcess&) = delete;
  BenchProcess& operator=(const BenchProcess&) = delete;

  pid_t pid() const { return pid_; }
  // False if fewer bytes of report come in time.
  bool Read(void* out, size_t size, double seconds);
  // Writes to its standard input. False if it has ended.
  bool Tell(const std::string& words);
  // Asks it to end.
  void AskToStop();
  // Asks it to end; kills it if it does not in time.
  void Stop(double seconds);
  // False if it ends, or does not print `words` in time.
  bool WaitForLog(const std::string& words, double seconds) const;
  // The end of what it printed.
  std::string LogTail() const;
  std::string Log() const;

 private:
  static constexpr int kStop = 0;    // in the child
  static constexpr int kReport = 3;  // in the child

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

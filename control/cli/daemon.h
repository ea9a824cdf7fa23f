// SPDX-License-Identifier: Apache-2.0
// The processes that `bfly up` starts and `bfly down` stops. Each has a pid file and a log in the
// run directory.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace bfly::control {

// The files of one process of a fabric in the run directory: NAME.pid, NAME.log and NAME.sock.
struct DaemonFiles {
  std::string run_dir;
  std::string name;
  std::string pid_file() const { return run_dir + "/" + name + ".pid"; }
  std::string log() const { return run_dir + "/" + name + ".log"; }
  std::string socket() const { return run_dir + "/" + name + ".sock"; }
};

struct DaemonStart {
  std::vector<std::string> command;  // path of the program, then its arguments
  std::string network_namespace;     // as `ip netns` names it; empty: the caller's
};

// Starts the process in a session of its own with its output in the log, and writes the pid file.
// The error says why it could not be started (no such program, no such namespace, no permission).
absl::StatusOr<pid_t> StartDaemon(const DaemonFiles& files, const DaemonStart& start);

// Returns the process of the pid file, or 0 if it no longer runs. A later process with the same pid
// is recognized by its start time.
pid_t RunningDaemon(const DaemonFiles& files);

enum class DaemonEnd {
  kAsAsked,  // or it did not run
  kKilled,
  kNotPermitted,  // it belongs to another user, and runs on
  kStays,         // it was killed and is still there, as a process that waits for a device may be
};
// Sends SIGTERM, and SIGKILL after `patience`. Once the process has ended it removes the pid file
// and, unless another process serves there by now, the socket. The log stays.
DaemonEnd StopDaemon(const DaemonFiles& files, std::chrono::milliseconds patience);

// Returns the name of every pid file in the run directory.
std::vector<std::string> DaemonNames(const std::string& run_dir);

// The last `lines` lines of a log, indented.
std::string LogTail(const DaemonFiles& files, int lines);

// The path of the program `name` in the directory of the running program.
std::string SiblingProgram(const std::string& name);

// A lock that is held while a run directory is changed, so that two `bfly up` cannot meet. It
// creates the directory.
class RunDirLock {
 public:
  static absl::StatusOr<RunDirLock> Take(const std::string& run_dir);
  RunDirLock(RunDirLock&& other) noexcept : descriptor_(other.descriptor_) {
    other.descriptor_ = -1;
  }
  ~RunDirLock();

 private:
  explicit RunDirLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace bfly::control

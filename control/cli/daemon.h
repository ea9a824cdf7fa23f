// SPDX-License-Identifier: Apache-2.0
// The processes `bfly up` starts and `bfly down` stops: each has a pid file and a log in the run
// directory.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace bfly::control {

// One process of a fabric, known by its name: NAME.pid, NAME.log and NAME.sock in the run
// directory.
struct DaemonFiles {
  std::string run_dir;
  std::string name;
  std::string pid_file() const { return run_dir + "/" + name + ".pid"; }
  std::string log() const { return run_dir + "/" + name + ".log"; }
  std::string socket() const { return run_dir + "/" + name + ".sock"; }
};

struct DaemonStart {
  std::vector<std::string> command;  // path of the program, then its arguments
  std::string network_namespace;     // name as `ip netns` has it; empty: the caller's
};

// Starts it in a session of its own, its output in the log, and writes the pid file. The error says
// why it could not be started (no such program, no such namespace, no permission).
absl::StatusOr<pid_t> StartDaemon(const DaemonFiles& files, const DaemonStart& start);

// The process of a pid file, or 0 if it runs no more. A pid that was given to another process since
// is told apart by the time its process started.
pid_t RunningDaemon(const DaemonFiles& files);

// SIGTERM; after `patience` SIGKILL. Removes pid file and socket and leaves the log, and the socket
// too if another process serves there by now. True if it had to be killed.
bool StopDaemon(const DaemonFiles& files, std::chrono::milliseconds patience);

// Every name with a pid file in the run directory.
std::vector<std::string> DaemonNames(const std::string& run_dir);

// The last `lines` lines of a log, indented.
std::string LogTail(const DaemonFiles& files, int lines);

// The program `name` beside the one that runs now.
std::string SiblingProgram(const std::string& name);

// Held while a run directory is changed, so that two `bfly up` cannot meet. Creates the directory.
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

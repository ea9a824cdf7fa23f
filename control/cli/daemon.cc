// SPDX-License-Identifier: Apache-2.0
#include "control/cli/daemon.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "control/server/address.h"
#include "dataplane/runtime/process_start.h"

namespace bfly::control {
namespace {

constexpr std::chrono::milliseconds kPollStep{20};
constexpr std::chrono::seconds kKillPatience{10};

// An error between fork and exec, which the child tells its parent through a pipe.
struct ChildError {
  int error;
  char what[32];
};

[[noreturn]] void FailChild(int pipe, const char* what) {
  ChildError failure{.error = errno, .what = {}};
  strncpy(failure.what, what, sizeof(failure.what) - 1);
  (void)!write(pipe, &failure, sizeof(failure));
  _exit(127);
}

[[noreturn]] void RunChild(const DaemonStart& start, std::vector<char*> arguments, int netns,
                           int log, int go, int pipe) {
  // If the parent is killed before it has written the pid file, nothing has started.
  char word = 0;
  if (read(go, &word, 1) != 1) _exit(127);
  setsid();
  if (netns >= 0 && setns(netns, CLONE_NEWNET) != 0) FailChild(pipe, "entering the namespace");
  const int null = open("/dev/null", O_RDONLY);
  if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(log, STDOUT_FILENO) < 0 ||
      dup2(log, STDERR_FILENO) < 0)
    FailChild(pipe, "redirecting its output");
  signal(SIGPIPE, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execv(start.command[0].c_str(), arguments.data());
  FailChild(pipe, "running it");
}

absl::Status Failed(const std::string& what, int error) { return absl::ErrnoToStatus(error, what); }

}  // namespace

absl::StatusOr<pid_t> StartDaemon(const DaemonFiles& files, const DaemonStart& start) {
  const int log = open(files.log().c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (log < 0) return Failed("cannot write " + files.log(), errno);
  int netns = -1;
  if (!start.network_namespace.empty()) {
    const std::string path = "/run/netns/" + start.network_namespace;
    netns = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (netns < 0) {
      const int error = errno;
      close(log);
      return Failed(
          absl::StrCat("data_planes: network namespace ", start.network_namespace, " of ",
                       files.name, " (make it with `ip netns add ", start.network_namespace, "`)"),
          error);
    }
  }
  int pipe_ends[2], go[2];
  if (pipe2(pipe_ends, O_CLOEXEC) != 0 || pipe2(go, O_CLOEXEC) != 0) return Failed("pipe", errno);
  std::vector<char*> arguments;
  for (const std::string& word : start.command)
    arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);

  const pid_t pid = fork();
  const int fork_error = errno;
  if (pid == 0) {
    close(go[1]);
    RunChild(start, arguments, netns, log, go[0], pipe_ends[1]);
  }
  close(pipe_ends[1]);
  close(go[0]);
  close(log);
  if (netns >= 0) close(netns);
  bool written = false;
  if (pid > 0) {
    std::ofstream pid_file(files.pid_file());
    pid_file << pid << " " << dataplane::ProcessStart(pid) << "\n";
    pid_file.close();
    written = !pid_file.fail();
    if (written) (void)!write(go[1], "", 1);
  }
  close(go[1]);  // without a word before it, the child ends
  ChildError failure{};
  // If exec succeeds, the pipe closes without a byte.
  const ssize_t told = pid < 0 ? 0 : read(pipe_ends[0], &failure, sizeof(failure));
  close(pipe_ends[0]);
  if (pid < 0) return Failed("fork", fork_error);
  if (!written || told == sizeof(failure)) {
    waitpid(pid, nullptr, 0);
    unlink(files.pid_file().c_str());
    if (!written) return absl::InternalError("cannot write " + files.pid_file());
    return Failed(absl::StrCat("cannot start ", start.command[0], ": ", failure.what),
                  failure.error);
  }
  return pid;
}

pid_t RunningDaemon(const DaemonFiles& files) {
  std::ifstream file(files.pid_file());
  pid_t pid = 0;
  uint64_t started = 0;
  if (!(file >> pid >> started) || pid <= 1) return 0;
  waitpid(pid, nullptr, WNOHANG);  // reaps a child of this process, so that it does not count as
                                   // running
  return started != 0 && dataplane::ProcessStart(pid) == started ? pid : 0;
}

DaemonEnd StopDaemon(const DaemonFiles& files, std::chrono::milliseconds patience) {
  DaemonEnd end = DaemonEnd::kAsAsked;
  if (const pid_t pid = RunningDaemon(files); pid != 0) {
    if (kill(pid, SIGTERM) != 0 && errno == EPERM) return DaemonEnd::kNotPermitted;
    auto deadline = std::chrono::steady_clock::now() + patience;
    while (RunningDaemon(files) != 0) {
      if (std::chrono::steady_clock::now() > deadline) {
        if (end == DaemonEnd::kKilled) return DaemonEnd::kStays;
        kill(pid, SIGKILL);
        end = DaemonEnd::kKilled;
        deadline += kKillPatience;
      }
      std::this_thread::sleep_for(kPollStep);
    }
  }
  unlink(files.pid_file().c_str());
  // Somebody may have started another one by hand after the daemon died.
  if (!SomebodyAnswers(files.socket())) {
    unlink(files.socket().c_str());
    unlink(UpdateSocketPath("unix:" + files.socket()).c_str());
  }
  return end;
}

std::vector<std::string> DaemonNames(const std::string& run_dir) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(run_dir, error))
    if (entry.path().extension() == ".pid") names.push_back(entry.path().stem());
  std::sort(names.begin(), names.end());
  return names;
}

std::string LogTail(const DaemonFiles& files, int lines) {
  std::ifstream file(files.log());
  std::deque<std::string> tail;
  for (std::string line; std::getline(file, line);) {
    tail.push_back(line);
    if (tail.size() > static_cast<size_t>(lines)) tail.pop_front();
  }
  std::string out;
  for (const std::string& line : tail) absl::StrAppend(&out, "    ", line, "\n");
  return out;
}

std::string SiblingProgram(const std::string& name) {
  std::error_code error;
  return (std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / name).string();
}

absl::StatusOr<RunDirLock> RunDirLock::Take(const std::string& run_dir) {
  if (absl::Status status = CheckRunDirectory(run_dir); !status.ok()) return status;
  std::error_code error;
  std::filesystem::create_directories(run_dir, error);
  if (error)
    return absl::ErrnoToStatus(error.value(),
                               absl::StrCat("cannot create ", run_dir,
                                            " (run it with sudo, or name another directory with "
                                            "--run-dir)"));
  // The lock is on the directory itself, so that no lock file is left behind.
  const int descriptor = open(run_dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0 || access(run_dir.c_str(), W_OK) != 0) {
    const int open_error = errno;
    if (descriptor >= 0) close(descriptor);
    return absl::ErrnoToStatus(open_error,
                               absl::StrCat("cannot write to ", run_dir,
                                            " (run it with sudo, or name another directory with "
                                            "--run-dir)"));
  }
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    close(descriptor);
    return absl::UnavailableError(
        absl::StrCat("another `bfly up` or `bfly down` is at work in ", run_dir,
                     "; one with --foreground stays there until Ctrl-C or SIGTERM ends it"));
  }
  return RunDirLock(descriptor);
}

RunDirLock::~RunDirLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
#include "dataplane/bench/bench_processes.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace bfly::dataplane {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kTailBytes = 400;
// A killed process ends when the kernel gives it a CPU the next time. The bench does not wait
// longer than this for it.
constexpr double kKilledSeconds = 5;

Clock::time_point After(double seconds) {
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

// Returns the priority for a child of a real-time process, 0 for one of any other. The bench stays
// more urgent than its children: they may keep their CPUs for ever, and it must be able to end
// them.
int PriorityOfChild() {
  sched_param own{};
  if (!IsRealTime() || sched_getparam(0, &own) != 0) return 0;
  if (own.sched_priority == sched_get_priority_min(SCHED_FIFO)) {
    ++own.sched_priority;
    if (sched_setparam(0, &own) != 0) return 0;
  }
  return own.sched_priority - 1;
}

}  // namespace

bool IsRealTime() {
  const int policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
  return policy == SCHED_FIFO || policy == SCHED_RR;
}

void PauseFor(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

absl::StatusOr<std::string> RunToEnd(const std::vector<std::string>& words, const std::string& log,
                                     double seconds) {
  auto process = BenchProcess::Execute(log, words);
  if (!process.ok()) return process.status();
  const int code = (*process)->WaitForEnd(seconds);
  if (code == 0) return (*process)->Log();
  const std::string command = absl::StrJoin(words, " ");
  if (!(*process)->HasEnded()) return (*process)->Silent(command, "ended", seconds);
  return absl::UnavailableError(
      absl::StrCat(command, code < 0 ? " was killed" : absl::StrCat(" ended with code ", code),
                   "; it printed last: ", (*process)->LogTail()));
}

int ChildFailed(const absl::Status& status) {
  fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return 1;
}

absl::StatusOr<std::unique_ptr<BenchProcess>> BenchProcess::Start(const std::string& log) {
  int report[2], stop[2];
  if (pipe2(report, O_CLOEXEC) != 0 || pipe2(stop, O_CLOEXEC) != 0) {
    return absl::UnavailableError(
        absl::StrCat("no pipe to a process of the bench: ", strerror(errno)));
  }
  const pid_t parent = getpid();
  const sched_param less_urgent{.sched_priority = PriorityOfChild()};
  const pid_t pid = fork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (less_urgent.sched_priority > 0) sched_setparam(0, &less_urgent);
    if (getppid() != parent) _exit(1);
    const int file = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    // The order matters: no descriptor may be overwritten before it was copied.
    const int report_copy = fcntl(report[1], F_DUPFD, 10);
    const int stop_copy = fcntl(stop[0], F_DUPFD, 10);
    dup2(file, 1);
    dup2(file, 2);
    dup2(stop_copy, kStop);
    dup2(report_copy, kReport);
    closefrom(kReport + 1);
    return std::unique_ptr<BenchProcess>();
  }
  close(report[1]);
  close(stop[0]);
  std::unique_ptr<BenchProcess> process(new BenchProcess);
  process->pid_ = pid;
  process->report_ = report[0];
  process->stop_ = stop[1];
  process->log_ = log;
  if (pid < 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot start a process of the bench: ", strerror(errno)));
  }
  return process;
}

absl::StatusOr<std::unique_ptr<BenchProcess>> BenchProcess::Execute(
    const std::string& log, const std::vector<std::string>& words) {
  auto process = Start(log);
  if (!process.ok() || *process != nullptr) return process;
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
  Exit(127);
}

void BenchProcess::Exit(int code) {
  fflush(nullptr);
  _exit(code);
}

bool BenchProcess::Read(void* out, size_t size, double seconds) {
  const Clock::time_point deadline = After(seconds);
  auto* at = static_cast<char*>(out);
  while (size > 0) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd ready{.fd = report_, .events = POLLIN, .revents = 0};
    if (left.count() <= 0 || poll(&ready, 1, static_cast<int>(left.count())) <= 0) return false;
    const ssize_t n = read(report_, at, size);
    if (n <= 0) return false;
    at += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

bool BenchProcess::Tell(const std::string& words) {
  // A child that has ended must not end this process.
  signal(SIGPIPE, SIG_IGN);
  return write(stop_, words.data(), words.size()) == static_cast<ssize_t>(words.size());
}

void BenchProcess::AskToStop() {
  if (stop_ >= 0) close(stop_);
  stop_ = -1;
}

void BenchProcess::Stop(double seconds) {
  AskToStop();
  if (pid_ <= 0) return;
  const Clock::time_point deadline = After(seconds);
  const Clock::time_point give_up = After(seconds + kKilledSeconds);
  int status;
  while (waitpid(pid_, &status, WNOHANG) == 0 && Clock::now() < give_up) {
    if (Clock::now() >= deadline) kill(pid_, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  close(report_);
  pid_ = -1;
}

std::string BenchProcess::Log() const {
  std::ifstream file(log_);
  return std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
}

bool BenchProcess::HasEnded() const {
  siginfo_t ended{};
  return waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT) != 0 ||
         ended.si_pid == pid_;
}

int BenchProcess::WaitForEnd(double seconds) const {
  const Clock::time_point deadline = After(seconds);
  while (Clock::now() < deadline) {
    siginfo_t ended{};
    if (waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT) != 0) return -1;
    if (ended.si_pid == pid_) return ended.si_code == CLD_EXITED ? ended.si_status : -1;
    PauseFor(0.002);
  }
  return -1;
}

bool BenchProcess::WaitForLog(const std::string& words, double seconds) const {
  const Clock::time_point deadline = After(seconds);
  while (Log().find(words) == std::string::npos) {
    if (HasEnded() || Clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

absl::Status BenchProcess::Silent(const std::string& name, const std::string& done,
                                  double seconds) const {
  const std::string printed = absl::StrCat("; it printed last: ", LogTail());
  return HasEnded()
             ? absl::UnavailableError(absl::StrCat(name, " ended before it had ", done, printed))
             : absl::UnavailableError(
                   absl::StrCat(name, " had not ", done, " after ", seconds, " s", printed));
}

std::string BenchProcess::LogTail() const {
  const std::string all = Log();
  if (all.empty()) return "(nothing)";
  std::string tail = all.substr(all.size() - std::min(all.size(), kTailBytes));
  std::replace(tail.begin(), tail.end(), '\n', ' ');
  return tail;
}

}  // namespace bfly::dataplane

// SPDX-License-Identifier: Apache-2.0
#include "control/plot/gnuplot.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <thread>

#include "absl/strings/str_cat.h"

extern char** environ;

namespace bfly::control {
namespace {

// How often it looks whether gnuplot has ended and whether it should end.
constexpr std::chrono::milliseconds kInterval{20};

}  // namespace

absl::Status RunGnuplot(const std::string& folder, const std::string& script,
                        const std::function<bool()>& interrupted) {
  if (interrupted()) return absl::CancelledError("interrupted before " + script);
  std::string name = "gnuplot", file = script;
  // The user does not need gnuplot's warnings, for example about a flat curve. The log is kept only
  // if gnuplot fails.
  const std::string said = script + ".log";
  const std::string said_path = absl::StrCat(folder, "/", said);
  char* argv[] = {name.data(), file.data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, said.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0644);
  pid_t child = 0;
  const int error = posix_spawnp(&child, "gnuplot", &actions, nullptr, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    unlink(said_path.c_str());
    return absl::FailedPreconditionError(
        "gnuplot cannot be started, so there are no plots; the Debian package is gnuplot-nox. "
        "bfly measure --plot " +
        folder + " draws them later");
  }
  int status = 0;
  bool stopped = false;
  for (pid_t ended = 0; ended != child;) {
    ended = waitpid(child, &status, WNOHANG);
    if (ended < 0 && errno != EINTR) break;
    if (ended == child) break;
    if (!stopped && interrupted()) {
      kill(child, SIGKILL);
      stopped = true;
    }
    std::this_thread::sleep_for(kInterval);
  }
  if (stopped || interrupted()) {
    unlink(said_path.c_str());
    return absl::CancelledError("interrupted while gnuplot drew " + script);
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return absl::InternalError(
        absl::StrCat("gnuplot failed on ", folder, "/", script, "; ", said_path, " says why"));
  }
  unlink(said_path.c_str());
  return absl::OkStatus();
}

}  // namespace bfly::control

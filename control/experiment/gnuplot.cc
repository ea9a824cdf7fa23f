// SPDX-License-Identifier: Apache-2.0
#include "control/experiment/gnuplot.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/experiment/journal.h"

extern char** environ;

namespace bfly::control {
namespace {

// What gnuplot has to say goes to a file, and is kept if it failed: its warnings about a curve that
// is flat are not for whoever measures.
absl::Status RunGnuplot(const std::string& script) {
  std::string name = "gnuplot", file = script;
  const std::string said = script + ".log";
  char* argv[] = {name.data(), file.data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, said.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0644);
  pid_t child = 0;
  const int error = posix_spawnp(&child, "gnuplot", &actions, nullptr, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    unlink(said.c_str());
    return absl::FailedPreconditionError(absl::StrCat(
        "gnuplot cannot be started, so there are no plots; the Debian package is gnuplot-nox. ",
        script, " draws them later"));
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return absl::InternalError(absl::StrCat("gnuplot failed on ", script, "; ", said, " says why"));
  }
  unlink(said.c_str());
  return absl::OkStatus();
}

}  // namespace

absl::Status DrawPlot(std::string script, const std::string& plots, const std::string& folder,
                      const std::string& name) {
  for (const char* kind : {"svg", "png"}) {
    absl::StrAppend(&script, "set terminal ", kind, " size 900,600\nset output '", folder, "/",
                    name, ".", kind, "'\n", plots, "\n");
  }
  const std::string path = absl::StrCat(folder, "/", name, ".gp");
  if (absl::Status status = WriteFile(path, script); !status.ok()) return status;
  return RunGnuplot(path);
}

}  // namespace bfly::control

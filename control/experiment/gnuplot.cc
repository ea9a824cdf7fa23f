// SPDX-License-Identifier: Apache-2.0
#include "control/experiment/gnuplot.h"

#include <spawn.h>
#include <sys/wait.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/experiment/journal.h"

extern char** environ;

namespace bfly::control {
namespace {

absl::Status RunGnuplot(const std::string& script) {
  std::string name = "gnuplot", file = script;
  char* argv[] = {name.data(), file.data(), nullptr};
  pid_t child = 0;
  if (posix_spawnp(&child, "gnuplot", nullptr, nullptr, argv, environ) != 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "gnuplot cannot be started, so there are no plots; the Debian package is gnuplot-nox. ",
        script, " draws them later"));
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return absl::InternalError(absl::StrCat("gnuplot failed on ", script));
  }
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

// SPDX-License-Identifier: Apache-2.0
// bfly: the command line.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

#include "control/cli/suggestion.h"
#include "control/cli/verb.h"

int main(int argc, char** argv) {
  bfly::control::Invocation invocation;
  const std::unique_ptr<CLI::App> app = bfly::control::BuildParser(invocation);
  try {
    app->parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const bool asked = error.get_exit_code() == 0;  // --help and --version are not errors
    const std::string meant =
        asked ? ""
              : bfly::control::Suggestion(*app, std::vector<std::string>(argv + 1, argv + argc));
    if (meant.empty()) {
      app->exit(error, std::cout, std::cerr);
    } else {
      std::cerr << "bfly: " << meant << "\n";
    }
    return asked ? bfly::control::kExitOk : bfly::control::kExitUsage;
  }
  const absl::Status status = invocation.action();
  std::cout.flush();
  // The end of what the action printed may have waited until now.
  const int error = fflush(stdout) == 0 ? 0 : errno;
  if (!status.ok()) {
    std::cerr << "bfly: " << std::string(status.message()) << "\n";
    return invocation.failed;
  }
  if (error == 0 && ferror(stdout) == 0) return bfly::control::kExitOk;
  std::cerr << "bfly: cannot write to standard output"
            << (error == 0 ? "" : std::string(": ") + std::strerror(error)) << "\n";
  return bfly::control::kExitFailed;
}

// SPDX-License-Identifier: Apache-2.0
// bfly: the command line.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

#include "control/cli/command_words.h"
#include "control/cli/suggestion.h"
#include "control/cli/verb.h"

int main(int argc, char** argv) {
  bfly::control::Invocation invocation;
  const std::unique_ptr<CLI::App> app = bfly::control::BuildParser(invocation);
  const std::vector<std::string> words(argv + 1, argv + argc);
  try {
    const std::vector<std::string> marked = bfly::control::WithMarks(words);
    // The parser begins with the last element.
    app->parse(std::vector<std::string>(marked.rbegin(), marked.rend()));
  } catch (const CLI::ParseError& error) {
    const bool asked = error.get_exit_code() == 0;  // --help and --version are not errors
    const std::string meant = asked ? "" : bfly::control::Suggestion(*app, words);
    if (meant.empty()) {
      app->exit(error, std::cout, std::cerr);
    } else {
      std::cerr << "bfly: " << meant << "\n";
    }
    if (asked) return bfly::control::kExitOk;
    // The command may itself end with the code of wrong usage.
    return bfly::control::NamesLabExec(words) ? bfly::control::kExitOwnError
                                              : bfly::control::kExitUsage;
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

// SPDX-License-Identifier: Apache-2.0
// bfly: the command line.
#include <unistd.h>

#include <cstdio>
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
  if (status.ok()) return bfly::control::kExitOk;
  std::cout.flush();
  std::cerr << "bfly: " << std::string(status.message()) << "\n";
  return invocation.failed;
}

// SPDX-License-Identifier: Apache-2.0
#include "dataplane/runtime/process_start.h"

#include <fstream>
#include <sstream>
#include <string>

namespace bfly::dataplane {

uint64_t ProcessStart(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  if (!std::getline(file, line)) return 0;
  // The second field is the program's name in brackets and may hold anything.
  const size_t bracket = line.rfind(')');
  if (bracket == std::string::npos) return 0;
  std::istringstream rest(line.substr(bracket + 1));
  std::string state, skipped;
  rest >> state;
  for (int field = 4; field < 20; ++field) rest >> skipped;
  uint64_t threads = 0, ticks = 0;
  rest >> threads >> skipped >> ticks;
  // The first thread may have ended before the others, which still hold the process's descriptors.
  const bool ended = (state == "Z" || state == "X") && threads <= 1;
  return ended ? 0 : ticks;
}

}  // namespace bfly::dataplane

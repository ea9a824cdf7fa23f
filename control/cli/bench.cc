// SPDX-License-Identifier: Apache-2.0
#include <sys/utsname.h>

#include <fstream>

#include "control/cli/bench_report.h"
#include "control/cli/text.h"

namespace bfly::control {

std::string ProcessorName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  utsname name{};
  return uname(&name) == 0 ? name.machine : "unknown";
}

std::string SpreadText(const dataplane::RunStatistics& runs) {
  return Count(runs.median) + " (" + Count(runs.lowest) + " to " + Count(runs.highest) + ")";
}

nlohmann::ordered_json SpreadJson(const dataplane::RunStatistics& runs) {
  return {{"median", runs.median}, {"lowest", runs.lowest}, {"highest", runs.highest}};
}

nlohmann::ordered_json AccountJson(const dataplane::Conservation& account) {
  return {{"injected", account.injected},
          {"delivered", account.delivered},
          {"dropped", account.dropped},
          {"in_flight", account.in_flight}};
}

absl::Status CheckAccount(const dataplane::Conservation& account) {
  if (account.injected == account.delivered + account.dropped + account.in_flight)
    return absl::OkStatus();
  return absl::InternalError("the account of the packets does not balance: the figures are void");
}

void AddBench(CLI::App& app, Invocation& invocation) {
  CLI::App* group = NewGroup(app, "bench", "Measure how fast this machine runs fabrics",
                             "sudo bfly bench fabric --rows 1024");
  AddFabricBench(*group, invocation);
  AddInBandBench(*group, invocation);
  AddLinkBench(*group, invocation);
  AddMachineBench(*group, invocation);
  AddPortBench(*group, invocation);
  AddVirtualBench(*group, invocation);
  AddStepBench(*group, invocation);
  AddCircuitBench(*group, invocation);
  AddGrpcBench(*group, invocation);
  AddNdrBench(*group, invocation);
  AddStartBench(*group, invocation);
  AddTelemetryBench(*group, invocation);
  AddAllBenches(*group, invocation);
}

}  // namespace bfly::control

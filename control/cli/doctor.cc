// SPDX-License-Identifier: Apache-2.0
// bfly doctor: what this machine lacks for bfly, and how to mend it.
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "control/cli/verb.h"
#include "control/doctor/check.h"
#include "control/doctor/topology_needs.h"
#include "control/topology_file/reader.h"

namespace bfly::control {
namespace {

struct DoctorOptions {
  std::string file;
  std::string root;
};

const char* FitnessName(Fitness verdict) {
  switch (verdict) {
    case Fitness::kOk:
      return "ok";
    case Fitness::kSlower:
      return "slower";
    case Fitness::kMissing:
      return "missing";
  }
  return "unknown";
}

absl::StatusOr<std::vector<NamedFinding>> LookAtMachine(const DoctorOptions& options,
                                                        const Common& common) {
  if (!options.root.empty() && !std::filesystem::is_directory(options.root)) {
    return absl::NotFoundError(absl::StrCat("--root: there is no directory ", options.root));
  }
  const Machine machine(options.root, common.run_dir);
  std::vector<NamedFinding> findings;
  for (const Check& check : Checks()) findings.push_back({check.name, check.look(machine)});
  if (options.file.empty()) return findings;
  const auto topology = ReadTopologyFile(options.file);
  if (!topology.ok()) return topology.status();
  for (NamedFinding& need : TopologyNeeds(*topology, machine)) findings.push_back(std::move(need));
  return findings;
}

void PrintJsonFindings(const std::vector<NamedFinding>& findings) {
  auto checks = nlohmann::ordered_json::array();
  bool runs = true;
  for (const auto& [name, finding] : findings) {
    runs &= finding.verdict != Fitness::kMissing;
    checks.push_back({{"name", name},
                      {"verdict", FitnessName(finding.verdict)},
                      {"found", finding.found},
                      {"mend", finding.mend}});
  }
  const nlohmann::ordered_json report = {{"runs", runs}, {"checks", checks}};
  printf("%s\n", report.dump(2).c_str());
}

void PrintFindings(const std::vector<NamedFinding>& findings) {
  for (const auto& [name, finding] : findings) {
    printf("%-8s %-18s %s\n", FitnessName(finding.verdict), name.c_str(), finding.found.c_str());
    if (!finding.mend.empty()) printf("%27s -> %s\n", "", finding.mend.c_str());
  }
}

absl::Status Doctor(const DoctorOptions& options, const Common& common) {
  const auto findings = LookAtMachine(options, common);
  if (!findings.ok()) return findings.status();
  if (common.json) {
    PrintJsonFindings(*findings);
  } else {
    PrintFindings(*findings);
  }
  std::string missing;
  int slower = 0;
  for (const auto& [name, finding] : *findings) {
    slower += finding.verdict == Fitness::kSlower;
    if (finding.verdict != Fitness::kMissing) continue;
    absl::StrAppend(&missing, missing.empty() ? "" : ", ", name);
  }
  if (!missing.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("bfly cannot run ", options.file.empty() ? "here" : options.file,
                     ", because something necessary is missing: ", missing));
  }
  if (!common.json) {
    printf("bfly can run %s%s\n", options.file.empty() ? "here" : options.file.c_str(),
           slower == 0 ? "" : "; what is marked slower makes it faster, or allows other devices");
  }
  return absl::OkStatus();
}

}  // namespace

void AddDoctor(CLI::App& app, Invocation& invocation) {
  CLI::App* verb = NewVerb(app, invocation, "doctor",
                           "Say what this machine lacks for bfly and how to mend it; fails if "
                           "something necessary is missing. Changes nothing",
                           "bfly doctor --file topologies/examples/demo.yaml");
  auto options = std::make_shared<DoctorOptions>();
  verb->add_option("--file", options->file,
                   "Also judge what this topology file needs: lcores, memory, devices")
      ->type_name("FILE");
  verb->add_option("--root", options->root,
                   "Read the files of /proc and /sys below this directory, such as those copied "
                   "from another machine")
      ->type_name("DIR");
  verb->callback([&invocation, options] {
    invocation.action = [common = invocation.common, options] { return Doctor(*options, common); };
  });
}

}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
// bfly plan FILE: how many servers a fabric needs, and what would be used up first. No fabric has
// to run.
#include <cmath>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "control/cli/verb.h"
#include "control/rack/rack_file.h"
#include "control/server/number_option.h"
#include "nlohmann/json.hpp"

namespace bfly::control {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;

nlohmann::ordered_json RackJson(const RackCase& one) {
  const Rack& rack = one.rack;
  nlohmann::ordered_json out = {{"network", one.network},
                                {"host_ports", one.demand.rows},
                                {"gbps", one.demand.gbps},
                                {"frames", one.frames},
                                {"cut", one.cut},
                                {"line_rate_pps", LineRate(one.demand)},
                                {"servers", rack.servers},
                                {"hops_of_server", rack.hops_of_server},
                                {"stage_groups", rack.stage_groups},
                                {"row_blocks", rack.row_blocks},
                                {"trunk_cores", rack.trunk_cores},
                                {"cores", rack.cores()},
                                {"frame_ns", rack.frame_ns},
                                {"trunk_gbps", rack.trunk_gbps},
                                {"memory_bytes", std::round(rack.memory_bytes)}};
  for (const ResourceNeed& need : rack.needs) out["needs"][need.resource] = need.part;
  out["first"] = rack.first().resource;
  out["breaking_load"] = rack.breaking_load();
  return out;
}

void PrintRacks(const std::vector<RackCase>& racks) {
  std::string heading;
  for (const RackCase& one : racks) {
    std::string mine = absl::StrFormat("%s cut by %s, frames of %s", one.network, one.cut,
                                       one.frames == "imix" ? one.frames : one.frames + " bytes");
    if (mine != heading) {
      printf("%s%s\n", heading.empty() ? "" : "\n", mine.c_str());
      printf("%6s %6s %9s %8s %7s %9s %11s %9s   %5s %7s %7s %7s %7s   %s\n", "Gb/s", "ports",
             "Mpps all", "servers", "cores", "as", "trunk Gb/s", "MiB", "cores", "trunks", "NIC in",
             "NIC out", "memory", "first to break");
      heading = std::move(mine);
    }
    const Rack& rack = one.rack;
    const std::string as = absl::StrCat(rack.stage_groups, " x ", rack.row_blocks);
    printf("%6g %6u %9.1f %8d %7d %9s %11.1f %9.0f  ", one.demand.gbps, one.demand.rows,
           one.demand.rows * LineRate(one.demand) / 1e6, rack.servers, rack.cores(), as.c_str(),
           rack.trunk_gbps, rack.memory_bytes / kMiB);
    for (const ResourceNeed& need : rack.needs) printf(" %5.0f %%", 100 * need.part);
    printf("   %s at %.3g %%%s\n", rack.first().resource.c_str(), 100 * rack.breaking_load(),
           rack.breaking_load() < 1 ? " of line rate" : "");
  }
  printf(
      "\ncores and as: of the server that needs most: stage groups x row blocks, and cores for "
      "trunks. The parts in use are at line\nrate, of the server that needs most of each.\n");
}

const char* PlacementOf(const v1::RackMeasurement& measured) {
  switch (measured.placement()) {
    case v1::RackMeasurement::ROWS:
      return "rows";
    case v1::RackMeasurement::STAGES:
      return "stages";
    default:
      return "one";
  }
}

void PrintChecks(const std::vector<RackCheck>& checks) {
  printf("%7s %10s %10s %10s %8s\n", "stages", "placement", "measured", "model", "error");
  for (const RackCheck& check : checks) {
    const v1::RackMeasurement& of = check.measured;
    printf("%7u %10s %10.1f %10.1f %6.1f %%%s\n", of.stages(), PlacementOf(of), of.mpps(),
           check.predicted, check.error_percent(), of.fitted() ? "  (fitted)" : "");
  }
}

nlohmann::ordered_json ChecksJson(const std::vector<RackCheck>& checks) {
  auto out = nlohmann::ordered_json::array();
  for (const RackCheck& check : checks) {
    const v1::RackMeasurement& of = check.measured;
    out.push_back({{"stages", of.stages()},
                   {"placement", PlacementOf(of)},
                   {"measured_mpps", of.mpps()},
                   {"predicted_mpps", check.predicted},
                   {"error_percent", check.error_percent()},
                   {"fitted", of.fitted()}});
  }
  return out;
}

// FAILED_PRECONDITION: a prediction is off by more than `within` percent.
absl::Status CheckErrors(const std::vector<RackCheck>& checks, double within) {
  std::string off;
  for (const RackCheck& check : checks) {
    if (check.measured.fitted() || std::abs(check.error_percent()) <= within) continue;
    absl::StrAppendFormat(&off, "%s%u stages, placement %s, by %.1f %%", off.empty() ? "" : "; ",
                          check.measured.stages(), PlacementOf(check.measured),
                          check.error_percent());
  }
  if (off.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrFormat("the model is off by more than %g %%: %s", within, off));
}

struct RackOptions {
  std::string file;
  std::vector<std::string> set;
  bool check = false;
  double within = 15;
};

absl::Status ShowRacks(const RackOptions& options, const Common& common) {
  const absl::StatusOr<v1::RackFile> file = ReadRackFile(options.file, options.set);
  if (!file.ok()) return file.status();
  if (options.check) {
    const std::vector<RackCheck> checks = CheckRack(*file);
    if (checks.empty()) {
      return absl::FailedPreconditionError(
          absl::StrCat("measured: ", options.file, " has no measurement to compare with"));
    }
    if (common.json) {
      printf("%s\n", ChecksJson(checks).dump(2).c_str());
    } else {
      PrintChecks(checks);
    }
    return CheckErrors(checks, options.within);
  }
  const absl::StatusOr<std::vector<RackCase>> racks = PlanRacks(*file);
  if (!racks.ok()) return racks.status();
  if (common.json) {
    auto out = nlohmann::ordered_json::array();
    for (const RackCase& one : *racks) out.push_back(RackJson(one));
    printf("%s\n", out.dump(2).c_str());
  } else {
    PrintRacks(*racks);
  }
  return absl::OkStatus();
}

}  // namespace

void AddPlan(CLI::App& app, Invocation& invocation) {
  CLI::App* verb = NewVerb(
      app, invocation, "plan",
      "How many servers a fabric needs at line rate, by a model of what a frame costs, and "
      "what would be used up first",
      "bfly plan topologies/racks/rack.yaml\n"
      "  bfly plan topologies/racks/rack.yaml --set cut=rows --set trunk_queues=true --json\n"
      "  bfly plan topologies/racks/rack.yaml --check");
  auto options = std::make_shared<RackOptions>();
  verb->add_option("file", options->file, "Rack file (YAML); - is standard input")
      ->required()
      ->type_name("FILE");
  verb->add_option("--set", options->set, "Lay a value over the file's: key=value or key=[v1, v2]")
      ->type_name("KEY=VALUE");
  CLI::Option* const check =
      verb->add_flag("--check", options->check,
                     "Compare the model with the measurements that the file lists instead");
  verb->add_option("--within", options->within,
                   "With --check: by how many percent the model may be off where it was not fitted")
      ->needs(check)
      ->check(NumberFrom(0.0, 1000.0))
      ->capture_default_str()
      ->type_name("PERCENT");
  verb->callback([&invocation, options] {
    invocation.action = [common = invocation.common, options] {
      return ShowRacks(*options, common);
    };
  });
}

}  // namespace bfly::control

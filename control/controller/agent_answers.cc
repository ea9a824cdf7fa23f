// SPDX-License-Identifier: Apache-2.0
#include "control/controller/agent_answers.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/topology_file/link_policy.h"
#include "topologies/tag.h"

namespace bfly::control {
namespace {

absl::Status Wrong(absl::string_view field, absl::string_view what) {
  return absl::InternalError(
      absl::StrCat("the answer of the data plane makes no sense: ", field, ": ", what));
}

absl::Status CheckBelow(absl::string_view field, uint64_t value, uint64_t limit) {
  if (value < limit) return absl::OkStatus();
  return Wrong(field, absl::StrCat(value, " is outside 0..", limit - 1));
}

std::string At(absl::string_view list, int i, absl::string_view field = "") {
  return absl::StrCat(list, "[", i, "]", field.empty() ? "" : ".", field);
}

uint64_t StagesOf(const Network& network) { return static_cast<uint64_t>(network.stages()); }

absl::Status CheckTag(absl::string_view field, uint64_t tag, const Network& network) {
  const TagLayout& layout = network.tag_layout();
  if (layout.IsPath(tag)) return absl::OkStatus();
  if (tag >> layout.bits() == 0) {
    return Wrong(field, absl::StrCat(tag, " names a port beyond the ", layout.multiplicity,
                                     " of a direction"));
  }
  return Wrong(field, absl::StrCat(tag, " has more than ", layout.bits(), " bits"));
}

absl::Status CheckLink(absl::string_view field, uint32_t stage, uint32_t row, uint32_t port,
                       const Network& network) {
  absl::Status status = CheckBelow(absl::StrCat(field, ".stage"), stage, StagesOf(network));
  status.Update(CheckBelow(absl::StrCat(field, ".row"), row, network.rows()));
  status.Update(
      CheckBelow(absl::StrCat(field, ".port"), port, static_cast<uint64_t>(network.ports())));
  return status;
}

template <class Workers>
absl::Status CheckWorkers(const Workers& workers, const Network& network) {
  for (int i = 0; i < workers.size(); ++i) {
    if (static_cast<uint64_t>(workers[i].stages_size()) > StagesOf(network)) {
      return Wrong(At("workers", i, "stages"),
                   absl::StrCat("has ", workers[i].stages_size(), " entries, the network has ",
                                network.stages(), " stages"));
    }
    for (const uint32_t stage : workers[i].stages()) {
      absl::Status status = CheckBelow(At("workers", i, "stages"), stage, StagesOf(network));
      if (!status.ok()) return status;
    }
  }
  return absl::OkStatus();
}

// Checks that columns have an entry for each of `entries` links, and checks what was dropped there.
template <class Columns>
absl::Status CheckColumns(const Columns& columns, int entries) {
  for (const auto& [column, size] : {std::pair{"packets", columns.packets_size()},
                                     {"bytes", columns.bytes_size()},
                                     {"occupancy", columns.occupancy_size()},
                                     {"occupancy_peak", columns.occupancy_peak_size()},
                                     {"busy_ns", columns.busy_ns_size()}}) {
    if (size == entries || (size == 0 && absl::string_view(column) == "busy_ns")) continue;
    return Wrong(column, absl::StrCat("has ", size, " entries for ", entries, " links"));
  }
  for (int i = 0; i < columns.link_drops_size(); ++i) {
    const absl::Status status = CheckBelow(
        At("link_drops", i, "link"), columns.link_drops(i).link(), static_cast<uint64_t>(entries));
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckAnswer(const v1::AgentState& state, const Network& network) {
  for (int i = 0; i < state.circuits_size(); ++i) {
    const v1::AgentCircuit& circuit = state.circuits(i);
    absl::Status status = CheckBelow(At("circuits", i, "input"), circuit.input(), network.rows());
    status.Update(CheckTag(At("circuits", i, "tag"), circuit.tag(), network));
    if (!status.ok()) return status;
  }
  for (int i = 0; i < state.down_links_size(); ++i) {
    const v1::LinkRef& link = state.down_links(i);
    const absl::Status status =
        CheckLink(At("down_links", i), link.stage(), link.row(), link.port(), network);
    if (!status.ok()) return status;
  }
  for (int i = 0; i < state.down_nodes_size(); ++i) {
    const v1::NodeRef& node = state.down_nodes(i);
    absl::Status status = CheckBelow(At("down_nodes", i, "level"), node.level(),
                                     static_cast<uint64_t>(network.levels()));
    status.Update(CheckBelow(At("down_nodes", i, "row"), node.row(), network.rows()));
    if (!status.ok()) return status;
  }
  for (const Violation& violation : CheckLinkChanges(state.link_changes(), network)) {
    return Wrong(absl::StrCat("link_", violation.field), violation.message);
  }
  return CheckWorkers(state.status().workers(), network);
}

absl::Status CheckAnswer(const v1::AgentCounters& counters, const Network& network) {
  // Without columns the stages are not used.
  if (counters.packets().empty() && counters.link_drops().empty()) {
    return CheckWorkers(counters.workers(), network);
  }
  absl::Status status = CheckBelow("last_stage", counters.last_stage(), StagesOf(network));
  status.Update(
      CheckBelow("first_stage", counters.first_stage(), uint64_t{counters.last_stage()} + 1));
  if (!status.ok()) return status;
  const uint64_t links = (uint64_t{counters.last_stage()} - counters.first_stage() + 1) *
                         network.rows() * static_cast<uint64_t>(network.ports());
  const auto entries = static_cast<uint64_t>(counters.packets_size());
  if (entries != links) {
    return Wrong("packets",
                 absl::StrCat("has ", entries, " entries, stages ", counters.first_stage(), " to ",
                              counters.last_stage(), " have ", links, " links"));
  }
  for (const auto& [column, size] : {std::pair{"bytes", counters.bytes_size()},
                                     {"occupancy", counters.occupancy_size()},
                                     {"occupancy_peak", counters.occupancy_peak_size()}}) {
    if (size == counters.packets_size()) continue;
    return Wrong(column,
                 absl::StrCat("has ", size, " entries and packets ", counters.packets_size()));
  }
  if (counters.busy_ns_size() != 0 && counters.busy_ns_size() != counters.packets_size()) {
    return Wrong("busy_ns", absl::StrCat("has ", counters.busy_ns_size(), " entries and packets ",
                                         counters.packets_size()));
  }
  for (int i = 0; i < counters.link_drops_size(); ++i) {
    status = CheckBelow(At("link_drops", i, "link"), counters.link_drops(i).link(), links);
    if (!status.ok()) return status;
  }
  return CheckWorkers(counters.workers(), network);
}

absl::Status CheckAnswer(const v1::AgentLinkReading& reading,
                         const v1::AgentReadLinksRequest& request, const Network& network) {
  const uint64_t limit =
      uint64_t{request.top()} + request.most() + static_cast<uint64_t>(request.also_size());
  const auto links = static_cast<uint64_t>(reading.links_size());
  if (links > limit) {
    return Wrong("links",
                 absl::StrCat("has ", links, " entries, at most ", limit, " were asked for"));
  }
  for (int i = 0; i < reading.links_size(); ++i) {
    absl::Status status = CheckBelow(At("links", i), reading.links(i), network.link_count());
    if (i > 0 && reading.links(i) <= reading.links(i - 1)) {
      status.Update(Wrong(At("links", i),
                          absl::StrCat(reading.links(i), " comes after ", reading.links(i - 1))));
    }
    if (!status.ok()) return status;
  }
  return CheckColumns(reading, reading.links_size());
}

absl::Status CheckAnswer(const v1::AgentInBandResponse& response,
                         const v1::AgentInBandRequest& request, const Network& network) {
  if (response.has_refusal()) {
    const v1::AgentInBandRefusal& refusal = response.refusal();
    absl::Status status = CheckBelow("refusal.request", refusal.request(),
                                     static_cast<uint64_t>(request.inputs_size()));
    status.Update(CheckLink("refusal", refusal.stage(), refusal.row(), refusal.port(), network));
    return status;
  }
  if (response.paths_size() != request.inputs_size()) {
    return Wrong("paths", absl::StrCat("has ", response.paths_size(), " entries for ",
                                       request.inputs_size(), " requests"));
  }
  for (int i = 0; i < response.paths_size(); ++i) {
    const v1::AgentInBandPath& path = response.paths(i);
    if (path.input() != request.inputs(i)) {
      return Wrong(At("paths", i, "input"),
                   absl::StrCat(path.input(), " was not asked for, but ", request.inputs(i)));
    }
    if (absl::Status status = CheckTag(At("paths", i, "tag"), path.tag(), network); !status.ok()) {
      return status;
    }
    const Row output = OutputOfTag(network, path.tag());
    const bool second = i < request.second_outputs_size() && output == request.second_outputs(i);
    if (output != request.outputs(i) && !second) {
      return Wrong(At("paths", i, "tag"),
                   absl::StrCat("leads to ", output, ", not to ", request.outputs(i)));
    }
  }
  for (int i = 0; i < response.requests_left_size(); ++i) {
    const absl::Status status = CheckBelow(At("requests_left", i), response.requests_left(i),
                                           static_cast<uint64_t>(request.inputs_size()));
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status CheckAnswer(const v1::RouteReport& report, const v1::RouteRequest& request,
                         const Network& network) {
  const int hops = network.hops();
  if (report.levels_size() != hops) {
    return Wrong("levels", absl::StrCat("has ", report.levels_size(), " entries, and a path has ",
                                        hops, " links"));
  }
  const int rows = request.has_level() ? static_cast<int>(network.rows()) : 0;
  for (int i = 0; i < report.samples_size(); ++i) {
    const v1::RouteSample& sample = report.samples(i);
    if (sample.levels_size() != hops + 1) {
      return Wrong(At("samples", i, "levels"), absl::StrCat("has ", sample.levels_size(),
                                                            " entries for ", hops + 1, " levels"));
    }
    if (sample.rows_size() != rows) {
      return Wrong(At("samples", i, "rows"),
                   absl::StrCat("has ", sample.rows_size(), " entries for ", rows, " rows"));
    }
  }
  if (request.frame_bytes() != 0 && !report.in_band().has_frames()) {
    return Wrong("in_band.frames", "is missing, and frame_bytes was asked for");
  }
  return absl::OkStatus();
}

}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
#include "control/controller/capture_plan.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/status/field_errors.h"
#include "topologies/tag.h"

namespace bfly::control {
namespace {

// The input row of a frame is known modulo this.
constexpr uint32_t kRowsTold = 65'536;

void CheckNumbers(const v1::CaptureRequest& request, FieldErrors& errors) {
  if (request.snaplen() > kMostSnaplenBytes) {
    errors.Add(OutOfRange("snaplen", request.snaplen(), 1, kMostSnaplenBytes));
  }
  if (request.max_seconds() > kMostCaptureSeconds) {
    errors.Add(OutOfRange("max_seconds", request.max_seconds(), 1, kMostCaptureSeconds));
  }
  const auto wanted =
      static_cast<uint64_t>(request.links_size()) + static_cast<uint64_t>(request.ports_size()) +
      static_cast<uint64_t>(request.circuits_size()) + static_cast<uint64_t>(request.paths_size());
  if (wanted == 0 || wanted > kMostCaptured) {
    errors.Add("links",
               absl::StrCat("links, ports, circuits and paths are ", wanted, " together; 1 to ",
                            kMostCaptured, " can be captured at once"));
  }
}

void AddPath(Row input, Tag tag, bool end, v1::AgentCaptureRequest* out) {
  v1::AgentCapturePath& path = *out->add_paths();
  path.set_input(input);
  path.set_tag(tag);
  path.set_end(end);
}

void AddLinks(const v1::CaptureRequest& request, const Network& network, FieldErrors& errors,
              v1::AgentCaptureRequest* out) {
  for (int i = 0; i < request.links_size(); ++i) {
    const v1::LinkRef& link = request.links(i);
    const absl::Status status =
        network.CheckLink({static_cast<int>(std::min(link.stage(), kRowsTold)), link.row(),
                           static_cast<int>(std::min(link.port(), kRowsTold))});
    if (!status.ok()) errors.Add(WithPrefix(status, absl::StrCat("links[", i, "]")));
  }
  *out->mutable_links() = request.links();
}

using TagsByPair = std::map<RowPair, std::set<Tag>>;

// The frames of a pair follow its circuit if it has one. Else they follow the circuits of the slots
// that a schedule has for the pair. Without any they follow the greedy path, unless nodes pick
// among several ports of a direction.
absl::Status AddPaths(const v1::CaptureRequest& request, const FabricState& state,
                      const TagsByPair& scheduled, FieldErrors& errors,
                      v1::AgentCaptureRequest* out) {
  const Network& network = state.network();
  for (int i = 0; i < request.paths_size(); ++i) {
    const v1::CapturePath& path = request.paths(i);
    const std::string field = absl::StrCat("paths[", i, "]");
    bool is_right = true;
    for (const auto& [end, row] : {std::pair("input", path.input()), {"output", path.output()}}) {
      if (row < network.rows()) continue;
      errors.Add(OutOfRange(absl::StrCat(field, ".", end), row, 0, network.rows() - 1));
      is_right = false;
    }
    if (!is_right) continue;
    const std::optional<StandingCircuit> circuit = state.AtInput(path.input());
    if (circuit.has_value() && circuit->path.output == path.output()) {
      AddPath(path.input(), circuit->path.tag, path.end(), out);
    } else if (const auto slots = scheduled.find({path.input(), path.output()});
               slots != scheduled.end()) {
      for (const Tag tag : slots->second) AddPath(path.input(), tag, path.end(), out);
    } else if (network.multiplicity() == 1) {
      AddPath(path.input(), GreedyTag(network, path.input(), path.output()), path.end(), out);
    } else {
      return ErrorAtField(
          absl::StatusCode::kFailedPrecondition, field,
          absl::StrCat(path.input(), " -> ", path.output(),
                       " has no circuit, and nodes of this network pick the ports of other frames "
                       "one by one; set a circuit up, or capture links"));
    }
  }
  return absl::OkStatus();
}

absl::Status AddCircuits(const v1::CaptureRequest& request, const FabricState& state,
                         v1::AgentCaptureRequest* out) {
  for (int i = 0; i < request.circuits_size(); ++i) {
    const absl::StatusOr<StandingCircuit> circuit = state.standing().Find(request.circuits(i));
    if (!circuit.ok()) {
      return ErrorAtField(absl::StatusCode::kNotFound, absl::StrCat("circuits[", i, "]"),
                          absl::StrCat("circuit ", request.circuits(i),
                                       " does not stand; see `bfly circuit list`"));
    }
    AddPath(circuit->path.input, circuit->path.tag, /*end=*/false, out);
  }
  return absl::OkStatus();
}

absl::Status AddPorts(const v1::CaptureRequest& request, const v1::Topology& topology,
                      v1::AgentCaptureRequest* out) {
  std::vector<std::string> names;
  for (const v1::HostPort& port : topology.ports()) names.push_back(port.name());
  for (int i = 0; i < request.ports_size(); ++i) {
    if (std::find(names.begin(), names.end(), request.ports(i)) != names.end()) continue;
    return ErrorAtField(absl::StatusCode::kNotFound, absl::StrCat("ports[", i, "]"),
                        absl::StrCat("the fabric has no port \"", request.ports(i), "\"; it has ",
                                     names.empty() ? "none" : absl::StrJoin(names, ", ")));
  }
  *out->mutable_ports() = request.ports();
  return absl::OkStatus();
}

// A pair may have another path in each slot. What the request itself has too much of, CheckNumbers
// says.
void CheckSlots(const v1::CaptureRequest& request, const v1::AgentCaptureRequest& planned,
                FieldErrors& errors) {
  if (planned.paths_size() <= request.paths_size()) return;
  const auto wanted =
      static_cast<uint64_t>(request.links_size()) + static_cast<uint64_t>(request.ports_size()) +
      static_cast<uint64_t>(request.circuits_size()) + static_cast<uint64_t>(planned.paths_size());
  if (wanted <= kMostCaptured) return;
  errors.Add(
      "paths",
      absl::StrCat("links, ports, circuits and the paths in the slots of the schedule are ", wanted,
                   " together; at most ", kMostCaptured, " can be captured at once"));
}

// A path crosses every stage. Links and ports belong to one data plane each.
DataPlanes PlanesOf(const v1::AgentCaptureRequest& request, const Intent& intent) {
  std::set<std::string> names;
  const auto add_stage = [&](size_t stage) {
    names.insert(intent.planes[intent.plane_of_stage[stage]]->name());
  };
  for (const v1::LinkRef& link : request.links()) add_stage(link.stage());
  for (size_t stage = 0; request.paths_size() > 0 && stage < intent.plane_of_stage.size(); ++stage)
    add_stage(stage);
  const std::set<std::string> ports(request.ports().begin(), request.ports().end());
  for (const v1::HostPort& port : intent.topology.ports()) {
    if (ports.contains(port.name())) names.insert(port.data_plane());
  }
  DataPlanes planes;
  for (const std::shared_ptr<DataPlane>& plane : intent.planes) {
    if (names.contains(plane->name())) planes.push_back(plane);
  }
  return planes;
}

// The input rows of the paths by what data planes tell of them. Frames at links and ports may come
// from every row, so there are none if the request asks for those.
std::map<uint32_t, std::set<Row>> InputsByLowBits(const v1::AgentCaptureRequest& request) {
  std::map<uint32_t, std::set<Row>> inputs;
  if (request.links_size() != 0 || request.ports_size() != 0) return inputs;
  for (const v1::AgentCapturePath& path : request.paths())
    inputs[path.input() % kRowsTold].insert(path.input());
  return inputs;
}

absl::StatusOr<CapturePlan> PlanFor(const v1::CaptureRequest& request, const Intent& intent,
                                    const TagsByPair& scheduled) {
  CapturePlan plan;
  FieldErrors errors;
  CheckNumbers(request, errors);
  AddLinks(request, intent.state.network(), errors, &plan.request);
  absl::Status status = AddPaths(request, intent.state, scheduled, errors, &plan.request);
  CheckSlots(request, plan.request, errors);
  if (absl::Status wrong = errors.ToStatus(); !wrong.ok()) return wrong;
  if (status.ok()) status = AddCircuits(request, intent.state, &plan.request);
  if (status.ok()) status = AddPorts(request, intent.topology, &plan.request);
  if (!status.ok()) return status;
  plan.request.set_snaplen(request.snaplen() != 0 ? request.snaplen() : kDefaultSnaplenBytes);
  plan.request.set_every(std::max(1u, request.every()));
  plan.request.set_max_frames(request.max_frames());
  plan.request.set_max_seconds(request.max_seconds() != 0 ? request.max_seconds()
                                                          : kDefaultCaptureSeconds);
  plan.planes = PlanesOf(plan.request, intent);
  return plan;
}

}  // namespace

absl::StatusOr<CapturePlan> PlanCapture(const v1::CaptureRequest& request,
                                        const LoadedIntent& intent,
                                        const ScheduledTags& scheduled) {
  std::set<RowPair> pairs;
  if (request.paths_size() <= static_cast<int>(kMostCaptured)) {
    for (const v1::CapturePath& path : request.paths()) pairs.emplace(path.input(), path.output());
  }
  // Before the intent is read, because the schedule reads it too.
  const TagsByPair tags = pairs.empty() ? TagsByPair() : scheduled(pairs);
  absl::StatusOr<CapturePlan> plan = absl::UnknownError("");
  const absl::Status status =
      intent.Read([&](const Intent& now) { plan = PlanFor(request, now, tags); });
  if (!status.ok()) return status;
  return plan;
}

void NameCircuits(const LoadedIntent& intent, const v1::AgentCaptureRequest& request,
                  v1::CaptureBatch* batch) {
  // Without a fabric there are no circuits to name.
  const auto name = [&](const Intent& now) {
    const bool is_large = now.state.network().rows() > kRowsTold;
    if (now.state.size() == 0 && !is_large) return;
    const auto asked = is_large ? InputsByLowBits(request) : std::map<uint32_t, std::set<Row>>();
    for (v1::CapturedFrame& frame : *batch->mutable_frames()) {
      if (is_large) {
        const auto inputs = asked.find(frame.input());
        if (inputs == asked.end() || inputs->second.size() != 1) continue;
        frame.set_input(*inputs->second.begin());
      }
      if (frame.input() >= now.state.network().rows()) continue;
      const std::optional<StandingCircuit> circuit = now.state.AtInput(frame.input());
      if (circuit.has_value() && circuit->path.output == frame.output()) {
        frame.set_circuit(circuit->id);
      }
    }
  };
  intent.Read(name).IgnoreError();
}

}  // namespace bfly::control

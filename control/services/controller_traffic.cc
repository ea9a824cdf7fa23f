// SPDX-License-Identifier: Apache-2.0
// Controller: the built-in sources, side by side by name.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/agent/sources.h"
#include "control/services/controller.h"
#include "control/status/field_errors.h"

namespace bfly::control {
namespace {

using Sources = std::vector<v1::TrafficSource>;

const v1::TrafficSource* Named(const Sources& sources, const std::string& name) {
  const auto found = std::find_if(sources.begin(), sources.end(),
                                  [&](const auto& source) { return source.name() == name; });
  return found == sources.end() ? nullptr : &*found;
}

absl::Status CheckNames(const Sources& sources) {
  FieldErrors errors;
  for (size_t i = 0; i < sources.size(); ++i) {
    const std::string& name = sources[i].name();
    const Sources before(sources.begin(), sources.begin() + static_cast<ptrdiff_t>(i));
    if (name.empty() || Named(before, name) == nullptr) continue;
    errors.Add(absl::StrCat("sources[", i, "].name"),
               absl::StrCat("\"", name, "\" is given twice"));
  }
  return errors.ToStatus();
}

std::string NamesOf(const Sources& sources) {
  if (sources.empty()) return "none runs";
  return absl::StrCat("those that run: ",
                      absl::StrJoin(sources, ", ", [](std::string* out, const auto& source) {
                        absl::StrAppend(out, source.name().empty() ? "-" : source.name());
                      }));
}

absl::Status CheckRoom(const Sources& sources, Resources& resources) {
  uint64_t bytes = 0;
  for (const v1::TrafficSource& source : sources) bytes += source.ByteSizeLong();
  for (const auto& [resource, wanted] :
       {std::pair<Resource*, uint64_t>{&resources.sources, sources.size()},
        {&resources.source_bytes, bytes}}) {
    if (wanted <= resource->limit()) continue;
    resource->CountRefusal();
    return resource->Exhausted(resource->name(), "stop others first, or play shorter traces");
  }
  return absl::OkStatus();
}

// What the data planes count of the sources in `response`, and the latencies they recorded.
absl::Status FillCounts(const DataPlanes& planes, const DataPlane* ingress,
                        v1::ListTrafficResponse* response) {
  google::protobuf::RepeatedPtrField<v1::StageLatency> stages;
  for (const auto& plane : planes) {
    const absl::StatusOr<v1::AgentTrafficState> state = plane->client().GetTraffic();
    if (!state.ok()) return state.status();
    const v1::LatencyReport& latency = state->latency();
    stages.MergeFrom(latency.stages());
    // One data plane delivers: the one of the last stage.
    if (plane == planes.back()) *response->mutable_latency() = latency;
    if (plane.get() != ingress) continue;
    for (v1::TrafficSourceStatus& status : *response->mutable_sources()) {
      for (const v1::AgentSourceCounters& counters : state->sources()) {
        if (counters.id() != status.source().id()) continue;
        status.set_packets(counters.packets());
        status.set_bytes(counters.bytes());
        status.set_no_circuit(counters.no_circuit());
        status.set_seconds(counters.seconds());
        status.set_finished(counters.finished());
      }
    }
  }
  response->mutable_latency()->mutable_stages()->Swap(&stages);
  return absl::OkStatus();
}

}  // namespace

uint64_t LatencyIdOf(const Sources& sources) {
  uint64_t newest = 0;
  for (const v1::TrafficSource& source : sources) {
    if (source.latency()) newest = std::max<uint64_t>(newest, source.id());
  }
  return newest;
}

absl::Status Controller::StartTraffic(Sources added, uint64_t election_id) {
  const std::lock_guard change(change_);
  if (absl::Status status = arbitration_.Check(election_id); !status.ok()) return status;
  if (absl::Status status = CheckLoaded(); !status.ok()) return status;
  const auto checked =
      ToSourceConfigs(added, intent_->state.network().rows(), intent_->topology.max_frame_bytes());
  if (!checked.ok()) return checked.status();
  if (absl::Status status = CheckNames(added); !status.ok()) return status;
  uint64_t last_id = 0;
  Sources sources;
  for (const v1::TrafficSource& running : intent_->sources) {
    last_id = std::max<uint64_t>(last_id, running.id());
    if (Named(added, running.name()) == nullptr) sources.push_back(running);
  }
  for (v1::TrafficSource& source : added) {
    source.set_id(++last_id);
    sources.push_back(std::move(source));
  }
  if (absl::Status status = CheckRoom(sources, resources_); !status.ok()) return status;
  return SetTraffic(std::move(sources));
}

absl::Status Controller::StopTraffic(const std::vector<std::string>& names, uint64_t election_id) {
  const std::lock_guard change(change_);
  if (absl::Status status = arbitration_.Check(election_id); !status.ok()) return status;
  if (absl::Status status = CheckLoaded(); !status.ok()) return status;
  Sources sources;
  if (!names.empty()) sources = intent_->sources;
  for (size_t i = 0; i < names.size(); ++i) {
    if (Named(sources, names[i]) == nullptr) {
      return ErrorAtField(
          absl::StatusCode::kNotFound, absl::StrCat("names[", i, "]"),
          absl::StrCat("no source \"", names[i], "\" runs; ", NamesOf(intent_->sources)));
    }
    std::erase_if(sources, [&](const auto& source) { return source.name() == names[i]; });
  }
  return SetTraffic(std::move(sources));
}

absl::Status Controller::SetTraffic(Sources sources) {
  if (absl::Status status = CheckUsable(); !status.ok()) return status;
  v1::AgentTrafficRequest request;
  const uint64_t latency_id = LatencyIdOf(sources);
  request.set_latency_id(latency_id);
  // Where packets are delivered, latencies are recorded before the first one starts.
  if (latency_id != LatencyIdOf(intent_->sources)) {
    for (const auto& plane : intent_->planes) {
      if (plane.get() == &intent_->ingress()) continue;
      if (absl::Status status = plane->client().SetTraffic(request); !status.ok()) return status;
    }
  }
  request.mutable_sources()->Add(sources.begin(), sources.end());
  DataPlane& ingress = intent_->ingress();
  if (absl::Status status = ingress.client().SetTraffic(request); !status.ok()) {
    if (IsUnreachable(status)) MarkOutOfStep(ingress, status);
    return status;
  }
  const std::unique_lock lock(state_);
  intent_->sources = std::move(sources);
  return absl::OkStatus();
}

absl::StatusOr<v1::ListTrafficResponse> Controller::ListTraffic() const {
  v1::ListTrafficResponse response;
  DataPlanes planes;
  const DataPlane* ingress = nullptr;
  {
    const std::shared_lock lock(state_);
    if (absl::Status status = CheckLoaded(); !status.ok()) return status;
    planes = intent_->planes;
    ingress = &intent_->ingress();
    for (const v1::TrafficSource& source : intent_->sources) {
      v1::TrafficSource& out = *response.add_sources()->mutable_source();
      out = source;
      out.clear_trace();
    }
  }
  if (absl::Status status = FillCounts(planes, ingress, &response); !status.ok()) return status;
  return response;
}

}  // namespace bfly::control

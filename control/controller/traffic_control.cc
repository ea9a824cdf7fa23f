// SPDX-License-Identifier: Apache-2.0
#include "control/controller/traffic_control.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/agent/sources.h"
#include "control/controller/tell_planes.h"
#include "control/events/event_record.h"
#include "google/protobuf/util/message_differencer.h"

namespace bfly::control {
namespace {

absl::Status CheckAmount(Resource& resource, uint64_t wanted, const std::string& instead) {
  if (wanted <= resource.limit()) return absl::OkStatus();
  resource.CountRefusal();
  return resource.Exhausted(resource.name(), instead.c_str());
}

absl::Status CheckSize(const Traffic::Sources& sources, Resources& resources) {
  constexpr char kInstead[] = "stop others first, or play shorter traces";
  absl::Status status = CheckAmount(resources.sources, sources.size(), kInstead);
  if (!status.ok()) return status;
  uint64_t bytes = 0;
  for (const v1::TrafficSource& source : sources) bytes += source.ByteSizeLong();
  return CheckAmount(resources.source_bytes, bytes, kInstead);
}

absl::Status CheckRows(const Traffic::Sources& sources, uint32_t rows, Resources& resources) {
  const uint64_t wanted = CountSourceRows(sources, rows);
  return CheckAmount(resources.source_rows, wanted,
                     absl::StrCat("with these, sources would send from ", wanted,
                                  " rows; stop others first, or let each source send from fewer "
                                  "rows (field rows)"));
}

// Tells a data plane where no source starts which latencies to record: those of packets from the
// source with this id and from later ones. With 0 it records none.
absl::Status RecordLatencies(DataPlane& plane, uint64_t latency_id, Deadline deadline) {
  v1::AgentTrafficRequest request;
  request.set_latency_id(latency_id);
  const absl::Status status = plane.client().SetTraffic(request, deadline);
  if (IsUnreachable(status)) MarkOutOfStep(plane, status);
  return ErrorAtPlane(plane, status);
}

// Fills in what the data planes count of the sources in `response`, and the latencies that they
// recorded.
absl::Status FillCounts(const DataPlanes& planes, const DataPlane* ingress, bool histogram,
                        Deadline deadline, v1::ListTrafficResponse* response) {
  google::protobuf::RepeatedPtrField<v1::StageLatency> stages;
  for (const auto& plane : planes) {
    // Somebody else's fabric has sources and latencies of its own.
    if (absl::Status status = plane->CheckCounts(); !status.ok())
      return ErrorAtPlane(*plane, status);
    // The data plane of the last stage is the one that delivers.
    const bool delivers = plane == planes.back();
    const absl::StatusOr<v1::AgentTrafficState> state =
        plane->client().GetTraffic(histogram && delivers, deadline);
    if (!state.ok()) return ErrorAtPlane(*plane, state.status());
    const v1::LatencyReport& latency = state->latency();
    stages.MergeFrom(latency.stages());
    if (delivers) *response->mutable_latency() = latency;
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

absl::Status TrafficControl::Start(Traffic::Sources sources, uint64_t election_id,
                                   Deadline deadline) {
  // What is too large by itself is refused before time and memory go into it.
  if (absl::Status status = CheckSize(sources, resources_); !status.ok()) return status;
  const auto change = intent_.BeginChange(election_id, deadline);
  if (!change.ok()) return change.status();
  if (absl::Status status = intent_.CheckLoaded(); !status.ok()) return status;
  const FabricState& state = intent_.now().state;
  const uint32_t rows = state.network().rows();
  if (absl::Status status = CheckRows(sources, rows, resources_); !status.ok()) return status;
  const auto checked = ToSourceConfigs(sources, rows, intent_.now().topology.max_frame_bytes());
  if (!checked.ok()) return checked.status();
  absl::StatusOr<Traffic> after = state.traffic().WithStarted(std::move(sources));
  if (!after.ok()) return after.status();
  absl::Status room = CheckSize(after->sources(), resources_);
  if (room.ok()) room = CheckRows(after->sources(), rows, resources_);
  if (!room.ok()) return room;
  return Set(*std::move(after), deadline);
}

absl::Status TrafficControl::Stop(const std::vector<std::string>& names, uint64_t election_id,
                                  Deadline deadline) {
  const auto change = intent_.BeginChange(election_id, deadline);
  if (!change.ok()) return change.status();
  if (absl::Status status = intent_.CheckLoaded(); !status.ok()) return status;
  absl::StatusOr<Traffic> after = intent_.now().state.traffic().WithStopped(names);
  if (!after.ok()) return after.status();
  return Set(*std::move(after), deadline);
}

absl::Status TrafficControl::Set(Traffic traffic, Deadline deadline) {
  if (absl::Status status = intent_.CheckUsable(); !status.ok()) return status;
  if (absl::Status status = CheckTime(deadline); !status.ok()) return status;
  const uint64_t id = traffic.latency_id(), id_before = intent_.now().state.traffic().latency_id();
  DataPlanes recording;
  // Data planes that deliver packets record latencies before the first packet starts.
  if (id != id_before) {
    for (const auto& plane : intent_.now().planes) {
      if (plane.get() != &intent_.now().ingress()) recording.push_back(plane);
    }
  }
  absl::Status status;
  size_t told = 0;
  while (status.ok() && told < recording.size()) {
    status = RecordLatencies(*recording[told++], id, deadline);
  }
  if (status.ok()) {
    v1::AgentTrafficRequest request;
    request.set_latency_id(id);
    request.mutable_sources()->Add(traffic.sources().begin(), traffic.sources().end());
    DataPlane& ingress = intent_.now().ingress();
    status = ingress.client().SetTraffic(request, deadline);
    if (IsUnreachable(status)) MarkOutOfStep(ingress, status);
    status = ErrorAtPlane(ingress, status);
  }
  if (!status.ok()) {
    for (size_t i = 0; i < told; ++i) {
      const absl::Status undone = RecordLatencies(*recording[i], id_before, UndoDeadline(deadline));
      if (!undone.ok()) MarkOutOfStep(*recording[i], undone);
    }
    return status;
  }
  const Traffic before = intent_.now().state.traffic();
  intent_.Change([&](Intent& intent) { intent.state.SetTraffic(std::move(traffic)); });
  const Traffic& after = intent_.now().state.traffic();
  CountRows();
  Note(v1::TrafficEvent::STOPPED, before, after);
  Note(v1::TrafficEvent::STARTED, after, before);
  return absl::OkStatus();
}

void TrafficControl::CountRows() const {
  const FabricState& state = intent_.now().state;
  resources_.source_rows.Set(CountSourceRows(state.traffic().sources(), state.network().rows()));
}

void TrafficControl::Note(v1::TrafficEvent::Change change, const Traffic& those,
                          const Traffic& others) {
  std::set<uint64_t> ids;
  for (const v1::TrafficSource& source : others.sources()) ids.insert(source.id());
  v1::Event event;
  event.set_severity(v1::Event::INFO);
  v1::TrafficEvent& what = *event.mutable_traffic();
  what.set_change(change);
  for (const v1::TrafficSource& source : those.sources()) {
    if (ids.count(source.id()) != 0) continue;
    what.set_count(what.count() + 1);
    if (what.sources_size() < kMostInEvent && !source.name().empty()) {
      what.add_sources(source.name());
    }
  }
  if (what.count() != 0) events_.Add(std::move(event));
}

absl::StatusOr<v1::ListTrafficResponse> TrafficControl::List(bool histogram,
                                                             Deadline deadline) const {
  v1::ListTrafficResponse response;
  DataPlanes planes;
  const DataPlane* ingress = nullptr;
  const absl::Status read = intent_.Read([&](const Intent& intent) {
    planes = intent.planes;
    ingress = &intent.ingress();
    for (const v1::TrafficSource& source : intent.state.traffic().sources()) {
      v1::TrafficSource& out = *response.add_sources()->mutable_source();
      out = source;
      out.clear_trace();
    }
  });
  if (!read.ok()) return read;
  if (absl::Status status = FillCounts(planes, ingress, histogram, deadline, &response);
      !status.ok()) {
    return status;
  }
  return response;
}

absl::Status TrafficControl::Reconcile(DataPlane& plane, const v1::AgentState& held,
                                       Deadline deadline) const {
  // Until the data plane of stage 0 was heard after a restart, nobody knows which sources run.
  if (!intent_.now().circuits_known) return absl::OkStatus();
  CountRows();  // the sources may be those of an earlier controller
  const Traffic& traffic = intent_.now().state.traffic();
  v1::AgentTrafficRequest wanted, has;
  wanted.set_latency_id(traffic.latency_id());
  if (&plane == &intent_.now().ingress()) {
    wanted.mutable_sources()->Add(traffic.sources().begin(), traffic.sources().end());
  }
  has.set_latency_id(held.latency_id());
  *has.mutable_sources() = held.sources();
  if (google::protobuf::util::MessageDifferencer::Equals(wanted, has)) return absl::OkStatus();
  return plane.client().SetTraffic(wanted, deadline);
}

}  // namespace bfly::control

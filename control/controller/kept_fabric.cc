// SPDX-License-Identifier: Apache-2.0
#include "control/controller/kept_fabric.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bfly/v1/data_server.pb.h"
#include "control/agent/sources.h"
#include "control/controller/agent_answers.h"
#include "control/controller/changed_ports.h"
#include "control/controller/faults.h"
#include "control/controller/place_message.h"
#include "control/intent/execute.h"
#include "control/status/field_errors.h"
#include "control/topology_file/planned_faults.h"
#include "control/topology_file/to_fabric_config.h"

namespace bfly::control {
namespace {

absl::Status NotOurs(const std::string& path, absl::string_view what) {
  return absl::DataLossError(
      absl::StrCat(path, ", where the fabric's intent is kept, ", what,
                   "; put back a copy of it, or move it away and set everything up again"));
}

std::string NetworkText(const v1::KeptIntent& summary) {
  return absl::StrCat("\"", summary.name(), "\", a ", summary.kind(), " of ", summary.rows(),
                      " rows");
}

uint64_t ChangesIn(const v1::PortChanges& changes) {
  return static_cast<uint64_t>(changes.added_size()) +
         static_cast<uint64_t>(changes.removed_size());
}

uint64_t ObjectsIn(const std::vector<std::string>& placements) {
  uint64_t objects = 0;
  for (const std::string& bytes : placements) {
    v1::PlaceRequest placed;
    if (!placed.ParseFromString(bytes)) continue;
    if (placed.replace()) objects = 0;
    objects += placed.count() + static_cast<uint64_t>(placed.objects_size());
  }
  return objects;
}

void NameNetwork(const v1::Topology& topology, const std::string& path, v1::KeptIntent* summary) {
  summary->set_name(topology.name());
  if (const auto network = NetworkOf(topology.network()); network.ok()) {
    summary->set_kind(std::string(KindName(network->kind())));
    summary->set_rows(network->rows());
  }
  summary->set_path(path);
}

absl::Status CheckSame(const v1::Topology& kept, const std::string& path, const Intent& intent) {
  if (NameForStore(kept) == NameForStore(intent.topology)) return absl::OkStatus();
  v1::KeptIntent there;
  v1::KeptIntent asked;
  NameNetwork(kept, path, &there);
  NameNetwork(intent.topology, "", &asked);
  std::string what = absl::StrCat("this is ", NetworkText(asked), ", and what is kept in ", path,
                                  " is of ", NetworkText(there));
  if (NetworkText(there) == NetworkText(asked)) {
    absl::StrAppend(&what, ", with other settings under \"network\"");
  }
  return ErrorAtField(
      absl::StatusCode::kFailedPrecondition, "resume",
      absl::StrCat(what,
                   "; resume that fabric, or begin this one without resume, which sets it "
                   "aside. Nothing was changed"));
}

absl::Status Misfit(absl::string_view what, const absl::Status& why) {
  return ErrorAtField(absl::StatusCode::kFailedPrecondition, "resume",
                      absl::StrCat(what, " does not fit this topology any more: ", why.message(),
                                   "; resume with the topology as it was. Nothing was changed"));
}

}  // namespace

v1::AgentState StateOf(const Intent& intent, bool loaded, uint64_t set_ups_ahead) {
  v1::AgentState state;
  state.set_loaded(loaded);
  state.set_boot_id(intent.whole_at);
  state.set_last_circuit_id(intent.state.last_id() + set_ups_ahead * intent.state.network().rows());
  *state.mutable_topology() = intent.topology;
  *state.mutable_link_changes() = intent.link_changes;
  if (intent.port_changes.ByteSizeLong() != 0) {
    *state.mutable_port_changes() = intent.port_changes;
  }
  if (intent.schedule.has_value()) *state.mutable_schedule() = *intent.schedule;
  const auto& sources = intent.state.traffic().sources();
  state.mutable_sources()->Add(sources.begin(), sources.end());
  for (const LinkId& link : intent.state.faults().down_links()) {
    v1::LinkRef* down = state.add_down_links();
    down->set_stage(static_cast<uint32_t>(link.stage));
    down->set_row(link.row);
    down->set_port(static_cast<uint32_t>(link.port));
  }
  for (const NodeId& node : intent.state.faults().down_nodes()) {
    v1::NodeRef* down = state.add_down_nodes();
    down->set_level(static_cast<uint32_t>(node.level));
    down->set_row(node.row);
  }
  return state;
}

absl::StatusOr<FabricRecord> ToRecord(const KeptFabric& kept, const std::string& path) {
  FabricRecord record;
  if (!record.state.ParseFromString(kept.state)) return NotOurs(path, "has an unreadable state");
  for (const std::string& bytes : kept.circuits) {
    if (!record.state.add_circuits()->ParseFromString(bytes)) {
      return NotOurs(path, "has an unreadable circuit");
    }
  }
  record.placements = kept.placements;
  return record;
}

std::unordered_map<uint64_t, uint64_t> ReadsOf(const FabricRecord& record) {
  std::unordered_map<uint64_t, uint64_t> reads;
  for (const v1::AgentCircuit& circuit : record.state.circuits()) {
    if (!circuit.has_object() || circuit.object() == kUnknownObject) continue;
    reads[circuit.id()] = circuit.object();
  }
  return reads;
}

v1::KeptIntent SummaryOf(const FabricRecord& record, const std::string& path) {
  v1::KeptIntent summary;
  NameNetwork(record.state.topology(), path, &summary);
  summary.set_circuits(record.state.circuits_size());
  summary.set_link_changes(record.state.link_changes_size());
  summary.set_port_changes(ChangesIn(record.state.port_changes()));
  summary.set_down_links(record.state.down_links_size());
  summary.set_down_nodes(record.state.down_nodes_size());
  summary.set_sources(record.state.sources_size());
  summary.set_objects(ObjectsIn(record.placements));
  summary.set_schedule(record.state.has_schedule());
  return summary;
}

v1::KeptIntent SummaryOf(const Intent& intent, const std::string& path) {
  FabricRecord record{.state = StateOf(intent, /*loaded=*/false), .placements = {}};
  v1::KeptIntent summary = SummaryOf(record, path);
  summary.set_circuits(intent.state.size());
  summary.set_objects(intent.state.objects().size());
  return summary;
}

bool IsWorthKeeping(const v1::KeptIntent& summary) {
  return summary.circuits() + summary.link_changes() + summary.port_changes() +
                 summary.down_links() + summary.down_nodes() + summary.sources() +
                 summary.objects() !=
             0 ||
         summary.schedule();
}

bool IsWorthKeeping(const Intent& intent) {
  const FabricState& state = intent.state;
  const FaultSet planned = PlannedFaults(intent.topology.faults(), state.network());
  return state.size() != 0 || !intent.link_changes.empty() || ChangesIn(intent.port_changes) != 0 ||
         !state.traffic().sources().empty() || state.objects().size() != 0 ||
         intent.schedule.has_value() || state.faults().down() != planned.down();
}

absl::Status Restore(const FabricRecord& record, const std::string& path, uint64_t most_objects,
                     Intent& intent) {
  if (absl::Status status = CheckSame(record.state.topology(), path, intent); !status.ok()) {
    return status;
  }
  FabricState& state = intent.state;
  if (absl::Status status = CheckAnswer(record.state, state.network()); !status.ok()) {
    return NotOurs(path, status.message());
  }
  state.SkipIds(record.state.last_circuit_id());
  for (const Fault& fault : FaultsOf(record.state, state.network()).down()) {
    state.SetFault(fault, /*down=*/true);
  }
  // Objects come before circuits, because some circuits read objects.
  for (const std::string& bytes : record.placements) {
    const auto order =
        OrderOfRecord(bytes, state.network().rows(), state.objects().size(), most_objects);
    const absl::Status status = order.ok() ? Execute(state, *order) : order.status();
    if (!status.ok()) return Misfit("a placement of objects", status);
  }
  state.Commit();
  for (const v1::AgentCircuit& circuit : record.state.circuits()) {
    const absl::Status status =
        state.Adopt(circuit.input(), circuit.tag(), circuit.id(),
                    circuit.has_object() ? std::optional(circuit.object()) : std::nullopt);
    if (!status.ok()) return Misfit(absl::StrCat("circuit ", circuit.id()), status);
  }
  const auto& messages = record.state.sources();
  const std::vector<v1::TrafficSource> sources(messages.begin(), messages.end());
  const auto fitting =
      ToSourceConfigs(sources, state.network().rows(), intent.topology.max_frame_bytes());
  if (!fitting.ok()) return Misfit("traffic", fitting.status());
  state.SetTraffic(Traffic(sources));
  if (record.state.has_schedule()) intent.schedule = record.state.schedule();
  intent.link_changes = record.state.link_changes();
  intent.port_changes = record.state.port_changes();
  intent.whole_at = record.state.boot_id().empty() ? kNobody : record.state.boot_id();
  if (absl::Status status = ApplyPortChanges(intent.port_changes, &intent.topology); !status.ok()) {
    return Misfit("a change of ports", status);
  }
  return absl::OkStatus();
}

}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
#include "control/agent/agent_service.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/agent/caller.h"
#include "control/agent/counters.h"
#include "control/agent/update_socket.h"
#include "control/status/field_errors.h"
#include "control/status/grpc_status.h"

namespace bfly::control {
namespace {

// UNAVAILABLE tells the controller that it cannot reach this process. If a device is unavailable,
// the error is therefore another one.
absl::Status NotUnavailable(const absl::Status& status) {
  if (!absl::IsUnavailable(status)) return status;
  return absl::FailedPreconditionError(status.message());
}

}  // namespace

absl::Status AgentService::CheckName(const std::string& data_plane) const {
  if (data_plane == host_.name()) return absl::OkStatus();
  return ErrorAtField(
      absl::StatusCode::kInvalidArgument, "data_plane",
      absl::StrCat("\"", data_plane, "\" is not the data plane at this address, which is \"",
                   host_.name(), "\"; check data_planes[].address or start it with --name"));
}

absl::Status AgentService::CheckOwner(const grpc::ServerContext& context) const {
  return CheckCaller(context, host_);
}

grpc::Status AgentService::VerifyFabric(grpc::ServerContext*, const v1::AgentFabricRequest* request,
                                        v1::AgentVerifyResponse*) {
  if (absl::Status status = CheckName(request->data_plane()); !status.ok()) return ToGrpc(status);
  return ToGrpc(host_.Verify(request->topology()));
}

grpc::Status AgentService::LoadFabric(grpc::ServerContext* context,
                                      const v1::AgentFabricRequest* request,
                                      v1::AgentLoadResponse* response) {
  if (absl::Status status = CheckOwner(*context); !status.ok()) return ToGrpc(status);
  if (absl::Status status = CheckName(request->data_plane()); !status.ok()) return ToGrpc(status);
  std::vector<Fault> down;
  for (const v1::LinkRef& link : request->down_links()) {
    down.emplace_back(
        LinkId{static_cast<int>(link.stage()), link.row(), static_cast<int>(link.port())});
  }
  for (const v1::NodeRef& node : request->down_nodes()) {
    down.emplace_back(NodeId{static_cast<int>(node.level()), node.row()});
  }
  const absl::StatusOr<uint64_t> revision =
      host_.Load(request->topology(), down, request->port_changes(), request->joins());
  if (!revision.ok()) return ToGrpc(NotUnavailable(revision.status()));
  response->set_revision(*revision);
  return grpc::Status::OK;
}

grpc::Status AgentService::UnloadFabric(grpc::ServerContext* context, const v1::AgentUnloadRequest*,
                                        v1::AgentUnloadResponse* response) {
  if (absl::Status status = CheckOwner(*context); !status.ok()) return ToGrpc(status);
  const std::vector<dataplane::StagePlacement> placement = host_.held(false).placement;
  const absl::StatusOr<dataplane::Snapshot> last = host_.Unload();
  if (!last.ok()) return ToGrpc(last.status());
  // A data plane without a fabric belongs to no controller.
  host_.ownership().Release(host_.ownership().owner().id());
  // The answer leaves links out, because no client reads them and those of a large network fill the
  // memory.
  FillCounters(*last, placement, /*links=*/false, response->mutable_last());
  response->mutable_last()->set_boot_id(host_.boot_id());
  return grpc::Status::OK;
}

grpc::Status AgentService::GetState(grpc::ServerContext*, const v1::AgentStateRequest* request,
                                    v1::AgentState* response) {
  Ownership& ownership = host_.ownership();
  if (request->release()) ownership.Release(request->caller().id());
  if (request->claim()) ownership.Claim(request->caller());
  ownership.Renew(request->caller().id());
  const v1::AgentOwner owner = ownership.owner();
  response->set_owner(owner.name());
  response->set_caller_owns(!owner.id().empty() && owner.id() == request->caller().id());
  FabricHost::Held held = host_.held(request->topology() || request->circuits());
  response->set_boot_id(host_.boot_id());
  response->set_data_plane(host_.name());
  response->set_loaded(held.loaded);
  response->set_revision(held.revision);
  if (held.loaded && request->topology()) response->mutable_topology()->Swap(&held.topology);
  if (request->circuits()) {
    for (const HeldCircuit& circuit : held.circuits) {
      v1::AgentCircuit* out = response->add_circuits();
      out->set_input(circuit.input);
      out->set_tag(circuit.tag);
      out->set_id(circuit.id);
      if (circuit.object.has_value()) out->set_object(*circuit.object);
    }
    for (const LinkId& link : held.down_links) {
      v1::LinkRef* out = response->add_down_links();
      out->set_stage(link.stage);
      out->set_row(link.row);
      out->set_port(link.port);
    }
    for (const NodeId& node : held.down_nodes) {
      v1::NodeRef* out = response->add_down_nodes();
      out->set_level(static_cast<uint32_t>(node.level));
      out->set_row(node.row);
    }
    *response->mutable_link_changes() = held.link_changes;
    if (held.port_changes.ByteSizeLong() != 0) {
      response->mutable_port_changes()->Swap(&held.port_changes);
    }
    response->mutable_sources()->Add(held.sources.begin(), held.sources.end());
    response->set_latency_id(held.latency_id);
  }
  v1::DataPlaneStatus* status = response->mutable_status();
  status->set_name(host_.name());
  status->set_state(held.loaded ? v1::DataPlaneStatus::RUNNING : v1::DataPlaneStatus::IDLE_STATE);
  status->set_memory(about_.memory);
  status->set_dpdk_version(about_.dpdk_version);
  status->set_problem(absl::StrJoin(held.problems, "; "));
  for (const dataplane::PortStatus& port : held.ports) FillPortStatus(port, status->add_ports());
  for (const dataplane::PortStatus& port : held.ports) {
    v1::AgentPort* out = response->add_ports();
    out->set_name(port.name);
    out->set_link_up(port.link_up);
    out->set_problem(port.problem);
  }
  for (const auto& [lcore, passes] : held.worker_passes) {
    v1::AgentWorker* worker = response->add_workers();
    worker->set_lcore(static_cast<uint32_t>(lcore));
    worker->set_passes(passes);
  }
  return grpc::Status::OK;
}

grpc::Status AgentService::UpdateCircuits(grpc::ServerContext* context,
                                          const v1::AgentUpdateRequest* request,
                                          v1::AgentUpdateResponse* response) {
  if (absl::Status status = CheckOwner(*context); !status.ok()) return ToGrpc(status);
  const absl::StatusOr<uint64_t> revision = UpdateHost(*request, host_);
  if (!revision.ok()) return ToGrpc(revision.status());
  response->set_revision(*revision);
  return grpc::Status::OK;
}

grpc::Status AgentService::GetCounters(grpc::ServerContext*,
                                       const v1::AgentCountersRequest* request,
                                       v1::AgentCounters* response) {
  const absl::StatusOr<dataplane::Snapshot> snapshot = host_.snapshot(request->links());
  if (!snapshot.ok()) return ToGrpc(snapshot.status());
  FillCounters(*snapshot, host_.held(false).placement, request->links(), response);
  response->set_boot_id(host_.boot_id());
  return grpc::Status::OK;
}

grpc::Status AgentService::ReadLinks(grpc::ServerContext*, const v1::AgentReadLinksRequest* request,
                                     v1::AgentLinkReading* response) {
  const absl::StatusOr<dataplane::LinkQuery> query = ToLinkQuery(*request);
  if (!query.ok()) return ToGrpc(query.status());
  const absl::StatusOr<dataplane::LinkReading> reading = host_.ReadLinks(*query);
  if (!reading.ok()) return ToGrpc(reading.status());
  FillReading(*reading, response);
  return grpc::Status::OK;
}

grpc::Status AgentService::SetTraffic(grpc::ServerContext* context,
                                      const v1::AgentTrafficRequest* request,
                                      v1::AgentTrafficResponse*) {
  if (absl::Status status = CheckOwner(*context); !status.ok()) return ToGrpc(status);
  return ToGrpc(host_.SetSources({request->sources().begin(), request->sources().end()},
                                 request->latency_id()));
}

grpc::Status AgentService::GetTraffic(grpc::ServerContext*,
                                      const v1::AgentTrafficStateRequest* request,
                                      v1::AgentTrafficState* response) {
  const absl::StatusOr<FabricHost::Traffic> traffic = host_.traffic();
  if (!traffic.ok()) return ToGrpc(traffic.status());
  FillTraffic(traffic->sources, traffic->latency, request->histogram(), response);
  return grpc::Status::OK;
}

grpc::Status AgentService::SetLinkState(grpc::ServerContext* context,
                                        const v1::SetLinkStateRequest* request,
                                        v1::SetLinkStateResponse*) {
  if (absl::Status status = CheckOwner(*context); !status.ok()) return ToGrpc(status);
  const LinkId link{.stage = static_cast<int>(request->stage()),
                    .row = request->row(),
                    .port = static_cast<int>(request->port())};
  return ToGrpc(host_.SetFault(link, !request->up()));
}

grpc::Status AgentService::SetNodeState(grpc::ServerContext* context,
                                        const v1::SetNodeStateRequest* request,
                                        v1::SetNodeStateResponse*) {
  if (absl::Status status = CheckOwner(*context); !status.ok()) return ToGrpc(status);
  const NodeId node{.level = static_cast<int>(request->level()), .row = request->row()};
  return ToGrpc(host_.SetFault(node, !request->up()));
}

grpc::Status AgentService::SetLinks(grpc::ServerContext* context,
                                    const v1::AgentLinksRequest* request, v1::AgentLinksResponse*) {
  if (absl::Status status = CheckOwner(*context); !status.ok()) return ToGrpc(status);
  return ToGrpc(host_.SetLinks(request->changes()));
}

grpc::Status AgentService::SetPorts(grpc::ServerContext* context,
                                    const v1::AgentPortsRequest* request, v1::AgentPortsResponse*) {
  if (absl::Status status = CheckOwner(*context); !status.ok()) return ToGrpc(status);
  return ToGrpc(NotUnavailable(host_.SetPorts(*request)));
}

grpc::Status AgentService::Shutdown(grpc::ServerContext* context, const v1::AgentShutdownRequest*,
                                    v1::AgentShutdownResponse*) {
  if (absl::Status status = CheckOwner(*context); !status.ok()) return ToGrpc(status);
  shut_down_();
  return grpc::Status::OK;
}

}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
#include "control/services/data_server_service.h"

#include <algorithm>
#include <chrono>

#include "control/services/place_message.h"
#include "control/services/read_messages.h"
#include "control/services/route_message.h"
#include "control/status/field_errors.h"
#include "control/status/grpc_status.h"

namespace bfly::control {

grpc::Status DataServerService::Place(grpc::ServerContext*, const v1::PlaceRequest* request,
                                      v1::PlaceResponse* response) {
  Row rows = 0;
  absl::Status status =
      controller_.Read([&](const FabricState& state) { rows = state.network().rows(); });
  if (!status.ok()) return ToGrpc(status);
  const absl::StatusOr<PlaceOrder> order = ToOrder(*request, rows);
  if (!order.ok()) return ToGrpc(order.status());
  absl::Status placed;
  status = controller_.Commit(request->election_id(), [&](FabricState& state) {
    placed = state.Execute(*order);
    response->set_objects(state.objects().size());
    response->set_most_on_disk(state.objects().most_on_disk());
  });
  return ToGrpc(status.ok() ? placed : status);
}

grpc::Status DataServerService::Request(grpc::ServerContext*, const v1::ObjectRequest* request,
                                        v1::ObjectResponse* response) {
  if (request->in_band()) return RequestInBand(*request, response);
  Outcome outcome = absl::UnknownError("");
  std::shared_ptr<const Network> network;
  const absl::Status status = controller_.Commit(request->election_id(), [&](FabricState& state) {
    network = state.shared_network();
    outcome = state.Read(request->user(), request->object());
    if (!outcome.ok()) return;
    response->set_link_congestion(outcome->congestion);
    response->set_disk_contention(state.circuit_set().readers()[outcome->path.output]);
  });
  if (!status.ok()) return ToGrpc(status);
  if (!outcome.ok()) return ToGrpc(outcome.status());
  FillObjectPath(*network, *outcome, response->mutable_path());
  return grpc::Status::OK;
}

grpc::Status DataServerService::RequestBatch(grpc::ServerContext*,
                                             const v1::ObjectBatchRequest* request,
                                             v1::ObjectBatchResponse* response) {
  if (request->in_band()) return RequestBatchInBand(*request, response);
  const auto start = std::chrono::steady_clock::now();
  const ReadBatchOrder order = ToReadOrder(*request);
  absl::StatusOr<DataServerResult> result = absl::UnknownError("");
  std::shared_ptr<const Network> network;
  const auto look = [&](const FabricState& state) {
    network = state.shared_network();
    const ObjectDirectory::Disks* first =
        order.objects.empty() ? nullptr : state.objects().Find(order.objects[0]);
    response->set_copies(first == nullptr ? 0 : static_cast<uint32_t>(first->copies));
  };
  const absl::Status status =
      request->dry_run() ? controller_.Read([&](const FabricState& state) {
        look(state);
        result = state.Route(order);
      })
                         : controller_.Commit(request->election_id(), [&](FabricState& state) {
                             look(state);
                             result = state.Execute(order);
                           });
  if (!status.ok()) return ToGrpc(status);
  if (!result.ok()) return ToGrpc(result.status());
  response->set_seconds(
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  response->set_protocol(response->copies() == 1 ? "single_copy" : order.protocol);
  FillObjectBatch(*network, *result, order.objects, request->summary(), response);
  return grpc::Status::OK;
}

grpc::Status DataServerService::Release(grpc::ServerContext*,
                                        const v1::ReleaseObjectRequest* request,
                                        v1::ReleaseObjectResponse* response) {
  if (request->in_band()) return ReleaseInBand(*request, response);
  Outcome outcome = absl::UnknownError("");
  std::shared_ptr<const Network> network;
  const absl::Status status = controller_.Commit(request->election_id(), [&](FabricState& state) {
    network = state.shared_network();
    outcome = state.StopReading(request->user());
  });
  if (!status.ok()) return ToGrpc(status);
  if (!outcome.ok()) return ToGrpc(outcome.status());
  FillObjectPath(*network, *outcome, response->mutable_path());
  return grpc::Status::OK;
}

grpc::Status DataServerService::Status(grpc::ServerContext*,
                                       const v1::DataServerStatusRequest* request,
                                       v1::DataServerStatus* response) {
  return ToGrpc(controller_.Read([&](const FabricState& state) {
    response->set_objects(state.objects().size());
    response->set_most_on_disk(state.objects().most_on_disk());
    response->set_link_congestion(state.load().Congestion());
    const std::vector<uint32_t>& readers = state.circuit_set().readers();
    const uint32_t most = *std::max_element(readers.begin(), readers.end());
    response->set_disk_contention(most);
    response->mutable_disks_with()->Resize(static_cast<int>(most + 1), 0);
    uint64_t reads = 0;
    for (const uint32_t n : readers) {
      ++(*response->mutable_disks_with())[static_cast<int>(n)];
      reads += n;
    }
    response->set_reads(reads);
    if (!request->reads()) return;
    for (const StandingCircuit& circuit : state.circuits()) {
      if (circuit.object.has_value())
        FillObjectPath(state.network(), circuit, response->add_paths());
    }
  }));
}

}  // namespace bfly::control

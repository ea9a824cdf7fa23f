// SPDX-License-Identifier: Apache-2.0
// DataServerService: the calls with in_band set.
#include <chrono>

#include "control/services/circuit_messages.h"
#include "control/services/data_server_service.h"
#include "control/services/read_messages.h"
#include "control/services/route_message.h"
#include "control/status/field_errors.h"
#include "control/status/grpc_status.h"

namespace bfly::control {

grpc::Status DataServerService::RequestInBand(const v1::ObjectRequest& request,
                                              const InBandSession::Patience& patience,
                                              v1::ObjectResponse* response) {
  FieldErrors errors;
  errors.Add(CheckKey(request.idempotency_key()));
  errors.Add(RefuseAvoidInBand(request.avoid_size()));
  if (absl::Status status = errors.ToStatus(); !status.ok()) return ToGrpc(status);
  const absl::StatusOr<InBandOutcome> outcome = controller_.in_band().Execute(
      {request.election_id(), request.idempotency_key(), patience}, [&](const Network&) {
        InBandOrder order;
        order.reads = ReadBatchOrder{.users = {request.user()},
                                     .objects = {request.object()},
                                     .protocol = "minimum",
                                     .options = {}};
        order.single = true;
        return order;
      });
  if (!outcome.ok()) return ToGrpc(outcome.status());
  const StandingCircuit& circuit = outcome->circuits.at(0);
  FillObjectPath(*outcome->network, circuit, response->mutable_path());
  response->set_link_congestion(circuit.congestion);
  response->set_disk_contention(outcome->disk_contention);
  *response->mutable_in_band() = outcome->report;
  return grpc::Status::OK;
}

grpc::Status DataServerService::RequestBatchInBand(const v1::ObjectBatchRequest& request,
                                                   const InBandSession::Patience& patience,
                                                   v1::ObjectBatchResponse* response) {
  const auto start = std::chrono::steady_clock::now();
  FieldErrors errors;
  errors.Add(CheckKey(request.idempotency_key()));
  if (request.dry_run()) {
    errors.Add("dry_run", "is set and in_band too; workers only choose what they set up");
  }
  if (request.best_effort()) {
    errors.Add("best_effort", "is set and in_band too; in band it is all or none");
  }
  errors.Add(RefuseAvoidInBand(request.avoid_size()));
  if (absl::Status status = errors.ToStatus(); !status.ok()) return ToGrpc(status);
  const ReadBatchOrder reads = ToReadOrder(request);
  const absl::StatusOr<InBandOutcome> outcome = controller_.in_band().Execute(
      {request.election_id(), request.idempotency_key(), patience}, [&](const Network&) {
        InBandOrder order;
        order.reads = reads;
        return order;
      });
  if (!outcome.ok()) return ToGrpc(outcome.status());
  response->set_seconds(
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  response->set_copies(outcome->copies);
  response->set_protocol(outcome->copies == 1 ? "single_copy" : reads.protocol);
  std::vector<uint64_t> circuits;
  for (const StandingCircuit& circuit : outcome->circuits) circuits.push_back(circuit.id);
  FillObjectBatch(*outcome->network,
                  {.route = outcome->route,
                   .disk_contention = outcome->disk_contention,
                   .c_disk = outcome->c_disk},
                  reads.objects, request.summary(), response, circuits);
  response->set_steps(outcome->report.forward_steps() + outcome->report.backward_steps());
  *response->mutable_in_band() = outcome->report;
  return grpc::Status::OK;
}

grpc::Status DataServerService::ReleaseInBand(const v1::ReleaseObjectRequest& request,
                                              const InBandSession::Patience& patience,
                                              v1::ReleaseObjectResponse* response) {
  if (absl::Status status = CheckKey(request.idempotency_key()); !status.ok()) {
    return ToGrpc(status);
  }
  const absl::StatusOr<InBandOutcome> outcome = controller_.in_band().Execute(
      {request.election_id(), request.idempotency_key(), patience}, [&](const Network&) {
        InBandOrder order;
        order.stop_reading = request.user();
        return order;
      });
  if (!outcome.ok()) return ToGrpc(outcome.status());
  FillObjectPath(*outcome->network, outcome->circuits.at(0), response->mutable_path());
  *response->mutable_in_band() = outcome->report;
  return grpc::Status::OK;
}

}  // namespace bfly::control

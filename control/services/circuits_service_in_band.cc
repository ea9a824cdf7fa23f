// SPDX-License-Identifier: Apache-2.0
// CircuitsService: the calls with in_band set.
#include <chrono>

#include "control/services/circuit_messages.h"
#include "control/services/circuits_service.h"
#include "control/services/route_message.h"
#include "control/status/field_errors.h"
#include "control/status/grpc_status.h"

namespace bfly::control {

grpc::Status CircuitsService::SetUpInBand(const v1::SetUpRequest& request,
                                          const InBandSession::Patience& patience,
                                          v1::SetUpResponse* response) {
  FieldErrors errors;
  errors.Add(CheckKey(request.idempotency_key()));
  if (!request.rows().empty() || !request.ports().empty()) {
    errors.Add("rows", "are given and in_band too; in band the inputs choose the path");
  }
  if (!request.protocol().empty()) {
    errors.Add("protocol", "is given and in_band too; in band the workers run minimum");
  }
  errors.Add(CheckSeed(request.seed(), request.protocol()));
  errors.Add(RefuseAvoidInBand(request.avoid_size()));
  if (absl::Status status = errors.ToStatus(); !status.ok()) return ToGrpc(status);
  const absl::StatusOr<InBandOutcome> outcome = controller_.in_band().Execute(
      {request.election_id(), request.idempotency_key(), patience}, [&](const Network&) {
        InBandOrder order;
        order.requests = {{request.input(), request.output()}};
        order.single = true;
        return order;
      });
  if (!outcome.ok()) return ToGrpc(outcome.status());
  FillCircuit(*outcome->network, outcome->circuits.at(0), response->mutable_circuit());
  *response->mutable_in_band() = outcome->report;
  return grpc::Status::OK;
}

grpc::Status CircuitsService::ReleaseInBand(const v1::ReleaseRequest& request,
                                            const InBandSession::Patience& patience,
                                            v1::ReleaseResponse* response) {
  if (absl::Status status = CheckKey(request.idempotency_key()); !status.ok()) {
    return ToGrpc(status);
  }
  const absl::StatusOr<InBandOutcome> outcome = controller_.in_band().Execute(
      {request.election_id(), request.idempotency_key(), patience}, [&](const Network&) {
        InBandOrder order;
        order.release = request.id();
        return order;
      });
  if (!outcome.ok()) return ToGrpc(outcome.status());
  FillCircuit(*outcome->network, outcome->circuits.at(0), response->mutable_circuit());
  *response->mutable_in_band() = outcome->report;
  return grpc::Status::OK;
}

grpc::Status CircuitsService::RoutePermutationInBand(const v1::RoutePermutationRequest& request,
                                                     const InBandSession::Patience& patience,
                                                     v1::RoutePermutationResponse* response) {
  const auto start = std::chrono::steady_clock::now();
  FieldErrors errors;
  errors.Add(CheckKey(request.idempotency_key()));
  if (request.dry_run()) {
    errors.Add("dry_run", "is set and in_band too; workers only choose what they set up");
  }
  errors.Add(RefuseAvoidInBand(request.avoid_size()));
  if (absl::Status status = errors.ToStatus(); !status.ok()) return ToGrpc(status);
  const absl::StatusOr<InBandOutcome> outcome = controller_.in_band().Execute(
      {request.election_id(), request.idempotency_key(), patience},
      [&](const Network& network) -> absl::StatusOr<InBandOrder> {
        absl::StatusOr<PermutationOrder> order = ToPermutationOrder(request, network.rows());
        if (!order.ok()) return order.status();
        InBandOrder in_band;
        in_band.protocol = order->protocol;
        in_band.requests = std::move(order->requests);
        in_band.options = order->options;
        in_band.replace = order->replace;
        return in_band;
      });
  if (!outcome.ok()) return ToGrpc(outcome.status());
  response->set_seconds(
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  FillRoute(*outcome->network, request.protocol(), outcome->route, request.summary(), response);
  response->set_steps(outcome->report.forward_steps() + outcome->report.backward_steps());
  *response->mutable_in_band() = outcome->report;
  return grpc::Status::OK;
}

}  // namespace bfly::control

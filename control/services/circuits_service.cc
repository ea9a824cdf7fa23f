// SPDX-License-Identifier: Apache-2.0
#include "control/services/circuits_service.h"

#include <chrono>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "control/services/circuit_messages.h"
#include "control/services/route_message.h"
#include "control/status/field_errors.h"
#include "control/status/grpc_status.h"

namespace bfly::control {
namespace {

constexpr uint32_t kDefaultPage = 1000;
constexpr uint32_t kMaxPage = 10'000;

bool Crosses(const Network& network, const CircuitPath& path, uint64_t link) {
  bool crosses = false;
  ForEachLink(network, path.input, path.tag, [&](uint64_t index) { crosses |= index == link; });
  return crosses;
}

absl::Status CheckList(const v1::ListRequest& request, const Network& network) {
  const Row last = network.rows() - 1;
  FieldErrors errors;
  if (request.has_input() && request.input() > last) {
    errors.Add(OutOfRange("input", request.input(), 0, last));
  }
  if (request.has_output() && request.output() > last) {
    errors.Add(OutOfRange("output", request.output(), 0, last));
  }
  if (request.has_link()) {
    const v1::LinkRef& link = request.link();
    if (link.stage() >= static_cast<uint32_t>(network.stages())) {
      errors.Add(OutOfRange("link.stage", link.stage(), 0, network.stages() - 1));
    }
    if (link.row() > last) errors.Add(OutOfRange("link.row", link.row(), 0, last));
    if (link.port() >= static_cast<uint32_t>(network.ports())) {
      errors.Add(OutOfRange("link.port", link.port(), 0, network.ports() - 1));
    }
  }
  if (request.page_size() > kMaxPage) {
    errors.Add(OutOfRange("page_size", request.page_size(), 0, kMaxPage));
  }
  Row after = 0;
  if (!request.page_token().empty() && !absl::SimpleAtoi(request.page_token(), &after)) {
    errors.Add("page_token", "is not one that List gave");
  }
  return errors.ToStatus();
}

// The page token is the first input row of the page.
absl::Status FillList(const v1::ListRequest& request, const FabricState& state,
                      v1::ListResponse* response) {
  const Network& network = state.network();
  if (absl::Status status = CheckList(request, network); !status.ok()) return status;
  Row from = 0;
  if (!request.page_token().empty() && !absl::SimpleAtoi(request.page_token(), &from)) from = 0;
  const uint32_t page = request.page_size() == 0 ? kDefaultPage : request.page_size();
  const uint64_t link =
      request.has_link()
          ? network.link_index({static_cast<int>(request.link().stage()), request.link().row(),
                                static_cast<int>(request.link().port())})
          : 0;
  uint64_t total = 0;
  for (Row input = 0; input < network.rows(); ++input) {
    const auto circuit = state.AtInput(input);
    if (!circuit.has_value() || (request.has_input() && request.input() != input) ||
        (request.has_output() && request.output() != circuit->path.output) ||
        (request.has_link() && !Crosses(network, circuit->path, link))) {
      continue;
    }
    ++total;
    if (input < from) continue;
    if (static_cast<uint32_t>(response->circuits_size()) < page) {
      FillCircuit(network, *circuit, response->add_circuits());
    } else if (response->next_page_token().empty()) {
      response->set_next_page_token(absl::StrCat(input));
    }
  }
  response->set_total(total);
  return absl::OkStatus();
}

}  // namespace

absl::Status CircuitsService::ExecuteOne(const absl::StatusOr<Order>& order, uint64_t election_id,
                                         v1::Circuit* circuit) {
  if (!order.ok()) return order.status();
  Outcome outcome = absl::UnknownError("");
  std::shared_ptr<const Network> network;
  const absl::Status status = controller_.Commit(election_id, [&](FabricState& state) {
    network = state.shared_network();
    outcome = state.Execute(*order);
  });
  if (!status.ok()) return status;
  if (!outcome.ok()) return outcome.status();
  FillCircuit(*network, *outcome, circuit);
  return absl::OkStatus();
}

grpc::Status CircuitsService::SetUp(grpc::ServerContext*, const v1::SetUpRequest* request,
                                    v1::SetUpResponse* response) {
  if (request->in_band()) return SetUpInBand(*request, response);
  return ToGrpc(ExecuteOne(ToOrder(*request), request->election_id(), response->mutable_circuit()));
}

grpc::Status CircuitsService::Release(grpc::ServerContext*, const v1::ReleaseRequest* request,
                                      v1::ReleaseResponse* response) {
  if (request->in_band()) return ReleaseInBand(*request, response);
  return ToGrpc(ExecuteOne(ToOrder(*request), request->election_id(), response->mutable_circuit()));
}

grpc::Status CircuitsService::List(grpc::ServerContext*, const v1::ListRequest* request,
                                   v1::ListResponse* response) {
  absl::Status listed;
  const absl::Status status = controller_.Read(
      [&](const FabricState& state) { listed = FillList(*request, state, response); });
  return ToGrpc(status.ok() ? listed : status);
}

grpc::Status CircuitsService::SetUpBatch(grpc::ServerContext*, const v1::SetUpBatchRequest* request,
                                         v1::SetUpBatchResponse* response) {
  const auto orders = ToOrders(*request);
  if (!orders.ok()) return ToGrpc(orders.status());
  absl::StatusOr<std::vector<Outcome>> outcomes = std::vector<Outcome>();
  std::shared_ptr<const Network> network;
  const absl::Status status = controller_.Commit(request->election_id(), [&](FabricState& state) {
    network = state.shared_network();
    outcomes = state.ExecuteBatch(*orders, request->all_or_nothing(), request->idempotency_key());
  });
  if (!status.ok()) return ToGrpc(status);
  if (!outcomes.ok()) return ToGrpc(outcomes.status());
  for (size_t i = 0; i < outcomes->size(); ++i) {
    FillResult(network.get(), i, (*outcomes)[i], response->add_results());
  }
  return grpc::Status::OK;
}

grpc::Status CircuitsService::RoutePermutation(grpc::ServerContext*,
                                               const v1::RoutePermutationRequest* request,
                                               v1::RoutePermutationResponse* response) {
  if (request->in_band()) return RoutePermutationInBand(*request, response);
  const auto start = std::chrono::steady_clock::now();
  std::shared_ptr<const Network> network;
  absl::StatusOr<PermutationOrder> order = absl::UnknownError("");
  absl::StatusOr<RouteResult> route = absl::UnknownError("");
  absl::Status status = controller_.Read([&](const FabricState& state) {
    network = state.shared_network();
    order = ToPermutationOrder(*request, network->rows());
    if (order.ok() && request->dry_run()) route = state.Route(*order);
  });
  if (status.ok()) status = order.status();
  if (status.ok() && !request->dry_run()) {
    status = controller_.Commit(request->election_id(), [&](FabricState& state) {
      network = state.shared_network();
      order = ToPermutationOrder(*request, network->rows());
      route = order.ok() ? state.Execute(*order, request->idempotency_key()) : order.status();
    });
  }
  if (!status.ok()) return ToGrpc(status);
  if (!route.ok()) return ToGrpc(route.status());
  response->set_seconds(
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  FillRoute(*network, request->protocol(), *route, request->summary(), response);
  return grpc::Status::OK;
}

}  // namespace bfly::control

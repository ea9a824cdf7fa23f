// SPDX-License-Identifier: Apache-2.0
#include "control/services/circuits_service.h"

#include <chrono>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "control/intent/execute.h"
#include "control/services/circuit_filter.h"
#include "control/services/circuit_messages.h"
#include "control/services/interrupt_of.h"
#include "control/services/route_message.h"
#include "control/services/unary_order.h"
#include "control/status/field_errors.h"
#include "control/status/grpc_status.h"

namespace bfly::control {
namespace {

constexpr uint32_t kDefaultPage = 1000;
constexpr uint32_t kMaxPage = 10'000;

absl::Status CheckList(const v1::ListRequest& request, const Network& network) {
  FieldErrors errors;
  CheckFilter(FilterOf(request), network, errors);
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
  const CircuitFilter filter = FilterOf(request);
  uint64_t total = 0;
  for (Row input = 0; input < network.rows(); ++input) {
    const auto circuit = state.AtInput(input);
    if (!circuit.has_value() || !Matches(filter, network, *circuit)) {
      continue;
    }
    ++total;
    if (input < from) continue;
    if (static_cast<uint32_t>(response->circuits_size()) < page) {
      v1::Circuit* listed = response->add_circuits();
      FillCircuit(network, *circuit, listed);
      // The list shows the congestion of now, not of when the circuit was set up.
      listed->set_congestion(state.load().MaxOnPath(input, circuit->path.tag));
    } else if (response->next_page_token().empty()) {
      response->set_next_page_token(absl::StrCat(input));
    }
  }
  response->set_total(total);
  return absl::OkStatus();
}

constexpr auto FillOne = [](const Network& network, const StandingCircuit& circuit,
                            auto& response) {
  FillCircuit(network, circuit, response.mutable_circuit());
};

}  // namespace

CircuitsService::CircuitsService(Controller& controller, CallDesk& desk)
    : ByteService("bfly.v1.Circuits", desk), controller_(controller), queue_(controller.queue()) {
  using enum CallDesk::Lane;
  AddQuickCall<v1::SetUpRequest>("SetUp", [this](auto&&... call) { SetUp(call...); });
  AddQuickCall<v1::ReleaseRequest>("Release", [this](auto&&... call) { Release(call...); });
  AddQuickCall<v1::MoveRequest>("Move", [this](auto&&... call) { Move(call...); });
  AddCall("List", kRead, &CircuitsService::List);
  AddServerStream("Watch", Role::kViewer,
                  [this](grpc::CallbackServerContext* context, const grpc::ByteBuffer* request) {
                    return Watch(context, *request);
                  });
  AddCall("SetUpBatch", kChange, &CircuitsService::SetUpBatch);
  AddStream("Stream", Role::kOperator,
            [this](grpc::CallbackServerContext* context) { return Stream(context); });
  AddCall("RoutePermutation", kChange, &CircuitsService::RoutePermutation);
}

void CircuitsService::SetUp(grpc::CallbackServerContext* context, grpc::ServerUnaryReactor* reactor,
                            std::shared_ptr<const v1::SetUpRequest> request,
                            grpc::ByteBuffer* answer) {
  const OrderCall<v1::SetUpRequest> call{context, reactor, std::move(request), answer};
  if (call.request->in_band()) {
    return AnswerInBand<v1::SetUpResponse>(
        queue_, call, [call, this](const InBandSession::Patience& patience, auto* response) {
          return SetUpInBand(*call.request, patience, response);
        });
  }
  AnswerOrder<v1::SetUpResponse>(queue_, call, ToOrder(*call.request), FillOne);
}

void CircuitsService::Release(grpc::CallbackServerContext* context,
                              grpc::ServerUnaryReactor* reactor,
                              std::shared_ptr<const v1::ReleaseRequest> request,
                              grpc::ByteBuffer* answer) {
  const OrderCall<v1::ReleaseRequest> call{context, reactor, std::move(request), answer};
  if (call.request->in_band()) {
    return AnswerInBand<v1::ReleaseResponse>(
        queue_, call, [call, this](const InBandSession::Patience& patience, auto* response) {
          return ReleaseInBand(*call.request, patience, response);
        });
  }
  AnswerOrder<v1::ReleaseResponse>(queue_, call, ToOrder(*call.request), FillOne);
}

void CircuitsService::Move(grpc::CallbackServerContext* context, grpc::ServerUnaryReactor* reactor,
                           std::shared_ptr<const v1::MoveRequest> request,
                           grpc::ByteBuffer* answer) {
  const OrderCall<v1::MoveRequest> call{context, reactor, std::move(request), answer};
  AnswerOrder<v1::MoveResponse>(queue_, call, ToOrder(*call.request), FillOne);
}

grpc::Status CircuitsService::List(const grpc::ServerContextBase*, const v1::ListRequest* request,
                                   v1::ListResponse* response) {
  absl::Status listed;
  const absl::Status status = controller_.Read(
      [&](const FabricState& state) { listed = FillList(*request, state, response); });
  return ToGrpc(status.ok() ? listed : status);
}

grpc::Status CircuitsService::SetUpBatch(const grpc::ServerContextBase* context,
                                         const v1::SetUpBatchRequest* request,
                                         v1::SetUpBatchResponse* response) {
  if (absl::Status status =
          CheckBatchSize(controller_.resources().batch, "requests", request->requests_size());
      !status.ok()) {
    return ToGrpc(status);
  }
  const auto orders = ToOrders(*request);
  if (!orders.ok()) return ToGrpc(orders.status());
  absl::StatusOr<std::vector<Outcome>> outcomes = std::vector<Outcome>();
  std::shared_ptr<const Network> network;
  const absl::Status status = controller_.Commit(
      request->election_id(), AnswerDeadlineOf(context), [&](FabricState& state) {
        network = state.shared_network();
        outcomes =
            ExecuteBatch(state, *orders, request->all_or_nothing(), request->idempotency_key(),
                         InterruptOf(context, !request->all_or_nothing()));
      });
  if (!status.ok()) return ToGrpc(status);
  if (!outcomes.ok()) return ToGrpc(outcomes.status());
  for (size_t i = 0; i < outcomes->size(); ++i) {
    FillResult(network.get(), i, (*outcomes)[i], response->add_results());
  }
  return grpc::Status::OK;
}

grpc::Status CircuitsService::RoutePermutation(const grpc::ServerContextBase* context,
                                               const v1::RoutePermutationRequest* request,
                                               v1::RoutePermutationResponse* response) {
  for (const auto& [field, size] :
       {std::pair{"inputs", request->inputs_size()}, {"outputs", request->outputs_size()}}) {
    absl::Status status = CheckBatchSize(controller_.resources().batch, field, size);
    if (!status.ok()) return ToGrpc(status);
  }
  if (request->in_band()) {
    return RoutePermutationInBand(*request, InBandPatienceOf(context), response);
  }
  const auto start = std::chrono::steady_clock::now();
  std::shared_ptr<const Network> network;
  absl::StatusOr<PermutationOrder> order = absl::UnknownError("");
  absl::StatusOr<RouteResult> route = absl::UnknownError("");
  absl::Status status = controller_.Read([&](const FabricState& state) {
    network = state.shared_network();
    order = ToPermutationOrder(*request, network->rows());
    if (order.ok() && request->dry_run()) {
      route = state.planner().Route(*order, InterruptOf(context, /*answer_in_time=*/false));
    }
  });
  if (status.ok()) status = order.status();
  if (status.ok() && !request->dry_run()) {
    status = controller_.Commit(
        request->election_id(), AnswerDeadlineOf(context), [&](FabricState& state) {
          network = state.shared_network();
          order = ToPermutationOrder(*request, network->rows());
          route = order.ok() ? Execute(state, *order, request->idempotency_key(),
                                       InterruptOf(context, /*answer_in_time=*/false))
                             : order.status();
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

// SPDX-License-Identifier: Apache-2.0
#include "control/services/circuits_service.h"

#include <chrono>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "control/services/circuit_filter.h"
#include "control/services/circuit_messages.h"
#include "control/services/route_message.h"
#include "control/status/field_errors.h"
#include "control/status/grpc_status.h"

namespace bfly::control {
namespace {

constexpr uint32_t kDefaultPage = 1000;
constexpr uint32_t kMaxPage = 10'000;

using SystemClock = std::chrono::system_clock;

// What installing and answering may take once the setting up is done: so many times as long as that
// took, and a moment.
constexpr int kAfterwards = 3;
constexpr std::chrono::milliseconds kMoment{20};

// Stops what nobody waits for any more. With `answer_in_time` a little before the deadline, so that
// the answer still arrives.
Interrupt InterruptOf(grpc::ServerContext* context, bool answer_in_time) {
  return [context, answer_in_time, start = SystemClock::now()] {
    const SystemClock::time_point now = SystemClock::now();
    const SystemClock::time_point deadline = context->deadline();
    if (now >= deadline ||
        (answer_in_time && deadline - now < kAfterwards * (now - start) + kMoment)) {
      return absl::DeadlineExceededError("the time was over before it was done");
    }
    if (context->IsCancelled()) return absl::CancelledError("cancelled before it was done");
    return absl::OkStatus();
  };
}

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
    if (!circuit.has_value() || !Matches(filter, network, circuit->path)) {
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

// A call that is finished with the circuit filled in, or with the error.
class UnaryOrder final : public OrderQueue::Work {
 public:
  UnaryOrder(Order order, uint64_t election_id, const CircuitsService::UnaryAnswer& answer)
      : order_(std::move(order)), answer_(answer) {
    job_.election_id = election_id;
    job_.plan = [this](FabricState& state) {
      network_ = state.shared_network();
      outcome_ = state.Execute(order_);
    };
  }

  bool IsWanted() const override { return !answer_.context->IsCancelled(); }
  void AddJobs(std::vector<Controller::Job*>& jobs) override { jobs.push_back(&job_); }
  void Done(bool carried_out) override {
    absl::Status status = absl::CancelledError("cancelled; nothing was changed");
    if (carried_out) status = job_.status.ok() ? outcome_.status() : job_.status;
    if (status.ok()) FillCircuit(*network_, *outcome_, answer_.circuit);
    answer_.reactor->Finish(ToGrpc(status));
  }

 private:
  const Order order_;
  const CircuitsService::UnaryAnswer answer_;
  Controller::Job job_;
  std::shared_ptr<const Network> network_;
  Outcome outcome_ = absl::UnknownError("");
};

}  // namespace

grpc::ServerUnaryReactor* CircuitsService::SetUp(grpc::CallbackServerContext* context,
                                                 const v1::SetUpRequest* request,
                                                 v1::SetUpResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  if (request->in_band()) {
    queue_.PushSlow([=, this] { reactor->Finish(SetUpInBand(*request, response)); });
  } else {
    CarryOut(ToOrder(*request), request->election_id(),
             {response->mutable_circuit(), context, reactor});
  }
  return reactor;
}

grpc::ServerUnaryReactor* CircuitsService::Release(grpc::CallbackServerContext* context,
                                                   const v1::ReleaseRequest* request,
                                                   v1::ReleaseResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  if (request->in_band()) {
    queue_.PushSlow([=, this] { reactor->Finish(ReleaseInBand(*request, response)); });
  } else {
    CarryOut(ToOrder(*request), request->election_id(),
             {response->mutable_circuit(), context, reactor});
  }
  return reactor;
}

void CircuitsService::CarryOut(absl::StatusOr<Order> order, uint64_t election_id,
                               const UnaryAnswer& answer) {
  absl::Status status = order.status();
  if (status.ok() && queue_.IsFull()) {
    status = absl::ResourceExhaustedError(
        absl::StrCat(OrderQueue::kMaxWaiting,
                     " set-ups and releases wait already; send fewer at a time, or many in one "
                     "message over Stream"));
  }
  if (!status.ok()) {
    answer.reactor->Finish(ToGrpc(status));
  } else if (queue_.Push(std::make_unique<UnaryOrder>(*std::move(order), election_id, answer))) {
    queue_.Lead();
  }
}

grpc::Status CircuitsService::List(grpc::ServerContext*, const v1::ListRequest* request,
                                   v1::ListResponse* response) {
  absl::Status listed;
  const absl::Status status = controller_.Read(
      [&](const FabricState& state) { listed = FillList(*request, state, response); });
  return ToGrpc(status.ok() ? listed : status);
}

grpc::Status CircuitsService::SetUpBatch(grpc::ServerContext* context,
                                         const v1::SetUpBatchRequest* request,
                                         v1::SetUpBatchResponse* response) {
  const auto orders = ToOrders(*request);
  if (!orders.ok()) return ToGrpc(orders.status());
  absl::StatusOr<std::vector<Outcome>> outcomes = std::vector<Outcome>();
  std::shared_ptr<const Network> network;
  const absl::Status status = controller_.Commit(request->election_id(), [&](FabricState& state) {
    network = state.shared_network();
    outcomes = state.ExecuteBatch(*orders, request->all_or_nothing(), request->idempotency_key(),
                                  InterruptOf(context, !request->all_or_nothing()));
  });
  if (!status.ok()) return ToGrpc(status);
  if (!outcomes.ok()) return ToGrpc(outcomes.status());
  for (size_t i = 0; i < outcomes->size(); ++i) {
    FillResult(network.get(), i, (*outcomes)[i], response->add_results());
  }
  return grpc::Status::OK;
}

grpc::Status CircuitsService::RoutePermutation(grpc::ServerContext* context,
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
      route = order.ok() ? state.Execute(*order, request->idempotency_key(),
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

// SPDX-License-Identifier: Apache-2.0
#include "control/services/unary_order.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/intent/execute.h"
#include "control/services/interrupt_of.h"
#include "control/status/grpc_status.h"

namespace bfly::control {
namespace {

class UnaryOrder final : public Plan {
 public:
  // One of the `orders` that wait; it gives its place back when it is done.
  UnaryOrder(Order order, uint64_t election_id, UnaryCall call, Resource& orders)
      : order_(std::move(order)),
        election_id_(election_id),
        call_(std::move(call)),
        orders_(orders) {}

  absl::Status IsWanted() const override {
    if (!call_.context->IsCancelled()) return absl::OkStatus();
    return absl::CancelledError("cancelled; nothing was changed");
  }
  uint64_t caller() const override { return caller_; }
  void Execute(FabricState& state, const Arbitration& arbitration) override {
    network_ = state.shared_network();
    const absl::Status permitted = arbitration.Check(election_id_);
    outcome_ = permitted.ok() ? control::Execute(state, order_) : permitted;
  }
  void Done() override {
    if (status.ok()) status = outcome_.status();
    if (status.ok()) call_.fill(*network_, *outcome_);
    orders_.Give();
    call_.reactor->Finish(ToGrpc(status));
  }

 private:
  const Order order_;
  const uint64_t election_id_;
  const UnaryCall call_;
  const uint64_t caller_ = std::hash<std::string>()(call_.context->peer());
  Resource& orders_;
  std::shared_ptr<const Network> network_;
  Outcome outcome_ = absl::UnknownError("");
};

class InBandCall final : public CommitQueue::LongCall {
 public:
  InBandCall(grpc::CallbackServerContext* context, grpc::ServerUnaryReactor* reactor,
             std::function<grpc::Status(const InBandSession::Patience&)> run)
      : reactor_(reactor), patience_(InBandPatienceOf(context)), run_(std::move(run)) {}

  absl::Status IsWanted() const override { return patience_.interrupt(); }
  void Run() override { reactor_->Finish(run_(patience_)); }
  void GiveUp(const absl::Status& status) override { reactor_->Finish(ToGrpc(status)); }

 private:
  grpc::ServerUnaryReactor* const reactor_;
  const InBandSession::Patience patience_;
  const std::function<grpc::Status(const InBandSession::Patience&)> run_;
};

}  // namespace

void SubmitInBand(CommitQueue& queue, grpc::CallbackServerContext* context,
                  grpc::ServerUnaryReactor* reactor,
                  std::function<grpc::Status(const InBandSession::Patience&)> run) {
  queue.PushLong(std::make_unique<InBandCall>(context, reactor, std::move(run)));
}

void SubmitOrder(CommitQueue& queue, absl::StatusOr<Order> order, uint64_t election_id,
                 UnaryCall call) {
  absl::Status status = order.status();
  Resource& orders = queue.resources().orders;
  if (status.ok() && !orders.Take()) {
    status = orders.Exhausted("set-ups and releases that wait",
                              "send fewer at a time, or many in one message over Stream");
  }
  if (!status.ok()) {
    call.reactor->Finish(ToGrpc(status));
  } else if (queue.Push(std::make_unique<UnaryOrder>(*std::move(order), election_id,
                                                     std::move(call), orders))) {
    queue.Lead();
  }
}

}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
#include "control/services/data_server_service.h"

#include <algorithm>
#include <chrono>

#include "control/controller/place_message.h"
#include "control/intent/execute.h"
#include "control/services/interrupt_of.h"
#include "control/services/operation_stream.h"
#include "control/services/read_messages.h"
#include "control/services/route_message.h"
#include "control/services/unary_order.h"
#include "control/status/field_errors.h"
#include "control/status/grpc_status.h"

namespace bfly::control {
namespace {

struct ReadOperations {
  using Operation = v1::ObjectOperation;
  using Result = v1::ObjectResult;
  static constexpr char kOperations[] = "request or release";

  static TaggedOrder ToTaggedOrder(const Operation& operation) {
    switch (operation.operation_case()) {
      case Operation::kRequest:
        return {operation.tag(), ToOrder(operation.request()), operation.request().election_id()};
      case Operation::kRelease:
        return {operation.tag(), ToOrder(operation.release()), operation.release().election_id()};
      default:
        return MissingOrder<ReadOperations>(operation.tag());
    }
  }
  static void Fill(const Network& network, const StandingCircuit& circuit, Result* result) {
    FillObjectPath(network, circuit, result->mutable_path());
  }
};

absl::StatusOr<ReadBatchOutcome> DryRunReads(const FabricState& state,
                                             const ReadBatchOrder& order) {
  absl::StatusOr<DataServerResult> routed = state.planner().Route(order);
  if (!routed.ok()) return routed.status();
  return ReadBatchOutcome{*std::move(routed), {}, state.data_server().CopiesOf(order)};
}

}  // namespace

grpc::Status DataServerService::Place(const grpc::ServerContextBase* context,
                                      const v1::PlaceRequest* request,
                                      v1::PlaceResponse* response) {
  if (absl::Status status = CheckPlace(*request); !status.ok()) return ToGrpc(status);
  Row rows = 0;
  Resource& objects = controller_.resources().objects;
  uint64_t there = 0;
  absl::Status status = controller_.Read([&](const FabricState& state) {
    rows = state.network().rows();
    there = state.objects().size();
  });
  if (!status.ok()) return ToGrpc(status);
  absl::StatusOr<PlaceOrder> order = ToOrder(*request, rows, there, objects.limit());
  if (absl::IsResourceExhausted(order.status())) objects.CountRefusal();
  if (!order.ok()) return ToGrpc(order.status());
  absl::Status placed;
  status = controller_.Commit(
      request->election_id(), AnswerDeadlineOf(context), [&](FabricState& state) {
        // Others may have placed objects meanwhile.
        const uint64_t before = order->replace ? 0 : state.objects().size();
        placed = before + order->objects.size() > objects.limit()
                     ? objects.Exhausted("objects", "replace the placed objects")
                     : Execute(state, *order);
        response->set_objects(state.objects().size());
        response->set_most_on_disk(state.objects().most_on_disk());
      });
  return ToGrpc(status.ok() ? placed : status);
}

DataServerService::DataServerService(Controller& controller, CallDesk& desk)
    : ByteService("bfly.v1.DataServer", desk), controller_(controller), queue_(controller.queue()) {
  using enum CallDesk::Lane;
  AddCall("Place", kChange, &DataServerService::Place);
  AddQuickCall<v1::ObjectRequest>("Request", [this](auto&&... call) { Request(call...); });
  AddCall("RequestBatch", kChange, &DataServerService::RequestBatch);
  AddQuickCall<v1::ReleaseObjectRequest>("Release", [this](auto&&... call) { Release(call...); });
  AddCall("ReleaseBatch", kChange, &DataServerService::ReleaseBatch);
  AddStream("Stream", Role::kOperator,
            [this](grpc::CallbackServerContext* context) { return Stream(context); });
  AddCall("List", kRead, &DataServerService::List);
  AddCall("Status", kRead, &DataServerService::Status);
}

void DataServerService::Request(grpc::CallbackServerContext* context,
                                grpc::ServerUnaryReactor* reactor,
                                std::shared_ptr<const v1::ObjectRequest> request,
                                grpc::ByteBuffer* answer) {
  const OrderCall<v1::ObjectRequest> call{context, reactor, std::move(request), answer};
  if (call.request->in_band()) {
    return AnswerInBand<v1::ObjectResponse>(
        queue_, call, [call, this](const InBandSession::Patience& patience, auto* response) {
          return RequestInBand(*call.request, patience, response);
        });
  }
  AnswerOrder<v1::ObjectResponse>(
      queue_, call, ToOrder(*call.request),
      [](const Network& network, const StandingCircuit& circuit, auto& response) {
        FillObjectPath(network, circuit, response.mutable_path());
        response.set_link_congestion(circuit.congestion);
        response.set_disk_contention(circuit.disk_contention);
      });
}

grpc::Status DataServerService::RequestBatch(const grpc::ServerContextBase* context,
                                             const v1::ObjectBatchRequest* request,
                                             v1::ObjectBatchResponse* response) {
  if (absl::Status status = CheckBatch(*request, controller_.resources().batch); !status.ok()) {
    return ToGrpc(status);
  }
  if (request->in_band()) {
    return RequestBatchInBand(*request, InBandPatienceOf(context), response);
  }
  if (request->best_effort()) return RequestBestEffort(context, *request, response);
  const auto start = std::chrono::steady_clock::now();
  const ReadBatchOrder order = ToReadOrder(*request);
  absl::StatusOr<ReadBatchOutcome> outcome = absl::UnknownError("");
  std::shared_ptr<const Network> network;
  const absl::Status status =
      request->dry_run()
          ? controller_.Read([&](const FabricState& state) {
              network = state.shared_network();
              outcome = DryRunReads(state, order);
            })
          : controller_.Commit(request->election_id(), AnswerDeadlineOf(context),
                               [&](FabricState& state) {
                                 network = state.shared_network();
                                 outcome = Execute(state, order, request->idempotency_key(),
                                                   InterruptOf(context, /*answer_in_time=*/false));
                               });
  if (!status.ok()) return ToGrpc(status);
  if (!outcome.ok()) return ToGrpc(outcome.status());
  response->set_seconds(
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  response->set_copies(outcome->copies);
  response->set_protocol(outcome->copies == 1 ? "single_copy" : order.protocol);
  FillObjectBatch(*network, outcome->routed, order.objects, request->summary(), response,
                  outcome->circuits);
  return grpc::Status::OK;
}

void DataServerService::Release(grpc::CallbackServerContext* context,
                                grpc::ServerUnaryReactor* reactor,
                                std::shared_ptr<const v1::ReleaseObjectRequest> request,
                                grpc::ByteBuffer* answer) {
  const OrderCall<v1::ReleaseObjectRequest> call{context, reactor, std::move(request), answer};
  if (call.request->in_band()) {
    return AnswerInBand<v1::ReleaseObjectResponse>(
        queue_, call, [call, this](const InBandSession::Patience& patience, auto* response) {
          return ReleaseInBand(*call.request, patience, response);
        });
  }
  AnswerOrder<v1::ReleaseObjectResponse>(
      queue_, call, ToOrder(*call.request),
      [](const Network& network, const StandingCircuit& circuit, auto& response) {
        FillObjectPath(network, circuit, response.mutable_path());
      });
}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* DataServerService::Stream(
    grpc::CallbackServerContext* context) {
  return new StreamReactor<ReadOperations>(queue_, controller_.resources(), context);
}

grpc::Status DataServerService::Status(const grpc::ServerContextBase*,
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

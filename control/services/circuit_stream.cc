// SPDX-License-Identifier: Apache-2.0
// Circuits.Stream: what has come in while the last batch was carried out is the next batch.
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "control/services/circuit_messages.h"
#include "control/services/circuits_service.h"

namespace bfly::control {
namespace {

// Operations read ahead. A client that sends faster than answers can be written, or does not read
// them, is held back by the transport once so many wait.
constexpr size_t kMaxWaiting = 4096;

// One thread pushes, one takes.
class Waiting {
 public:
  // False: nobody will take it.
  bool Push(v1::CircuitOperation operation) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return operations_.size() < kMaxWaiting || closed_; });
    if (closed_) return false;
    operations_.push_back(std::move(operation));
    changed_.notify_all();
    return true;
  }
  // Everything that waits, at least one; none: the stream has ended.
  std::vector<v1::CircuitOperation> Take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !operations_.empty() || closed_; });
    std::vector<v1::CircuitOperation> taken;
    taken.swap(operations_);
    changed_.notify_all();
    return taken;
  }
  void Close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<v1::CircuitOperation> operations_;
  bool closed_ = false;
};

struct Step {
  absl::StatusOr<Order> order =
      absl::InvalidArgumentError("operation: is missing; set set_up or release");
  uint64_t election_id = 0;
};

Step ToStep(const v1::CircuitOperation& operation) {
  switch (operation.operation_case()) {
    case v1::CircuitOperation::kSetUp:
      return {ToOrder(operation.set_up()), operation.set_up().election_id()};
    case v1::CircuitOperation::kRelease:
      return {ToOrder(operation.release()), operation.release().election_id()};
    case v1::CircuitOperation::OPERATION_NOT_SET:
      break;
  }
  return {};
}

// Results of operations that come one after the other with the same election id.
std::shared_ptr<const Network> CarryOut(Controller& controller, const std::vector<Step>& steps,
                                        std::vector<Outcome>& outcomes) {
  std::shared_ptr<const Network> network;
  size_t first = 0;
  while (first < steps.size()) {
    const uint64_t election_id = steps[first].election_id;
    size_t end = first;
    while (end < steps.size() && steps[end].election_id == election_id) ++end;
    const absl::Status status = controller.Commit(election_id, [&](FabricState& state) {
      network = state.shared_network();
      for (size_t i = first; i < end; ++i) {
        const absl::StatusOr<Order>& order = steps[i].order;
        outcomes[i] = order.ok() ? state.Execute(*order) : order.status();
      }
    });
    for (size_t i = first; i < end; ++i) {
      if (!status.ok()) outcomes[i] = steps[i].order.ok() ? status : steps[i].order.status();
    }
    first = end;
  }
  return network;
}

}  // namespace

grpc::Status CircuitsService::Stream(
    grpc::ServerContext* context,
    grpc::ServerReaderWriter<v1::CircuitResult, v1::CircuitOperation>* stream) {
  Waiting waiting;
  std::thread reader([&] {
    v1::CircuitOperation operation;
    while (stream->Read(&operation) && waiting.Push(std::move(operation))) {
    }
    waiting.Close();
  });
  bool client_reads = true;
  while (client_reads) {
    const std::vector<v1::CircuitOperation> operations = waiting.Take();
    if (operations.empty()) break;
    std::vector<Step> steps;
    steps.reserve(operations.size());
    for (const v1::CircuitOperation& operation : operations) steps.push_back(ToStep(operation));
    std::vector<Outcome> outcomes(steps.size(), absl::UnknownError(""));
    const auto network = CarryOut(controller_, steps, outcomes);
    for (size_t i = 0; client_reads && i < outcomes.size(); ++i) {
      v1::CircuitResult result;
      FillResult(network.get(), operations[i].tag(), outcomes[i], &result);
      grpc::WriteOptions options;
      if (i + 1 < outcomes.size()) options.set_buffer_hint();
      client_reads = stream->Write(result, options);
    }
  }
  waiting.Close();
  if (!client_reads) context->TryCancel();
  reader.join();
  return grpc::Status::OK;
}

}  // namespace bfly::control

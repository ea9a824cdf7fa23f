// SPDX-License-Identifier: Apache-2.0
// Circuits.Stream: what has come in while the last batch was carried out is the next batch.
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "control/services/circuit_messages.h"
#include "control/services/circuits_service.h"
#include "control/status/field_errors.h"

namespace bfly::control {
namespace {

// Operations read ahead. A client that sends faster than answers can be written, or does not read
// them, is held back by the transport once so many wait.
constexpr size_t kMaxWaiting = 8192;
// Operations of one message.
constexpr int kMaxInMessage = 4096;

struct Step {
  uint64_t tag = 0;
  absl::StatusOr<Order> order =
      absl::InvalidArgumentError("operation: is missing; set set_up or release");
  uint64_t election_id = 0;
};

// What came in one message and is answered by one.
struct Message {
  uint64_t tag = 0;
  bool is_batch = false;
  absl::Status status;  // of a batch that is refused as a whole
  std::vector<Step> steps;
};

Step ToStep(const v1::CircuitOperation& operation) {
  switch (operation.operation_case()) {
    case v1::CircuitOperation::kSetUp:
      return {operation.tag(), ToOrder(operation.set_up()), operation.set_up().election_id()};
    case v1::CircuitOperation::kRelease:
      return {operation.tag(), ToOrder(operation.release()), operation.release().election_id()};
    case v1::CircuitOperation::kBatch:
      return {operation.tag(),
              ErrorAtField(absl::StatusCode::kInvalidArgument, "batch",
                           "stands in a batch; put its operations there themselves"),
              0};
    case v1::CircuitOperation::OPERATION_NOT_SET:
      break;
  }
  return {.tag = operation.tag()};
}

Message ToMessage(const v1::CircuitOperation& operation) {
  Message message{.tag = operation.tag(),
                  .is_batch = operation.operation_case() == v1::CircuitOperation::kBatch,
                  .status = absl::OkStatus(),
                  .steps = {}};
  if (!message.is_batch) {
    message.steps.push_back(ToStep(operation));
    return message;
  }
  const auto& operations = operation.batch().operations();
  if (operations.size() > kMaxInMessage) {
    message.status =
        ErrorAtField(absl::StatusCode::kResourceExhausted, "batch.operations",
                     absl::StrCat("has ", operations.size(), " operations, at most ", kMaxInMessage,
                                  " are allowed; send several messages"));
    return message;
  }
  message.steps.reserve(operations.size());
  for (const v1::CircuitOperation& member : operations) message.steps.push_back(ToStep(member));
  return message;
}

// One thread pushes, one takes.
class Waiting {
 public:
  // False: nobody will take it.
  bool Push(Message message) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return operations_ < kMaxWaiting || closed_; });
    if (closed_) return false;
    operations_ += message.steps.size() + 1;
    messages_.push_back(std::move(message));
    if (messages_.size() == 1) changed_.notify_all();
    return true;
  }
  // Everything that waits, at least one; none: the stream has ended.
  std::vector<Message> Take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !messages_.empty() || closed_; });
    std::vector<Message> taken;
    taken.swap(messages_);
    if (operations_ >= kMaxWaiting) changed_.notify_all();
    operations_ = 0;
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
  std::vector<Message> messages_;
  size_t operations_ = 0;  // in messages_, and one for each message
  bool closed_ = false;
};

// Outcomes of operations that come one after the other with the same election id.
std::shared_ptr<const Network> CarryOut(Controller& controller,
                                        const std::vector<const Step*>& steps,
                                        std::vector<Outcome>& outcomes) {
  std::shared_ptr<const Network> network;
  size_t first = 0;
  while (first < steps.size()) {
    const uint64_t election_id = steps[first]->election_id;
    size_t end = first;
    while (end < steps.size() && steps[end]->election_id == election_id) ++end;
    const absl::Status status = controller.Commit(election_id, [&](FabricState& state) {
      network = state.shared_network();
      for (size_t i = first; i < end; ++i) {
        const absl::StatusOr<Order>& order = steps[i]->order;
        outcomes[i] = order.ok() ? state.Execute(*order) : order.status();
      }
    });
    for (size_t i = first; i < end; ++i) {
      if (!status.ok()) outcomes[i] = steps[i]->order.ok() ? status : steps[i]->order.status();
    }
    first = end;
  }
  return network;
}

// The answer to `message`, whose outcomes begin at `outcome`. Clears what `result` was before, but
// keeps its memory.
void FillAnswer(const Network* network, const Message& message, const Outcome* outcome,
                v1::CircuitResult* result) {
  result->Clear();
  if (!message.is_batch) {
    FillResult(network, message.tag, *outcome, result);
    return;
  }
  result->set_tag(message.tag);
  if (!message.status.ok()) {
    FillResult(network, message.tag, message.status, result);
    return;
  }
  for (const Step& step : message.steps) {
    FillResult(network, step.tag, *outcome++, result->add_results());
  }
}

}  // namespace

grpc::Status CircuitsService::Stream(
    grpc::ServerContext* context,
    grpc::ServerReaderWriter<v1::CircuitResult, v1::CircuitOperation>* stream) {
  Waiting waiting;
  std::thread reader([&] {
    v1::CircuitOperation operation;
    while (stream->Read(&operation) && waiting.Push(ToMessage(operation))) {
    }
    waiting.Close();
  });
  v1::CircuitResult result;
  std::vector<const Step*> steps;
  std::vector<Outcome> outcomes;
  bool client_reads = true;
  while (client_reads) {
    const std::vector<Message> messages = waiting.Take();
    if (messages.empty()) break;
    steps.clear();
    for (const Message& message : messages) {
      for (const Step& step : message.steps) steps.push_back(&step);
    }
    outcomes.assign(steps.size(), absl::UnknownError(""));
    const auto network = CarryOut(controller_, steps, outcomes);
    size_t done = 0;
    for (size_t i = 0; client_reads && i < messages.size(); ++i) {
      FillAnswer(network.get(), messages[i], outcomes.data() + done, &result);
      done += messages[i].steps.size();
      grpc::WriteOptions options;
      if (i + 1 < messages.size() && !messages[i].is_batch) options.set_buffer_hint();
      client_reads = stream->Write(result, options);
    }
  }
  waiting.Close();
  if (!client_reads) context->TryCancel();
  reader.join();
  return grpc::Status::OK;
}

}  // namespace bfly::control

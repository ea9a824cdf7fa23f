// SPDX-License-Identifier: Apache-2.0
#include "control/services/call_desk.h"

#include <malloc.h>

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/server/message_bytes.h"
#include "control/status/grpc_status.h"

namespace bfly::control {
namespace {

constexpr int kThreads = 4;  // of reads, and of changes
// Messages up to this size are parsed without a look at them first.
constexpr size_t kSmall = 16 << 10;
constexpr size_t kSmallOrder = 256;
// The longest message of a single order. It has room for a key, a path, and tens of thousands of
// links to avoid.
constexpr size_t kLongestOrder = 1 << 20;
// A call takes this many times the memory of its message: the message, its orders, the outcome of
// each with its error, and the answer. The figure was measured with batches of set-ups that are
// refused.
constexpr uint64_t kCopies = 8;
// A call that took more than this gives memory back to the system, because every thread has a heap
// of its own.
constexpr uint64_t kTrim = 8 << 20;
constexpr std::chrono::milliseconds kWait{20};

absl::Status TooLarge(Resource& resource, uint64_t bytes) {
  resource.CountRefusal();
  return absl::ResourceExhaustedError(absl::StrCat("the message would take ", bytes,
                                                   " bytes of memory, at most ", resource.limit(),
                                                   " are allowed; send a smaller message"));
}

absl::Status NoRoomForAnswers() {
  return absl::ResourceExhaustedError(
      "answers that their clients do not read take too much memory; ask again later");
}

// Whether calls of the lane change something. What was changed must not be answered with an error,
// so there must be room for answers before such a call begins.
bool Changes(CallDesk::Lane lane) {
  return lane == CallDesk::Lane::kChange || lane == CallDesk::Lane::kProgram;
}

}  // namespace

class DeskCall final : public grpc::ServerUnaryReactor {
 public:
  DeskCall(CallDesk& desk, Resources& resources, Resource& lane_room, Resource::Share share,
           CallDesk::Lane lane, const google::protobuf::Descriptor& message_type,
           grpc::CallbackServerContext* call_context, const grpc::ByteBuffer* request_bytes,
           grpc::ByteBuffer* response_bytes, const CallDesk::Handler& call_handler)
      : type(message_type),
        context(call_context),
        request(request_bytes),
        response(response_bytes),
        handler(call_handler),
        is_counted(lane_room.Take(1, share)),
        resources_(resources),
        room_(lane_room),
        share_(share),
        changes_(Changes(lane)),
        stalled_(desk.stalled(), call_context, &lane_room, share) {}

  void OnDone() override {
    resources_.answer_bytes.Give(answer_bytes_);
    if (is_counted) room_.Give();
    delete this;
  }
  // RESOURCE_EXHAUSTED: the call would change something, and there is no room for answers.
  absl::Status CheckRoom() {
    Resource& answers = resources_.answer_bytes;
    if (!changes_ || answers.in_use() < answers.limit(share_)) return absl::OkStatus();
    answers.CountRefusal();
    return NoRoomForAnswers();
  }
  // Finishes the call with its answer, or with an error if the call has only read and the answer
  // has no room.
  void Answer() {
    if (changes_) {
      resources_.answer_bytes.Add(response->Length());
    } else if (!resources_.answer_bytes.Take(response->Length(), share_)) {
      response->Clear();
      Finish(ToGrpc(NoRoomForAnswers()));
      return;
    }
    answer_bytes_ = response->Length();
    stalled_.SetSending(true);
    Finish(grpc::Status::OK);
  }

  const google::protobuf::Descriptor& type;
  grpc::CallbackServerContext* const context;
  const grpc::ByteBuffer* const request;
  grpc::ByteBuffer* const response;
  const CallDesk::Handler& handler;
  const bool is_counted;  // among the calls of its lane

 private:
  Resources& resources_;
  Resource& room_;  // of the calls of its lane
  const Resource::Share share_;
  const bool changes_;
  uint64_t answer_bytes_ = 0;  // set before Finish
  StalledCalls::Call stalled_;
};

CallDesk::CallDesk(Resources& resources, Gate* gate)
    : resources_(resources), gate_(gate), stalled_([&resources] {
        for (const Resource* resource : {&resources.calls, &resources.reads, &resources.programs,
                                         &resources.dry_runs, &resources.picture_bytes}) {
          if (resource->in_use() >= resource->limit() / 4 * 3) return true;
        }
        // Viewers have half of this memory, and calls that stall end before that half is full.
        const Resource& answers = resources.answer_bytes;
        return answers.in_use() >= answers.limit(Resource::Share::kViewer) / 4 * 3;
      }) {
  for (const auto& [queue, threads] :
       {std::pair{&reads_, kThreads}, {&changes_, kThreads}, {&programs_, 1}, {&dry_runs_, 1}}) {
    for (int i = 0; i < threads; ++i)
      queue->threads.emplace_back([this, queue = queue] { Run(*queue); });
  }
}

CallDesk::~CallDesk() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  for (Queue* queue : {&reads_, &changes_, &programs_, &dry_runs_}) {
    queue->changed.notify_all();
    for (std::thread& thread : queue->threads) thread.join();
  }
}

CallDesk::Queue& CallDesk::QueueOf(Lane lane) {
  switch (lane) {
    case Lane::kRead:
      return reads_;
    case Lane::kChange:
      return changes_;
    case Lane::kDryRun:
      return dry_runs_;
    case Lane::kProgram:
      break;
  }
  return programs_;
}

grpc::ServerUnaryReactor* CallDesk::Take(Lane lane, const google::protobuf::Descriptor& type,
                                         grpc::CallbackServerContext* context,
                                         const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response, const Handler& handler) {
  Queue& queue = QueueOf(lane);
  const Resource::Share share = ShareOf(*context);
  auto* call = new DeskCall(*this, resources_, queue.room, share, lane, type, context, request,
                            response, handler);
  if (!call->is_counted) {
    call->Finish(ToGrpc(queue.room.Exhausted(queue.what, "send fewer at a time", share)));
    return call;
  }
  const std::lock_guard lock(mutex_);
  queue.waiting.push_back(call);
  queue.changed.notify_one();
  return call;
}

void CallDesk::Run(Queue& queue) {
  for (;;) {
    DeskCall* call = nullptr;
    {
      std::unique_lock lock(mutex_);
      queue.changed.wait(lock, [&] { return !queue.waiting.empty() || stopping_; });
      if (queue.waiting.empty()) return;
      call = queue.waiting.front();
      queue.waiting.pop_front();
    }
    Serve(*call);
  }
}

void CallDesk::Serve(DeskCall& call) {
  const auto finish = [&call](const absl::Status& status) { call.Finish(ToGrpc(status)); };
  if (call.context->IsCancelled()) return finish(absl::CancelledError("nobody waits any more"));
  if (const absl::Status room = call.CheckRoom(); !room.ok()) return finish(room);
  size_t bytes = 0;
  if (call.request->Length() > kSmall) {
    const absl::Status status = ParsedSize(*call.request, call.type, &bytes);
    if (!status.ok()) return finish(status);
    bytes *= kCopies;
    if (bytes > resources_.request_bytes.limit()) {
      return finish(TooLarge(resources_.request_bytes, bytes));
    }
    if (!TakeRequest(call, bytes)) return finish(absl::CancelledError("nobody waits any more"));
  }
  grpc::Status status = call.handler(call.context, *call.request, call.response);
  if (bytes > kTrim) malloc_trim(0);
  if (bytes != 0) resources_.request_bytes.Give(bytes);
  if (status.ok()) {
    call.Answer();
  } else {
    call.Finish(status);
  }
}

Resource::Share CallDesk::ShareOf(const grpc::ServerContextBase& context) const {
  const bool is_viewer = gate_ != nullptr && gate_->Of(context).role <= Role::kViewer;
  return is_viewer ? Resource::Share::kViewer : Resource::Share::kAll;
}

absl::Status CallDesk::TakeOrder(const grpc::ByteBuffer& bytes,
                                 const google::protobuf::Descriptor& type, uint64_t* taken) {
  Resource& room = resources_.order_bytes;
  if (bytes.Length() <= kSmallOrder) return absl::OkStatus();
  if (bytes.Length() > kLongestOrder) {
    room.CountRefusal();
    return absl::ResourceExhaustedError(absl::StrCat(
        "the message has ", bytes.Length(), " bytes, at most ", kLongestOrder, " are allowed"));
  }
  size_t size = 0;
  if (absl::Status status = ParsedSize(bytes, type, &size); !status.ok()) return status;
  if (size > room.limit()) return TooLarge(room, size);
  if (!room.Take(size)) {
    return room.Exhausted("bytes of set-ups, releases and reads that wait", "send fewer at a time");
  }
  *taken = size;
  return absl::OkStatus();
}

bool CallDesk::TakeRequest(DeskCall& call, uint64_t bytes) {
  while (!resources_.request_bytes.Take(bytes)) {
    if (call.context->IsCancelled()) return false;
    std::this_thread::sleep_for(kWait);
  }
  return true;
}

}  // namespace bfly::control

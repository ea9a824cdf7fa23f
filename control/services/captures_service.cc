// SPDX-License-Identifier: Apache-2.0
#include "control/services/captures_service.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bfly/v1/capture.grpc.pb.h"
#include "control/agent/ownership.h"
#include "control/controller/agent_channel.h"
#include "control/controller/capture_plan.h"
#include "control/server/message_bytes.h"
#include "control/status/grpc_status.h"

namespace bfly::control {

// The captures that run. Each is told the time every second.
class RunningCaptures {
 public:
  using Moment = std::chrono::steady_clock::time_point;
  using Tell = std::function<void(Moment now)>;

  void Add(const void* capture, Tell tell) {
    const std::lock_guard lock(mutex_);
    running_[capture] = std::move(tell);
  }
  // Waits until nobody tells the capture anything.
  void Remove(const void* capture) {
    const std::lock_guard lock(mutex_);
    running_.erase(capture);
  }
  void TellAll() {
    const std::lock_guard lock(mutex_);
    const Moment now = std::chrono::steady_clock::now();
    for (const auto& [capture, tell] : std::map<const void*, Tell>(running_)) {
      // The capture that was told before may have ended others.
      if (running_.contains(capture)) tell(now);
    }
  }

 private:
  // Recursive, because gRPC may end a call on the thread that cancels it. No thread holds another
  // lock when it takes this one.
  std::recursive_mutex mutex_;
  std::map<const void*, Tell> running_;  // mutex_
};

namespace {

using Moment = RunningCaptures::Moment;

constexpr size_t kMostCaptureRequest = 256 << 10;
// A data plane ends a capture by itself. This is how much later it is given up.
constexpr std::chrono::seconds kCapturePatience{60};
// A data plane sends a message every second. One that has been silent for so long when its time is
// over is given up at once.
constexpr std::chrono::seconds kSilence{5};
constexpr std::chrono::seconds kSilenceLook{1};

absl::Status ParseCapture(const grpc::ByteBuffer& bytes, v1::CaptureRequest* request) {
  if (bytes.Length() > kMostCaptureRequest) {
    return absl::ResourceExhaustedError(absl::StrCat("the message has ", bytes.Length(),
                                                     " bytes, at most ", kMostCaptureRequest,
                                                     " are allowed"));
  }
  return Parse(bytes, request);
}

// One capture: a stream from each data plane, passed on as they come once every data plane has
// begun. A data plane's next message is read when the one before has been written, so a slow client
// holds up no more than one message of each. gRPC calls it from its threads. The call is finished
// when the data planes' streams have ended, so that OnDone comes after everything else and a server
// that shuts down waits for all of it.
class CaptureStream final : public grpc::ServerWriteReactor<grpc::ByteBuffer> {
 public:
  CaptureStream(grpc::CallbackServerContext* context, StalledCalls& stalled, Controller& controller,
                ScheduleControl& schedules, RunningCaptures& all, const AgentCaller& caller,
                const grpc::ByteBuffer& bytes)
      : stalled_(stalled, context, &controller.resources().captures),
        controller_(controller),
        all_(all) {
    if (absl::Status status = Begin(schedules, caller, bytes); !status.ok()) End(status);
    all_.Add(this, [this](Moment now) { EndIfSilent(now); });
  }

  void OnWriteDone(bool ok) override {
    Change([&] {
      stalled_.SetSending(false);
      Upstream* const written = std::exchange(writing_, nullptr);
      bytes_.Clear();
      if (!ok) SetEnding(absl::CancelledError("the client has gone"));
      if (left_ == 0) SetEnding(absl::OkStatus());
      GoOn(*written);
    });
  }

  void OnCancel() override { End(absl::CancelledError("cancelled")); }

  void OnDone() override {
    all_.Remove(this);
    if (counted_) controller_.resources().captures.Give();
    delete this;
  }

 private:
  // The stream from one data plane. While nothing is read, a hold keeps gRPC from ending it.
  class Upstream final : public grpc::ClientReadReactor<v1::CaptureBatch> {
   public:
    Upstream(CaptureStream& stream, std::string plane,
             std::unique_ptr<v1::AgentCaptures::Stub> stub)
        : name(std::move(plane)), stream_(stream), stub_(std::move(stub)) {}

    void Begin(const v1::AgentCaptureRequest& request, const std::string& owner) {
      context.AddMetadata(kOwnerMetadata, owner);
      context.set_deadline(std::chrono::system_clock::now() +
                           std::chrono::seconds(request.max_seconds()) + kCapturePatience);
      stub_->async()->Capture(&context, &request, this);
      AddHold();
      StartRead(&batch);
      StartCall();
    }
    void OnReadDone(bool ok) override {
      if (ok) return stream_.OnBatch(*this);
      RemoveHold();
    }
    void OnDone(const grpc::Status& status) override { stream_.OnUpstreamDone(*this, status); }

    const std::string name;
    grpc::ClientContext context;
    v1::CaptureBatch batch;  // read, and not written yet
    // CaptureStream::mutex_ guards what follows.
    bool began = false;
    bool ended = false;
    bool reads = true;  // a message is waited for
    Moment reads_since = std::chrono::steady_clock::now();

   private:
    CaptureStream& stream_;
    const std::unique_ptr<v1::AgentCaptures::Stub> stub_;
  };

  absl::Status Begin(ScheduleControl& schedules, const AgentCaller& caller,
                     const grpc::ByteBuffer& bytes) {
    v1::CaptureRequest request;
    if (absl::Status status = ParseCapture(bytes, &request); !status.ok()) return status;
    absl::StatusOr<CapturePlan> plan = PlanCapture(
        request, controller_.intent(),
        [&schedules](const std::set<RowPair>& pairs) { return schedules.TagsOfPairs(pairs); });
    if (!plan.ok()) return plan.status();
    Resource& captures = controller_.resources().captures;
    counted_ = captures.Take();
    if (!counted_) return captures.Exhausted("captures", "end others first");
    for (const std::shared_ptr<DataPlane>& plane : plan->planes) {
      const auto channel = ChannelToAgent(plane->address(), caller.tls);
      if (!channel.ok()) return channel.status();
      upstreams_.push_back(
          std::make_unique<Upstream>(*this, plane->name(), v1::AgentCaptures::NewStub(*channel)));
    }
    if (request.max_frames() != 0) left_ = request.max_frames();
    request_ = std::move(plan->request);
    stalled_.EndAfter(std::chrono::seconds(request_.max_seconds()));
    const std::lock_guard lock(mutex_);
    over_ = std::chrono::steady_clock::now() + std::chrono::seconds(request_.max_seconds());
    running_ = upstreams_.size();
    for (const auto& upstream : upstreams_) upstream->Begin(request_, caller.owner.id());
    return absl::OkStatus();
  }

  void OnBatch(Upstream& upstream) {
    Change([&] {
      upstream.reads = false;
      if (!upstream.batch.began()) {
        queue_.push_back(&upstream);
      } else {
        // The last data plane to begin tells the client so, before any frame of the others.
        upstream.began = true;
        if (++began_ < upstreams_.size()) return GoOn(upstream);
        queue_.push_front(&upstream);
      }
    });
  }

  // A data plane with nothing to copy ends first and well. An error ends the capture.
  void OnUpstreamDone(Upstream& upstream, const grpc::Status& status) {
    Change([&] {
      --running_;
      upstream.ended = true;
      if (!status.ok()) {
        const absl::Status error = FromGrpc(status);
        SetEnding(absl::Status(error.code(),
                               absl::StrCat("data plane ", upstream.name, ": ", error.message())));
      } else if (!upstream.began) {
        SetEnding(absl::InternalError(
            absl::StrCat("data plane ", upstream.name, " ended the capture before it began")));
      }
    });
  }

  // Ends the capture if its time is over and all data planes that have not ended are silent.
  void EndIfSilent(Moment now) {
    Change([&] {
      const Upstream* silent = nullptr;
      for (const auto& upstream : upstreams_) {
        // Copies of the others wait until all have begun.
        const bool waits = upstream->began && began_ < upstreams_.size();
        if (upstream->ended || waits) continue;
        if (!upstream->reads || now < upstream->reads_since + kSilence) return;
        silent = upstream.get();
      }
      if (silent == nullptr || now < over_ + kSilence || writing_ != nullptr) return;
      SetEnding(absl::DeadlineExceededError(absl::StrCat(
          "data plane ", silent->name,
          ": it sends nothing, and the time of the capture is over; its last copies are lost")));
    });
  }

  void End(const absl::Status& status) {
    Change([&] { SetEnding(status); });
  }

  // Calls `change` with mutex_, then writes or finishes if that can be done now.
  template <typename Function>
  void Change(const Function& change) {
    {
      const std::lock_guard lock(mutex_);
      change();
      WriteNext();
      if (!ending_.has_value() || writing_ != nullptr || running_ != 0) return;
      if (std::exchange(finished_, true)) return;
    }
    Finish(ToGrpc(*ending_));  // OnDone may delete the object from here on
  }

  // What follows needs mutex_.

  void WriteNext() {
    if (writing_ != nullptr) return;
    if (ending_.has_value()) {
      for (Upstream* const upstream : queue_) GoOn(*upstream);
      return queue_.clear();
    }
    if (began_ < upstreams_.size()) return;
    if (queue_.empty()) {
      if (running_ == 0) SetEnding(absl::OkStatus());
      return;
    }
    writing_ = queue_.front();
    queue_.pop_front();
    v1::CaptureBatch& batch = writing_->batch;
    if (left_.has_value()) {
      const auto most = static_cast<int>(std::min<uint64_t>(*left_, INT32_MAX));
      if (batch.frames_size() > most) {
        batch.mutable_frames()->DeleteSubrange(most, batch.frames_size() - most);
      }
      *left_ -= static_cast<uint64_t>(batch.frames_size());
    }
    if (batch.frames_size() != 0) NameCircuits(controller_.intent(), request_, &batch);
    bytes_ = Serialize(batch);
    stalled_.SetSending(true);
    StartWrite(&bytes_);
  }

  // The message of a data plane is done with: reads the next one, or lets the stream end.
  void GoOn(Upstream& upstream) {
    if (ending_.has_value()) return upstream.RemoveHold();
    upstream.batch.Clear();
    upstream.reads = true;
    upstream.reads_since = std::chrono::steady_clock::now();
    upstream.StartRead(&upstream.batch);
  }

  void SetEnding(const absl::Status& status) {
    if (ending_.has_value()) return;
    ending_ = status;
    stalled_.EndAfter({});  // a write that the client does not read holds up the end
    for (const auto& upstream : upstreams_) upstream->context.TryCancel();
  }

  StalledCalls::Call stalled_;
  Controller& controller_;
  RunningCaptures& all_;
  bool counted_ = false;  // among the captures
  v1::AgentCaptureRequest request_;
  std::vector<std::unique_ptr<Upstream>> upstreams_;

  std::mutex mutex_;              // guards what follows
  Moment over_;                   // the time of the capture
  size_t running_ = 0;            // data planes' streams
  size_t began_ = 0;              // data planes that copy
  std::deque<Upstream*> queue_;   // with a message to write
  Upstream* writing_ = nullptr;   // whose message is being written
  grpc::ByteBuffer bytes_;        // being written
  std::optional<uint64_t> left_;  // frames; none: no limit
  std::optional<absl::Status> ending_;
  bool finished_ = false;
};

}  // namespace

CapturesService::~CapturesService() = default;

CapturesService::CapturesService(Controller& controller, ScheduleControl& schedules,
                                 AgentCaller caller, CallDesk& desk)
    : ByteService("bfly.v1.Captures", desk),
      controller_(controller),
      schedules_(schedules),
      caller_(std::move(caller)),
      stalled_(desk.stalled()),
      running_(std::make_unique<RunningCaptures>()),
      looks_([this] { running_->TellAll(); }, kSilenceLook) {
  AddServerStream("Capture", Role::kOperator,
                  [this](grpc::CallbackServerContext* context, const grpc::ByteBuffer* bytes) {
                    return new CaptureStream(context, stalled_, controller_, schedules_, *running_,
                                             caller_, *bytes);
                  });
}

}  // namespace bfly::control

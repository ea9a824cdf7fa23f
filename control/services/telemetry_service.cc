// SPDX-License-Identifier: Apache-2.0
#include "control/services/telemetry_service.h"

#include <chrono>
#include <mutex>
#include <optional>

#include "absl/strings/str_cat.h"
#include "control/services/interrupt_of.h"
#include "control/services/link_request.h"
#include "control/status/field_errors.h"
#include "control/status/grpc_status.h"

namespace bfly::control {
namespace {

using std::chrono::milliseconds;

constexpr uint32_t kMinInterval = 10;
constexpr uint32_t kMaxInterval = 60'000;

// A subscriber keeps its request for as long as its stream: gRPC holds the bytes, the subscription
// the message. 64 KiB hold some 20,000 single rows, and the memory holds some 4,000 ranges. A
// filter of more rows is shorter with ranges.
constexpr size_t kLongestSubscribe = 64 << 10;
constexpr size_t kMostSubscribeMemory = 256 << 10;

absl::Status ParseSubscribe(const grpc::ByteBuffer& bytes, v1::SubscribeRequest* request) {
  absl::Status status = CheckLength(bytes, kLongestSubscribe);
  size_t size = 0;
  if (status.ok()) status = ParsedSize(bytes, *v1::SubscribeRequest::descriptor(), &size);
  if (!status.ok()) return status;
  if (size > kMostSubscribeMemory) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the message would take ", size, " bytes of memory, at most ", kMostSubscribeMemory,
        " are allowed; give ranges of rows instead of single rows, "
        "or leave rows out to see all"));
  }
  return Parse(bytes, request);
}

absl::Status CheckRequest(const v1::SubscribeRequest& request) {
  FieldErrors errors;
  if (request.interval_ms() < kMinInterval || request.interval_ms() > kMaxInterval) {
    errors.Add(OutOfRange("interval_ms", request.interval_ms(), kMinInterval, kMaxInterval));
  }
  if (!v1::SubscribeRequest::Mode_IsValid(request.mode())) {
    errors.Add("mode", absl::StrCat(static_cast<int>(request.mode()),
                                    " is unknown; use SAMPLE or ON_CHANGE"));
  }
  return errors.ToStatus();
}

// One subscriber. gRPC calls it from its threads, the poll from its own.
class Subscription final : public grpc::ServerWriteReactor<grpc::ByteBuffer>,
                           public PictureListener {
 public:
  Subscription(grpc::CallbackServerContext* context, CallDesk& desk, CounterPoll& poll,
               PictureBytes& pictures, Resources& resources, const grpc::ByteBuffer& bytes)
      : share_(desk.ShareOf(*context)),
        stalled_(desk.stalled(), context, &resources.subscribers, share_),
        poll_(poll),
        pictures_(pictures),
        resources_(resources) {
    counted_ = resources_.subscribers.Take(1, share_);
    absl::Status status =
        counted_ ? absl::OkStatus()
                 : resources_.subscribers.Exhausted("subscribers", "close others first", share_);
    if (status.ok()) status = ParseSubscribe(bytes, &request_);
    if (status.ok()) status = CheckRequest(request_);
    if (!status.ok()) {
      End(status);
      return;
    }
    on_change_ = request_.mode() == v1::SubscribeRequest::ON_CHANGE;
    // The filter is checked with the first picture, because the network is known only then.
    subscribed_ = true;
    poll_.Subscribe(this, milliseconds(request_.interval_ms()));
  }

  void OnPicture(const PicturePtr& picture) override {
    const std::lock_guard lock(mutex_);
    if (ending_.has_value()) return;
    if (absl::Status status = CheckFilter(request_.filter(), *picture->network); !status.ok()) {
      EndLocked(status);
      return;
    }
    // Others may want pictures more often. A picture that comes a quarter of the interval early is
    // on time.
    const milliseconds interval(request_.interval_ms());
    if (last_sequence_ != 0 && picture->taken - last_taken_ < interval * 3 / 4) return;
    if (!writing_) {
      WriteLocked(picture);
      return;
    }
    if (waiting_) ++skipped_;
    waiting_ = true;
  }

  bool wants_links() const override { return !request_.filter().summary(); }

  void OnEnd(const absl::Status& status) override { End(status); }

  void ForgetBefore(uint64_t sequence) override {
    const std::lock_guard lock(mutex_);
    if (last_ != nullptr && last_->sequence < sequence) last_ = nullptr;
  }

  void OnWriteDone(bool ok) override {
    const std::lock_guard lock(mutex_);
    writing_ = false;
    stalled_.SetSending(false);
    bytes_.Clear();
    sending_ = nullptr;
    if (!ok && !ending_.has_value()) ending_ = absl::CancelledError("the client has gone");
    if (ending_.has_value()) {
      FinishLocked();
      return;
    }
    if (!waiting_) return;
    waiting_ = false;
    if (const PicturePtr newest = poll_.newest()) WriteLocked(newest);
  }

  void OnCancel() override { End(absl::CancelledError("cancelled")); }

  void OnDone() override {
    if (subscribed_) poll_.Unsubscribe(this);
    if (counted_) resources_.subscribers.Give();
    delete this;
  }

 private:
  void WriteLocked(const PicturePtr& picture) {
    // The first picture is full, and so is a picture whose predecessor was forgotten.
    const bool changed_only = on_change_ && last_ != nullptr;
    std::shared_ptr<const PictureMessage> next =
        pictures_.Make(picture, last_, request_.filter(), changed_only);
    if (next == nullptr) {
      ++skipped_;
      return;
    }
    if (changed_only && !next->has_links() && *next->bare() == *bare_) return;
    bare_ = next->bare();
    bytes_ = next->WithSkipped(skipped_);
    sending_ = std::move(next);
    skipped_ = 0;
    last_sequence_ = picture->sequence;
    last_taken_ = picture->taken;
    if (on_change_ || request_.filter().top() != 0) last_ = picture;
    writing_ = true;
    stalled_.SetSending(true);
    StartWrite(&bytes_);
  }

  void End(const absl::Status& status) {
    const std::lock_guard lock(mutex_);
    EndLocked(status);
  }
  void EndLocked(const absl::Status& status) {
    if (ending_.has_value()) return;
    ending_ = status;
    if (!writing_) FinishLocked();
  }
  // Called once, while nothing is being written.
  void FinishLocked() {
    if (finished_) return;
    finished_ = true;
    Finish(ToGrpc(*ending_));
  }

  const Resource::Share share_;  // of the subscribers
  StalledCalls::Call stalled_;
  CounterPoll& poll_;
  PictureBytes& pictures_;
  Resources& resources_;
  // These do not change once the stream is subscribed.
  v1::SubscribeRequest request_;
  bool on_change_ = false;
  bool counted_ = false;  // among the subscribers
  bool subscribed_ = false;

  std::mutex mutex_;  // guards what follows
  bool writing_ = false;
  bool finished_ = false;
  std::optional<absl::Status> ending_;
  grpc::ByteBuffer bytes_;                         // being written
  std::shared_ptr<const PictureMessage> sending_;  // what bytes_ is of
  // Of the picture written last: its number, its time, what it told beside links.
  uint64_t last_sequence_ = 0;
  std::chrono::steady_clock::time_point last_taken_;
  std::shared_ptr<const std::string> bare_;
  PicturePtr last_;       // the same, if the next is compared with it and it was not forgotten
  bool waiting_ = false;  // a picture came while writing
  uint64_t skipped_ = 0;  // pictures that came and were not written
};

}  // namespace

grpc::Status TelemetryService::GetCounters(const grpc::ServerContextBase* context,
                                           const v1::GetCountersRequest* request,
                                           v1::Counters* response) {
  const absl::StatusOr<Controller::View> view = poll_.fabric();
  if (!view.ok()) return ToGrpc(view.status());
  const absl::Status status = CheckLinkRequest(*request, *view->network);
  if (!status.ok()) return ToGrpc(status);
  const Deadline deadline = AnswerDeadlineOf(context);
  // The other half of the time is for the links.
  const absl::StatusOr<PicturePtr> picture = poll_.Now(/*links=*/false, ShareOf(deadline, 2));
  if (!picture.ok()) return ToGrpc(picture.status());
  *response = ToCounters(**picture, nullptr, request->filter(), /*changed_only=*/false);
  return ToGrpc(poll_.links().Read(*request, *view, deadline, response));
}

TelemetryService::TelemetryService(CounterPoll& poll, CallDesk& desk)
    : ByteService("bfly.v1.Telemetry", desk),
      poll_(poll),
      resources_(poll.resources()),
      pictures_(resources_.picture_bytes) {
  AddCall("GetCounters", CallDesk::Lane::kRead, &TelemetryService::GetCounters);
  AddServerStream("Subscribe", Role::kViewer,
                  [this](grpc::CallbackServerContext* context, const grpc::ByteBuffer* bytes) {
                    return new Subscription(context, this->desk(), poll_, pictures_, resources_,
                                            *bytes);
                  });
}

}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
#include "control/services/telemetry_service.h"

#include <chrono>
#include <mutex>
#include <optional>

#include "absl/strings/str_cat.h"
#include "control/status/field_errors.h"
#include "control/status/grpc_status.h"

namespace bfly::control {
namespace {

using std::chrono::milliseconds;

constexpr uint32_t kMinInterval = 10;
constexpr uint32_t kMaxInterval = 60'000;

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
class Subscription final : public grpc::ServerWriteReactor<v1::Counters>, public PictureListener {
 public:
  Subscription(CounterPoll& poll, const v1::SubscribeRequest& request)
      : poll_(poll),
        request_(request),
        on_change_(request.mode() == v1::SubscribeRequest::ON_CHANGE) {
    if (absl::Status status = CheckRequest(request); !status.ok()) {
      End(status);
      return;
    }
    // The filter is checked with the first picture: only then the network is known.
    subscribed_ = true;
    poll_.Subscribe(this, milliseconds(request.interval_ms()));
  }

  void OnPicture(const PicturePtr& picture) override {
    const std::lock_guard lock(mutex_);
    if (ending_.has_value()) return;
    if (absl::Status status = CheckFilter(request_.filter(), *picture->network); !status.ok()) {
      EndLocked(status);
      return;
    }
    // Others may want pictures more often. A quarter of the interval early is on time.
    const milliseconds interval(request_.interval_ms());
    if (last_ != nullptr && picture->taken - last_->taken < interval * 3 / 4) return;
    if (writing_) {
      if (waiting_ != nullptr) ++skipped_;
      waiting_ = picture;
      return;
    }
    WriteLocked(picture);
  }

  void OnEnd(const absl::Status& status) override { End(status); }

  void OnWriteDone(bool ok) override {
    const std::lock_guard lock(mutex_);
    writing_ = false;
    if (!ok && !ending_.has_value()) ending_ = absl::CancelledError("the client has gone");
    if (ending_.has_value()) {
      FinishLocked();
      return;
    }
    if (waiting_ != nullptr) {
      const PicturePtr picture = std::move(waiting_);
      waiting_ = nullptr;
      WriteLocked(picture);
    }
  }

  void OnCancel() override { End(absl::CancelledError("cancelled")); }

  void OnDone() override {
    if (subscribed_) poll_.Unsubscribe(this);
    delete this;
  }

 private:
  void WriteLocked(const PicturePtr& picture) {
    v1::Counters next = ToCounters(*picture, last_.get(), request_.filter(),
                                   /*changed_only=*/on_change_ && last_ != nullptr);
    if (on_change_ && last_ != nullptr && !Differs(next, message_)) return;
    message_ = std::move(next);
    message_.set_skipped(skipped_);
    skipped_ = 0;
    last_ = picture;
    writing_ = true;
    StartWrite(&message_);
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
  // Once, and with no write under way.
  void FinishLocked() {
    if (finished_) return;
    finished_ = true;
    Finish(ToGrpc(*ending_));
  }

  CounterPoll& poll_;
  const v1::SubscribeRequest request_;
  const bool on_change_;
  bool subscribed_ = false;

  std::mutex mutex_;  // guards what follows
  bool writing_ = false;
  bool finished_ = false;
  std::optional<absl::Status> ending_;
  v1::Counters message_;  // being written, or written last
  PicturePtr last_;       // what message_ shows
  PicturePtr waiting_;    // the newest one that came while writing
  uint64_t skipped_ = 0;  // pictures that were replaced while waiting
};

}  // namespace

grpc::Status TelemetryService::GetCounters(grpc::ServerContext*,
                                           const v1::GetCountersRequest* request,
                                           v1::Counters* response) {
  const absl::StatusOr<PicturePtr> picture = poll_.Now(!request->filter().summary());
  if (!picture.ok()) return ToGrpc(picture.status());
  const absl::Status status = CheckFilter(request->filter(), *(*picture)->network);
  if (!status.ok()) return ToGrpc(status);
  *response = ToCounters(**picture, nullptr, request->filter(), /*changed_only=*/false);
  return grpc::Status::OK;
}

grpc::ServerWriteReactor<v1::Counters>* TelemetryService::Subscribe(
    grpc::CallbackServerContext*, const v1::SubscribeRequest* request) {
  return new Subscription(poll_, *request);
}

}  // namespace bfly::control

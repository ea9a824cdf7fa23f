// SPDX-License-Identifier: Apache-2.0
#include "control/services/events_service.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bfly/v1/events.pb.h"
#include "control/events/event_record.h"
#include "control/events/event_words.h"
#include "control/services/written_stream.h"
#include "control/status/field_errors.h"

namespace bfly::control {
namespace {

constexpr size_t kMaxEventsRequest = 4 << 10;

absl::Status ParseEventsRequest(const grpc::ByteBuffer& bytes, v1::WatchEventsRequest* request) {
  if (bytes.Length() > kMaxEventsRequest) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the message has ", bytes.Length(), " bytes, at most ", kMaxEventsRequest, " are allowed"));
  }
  return Parse(bytes, request);
}

std::string NamesOfKinds() {
  return absl::StrJoin(EventKinds(), ", ", [](std::string* out, v1::Event::Kind kind) {
    absl::StrAppend(out, v1::Event::Kind_Name(kind));
  });
}

absl::Status CheckEventsRequest(const v1::WatchEventsRequest& request) {
  FieldErrors errors;
  for (int i = 0; i < request.kinds_size(); ++i) {
    const int kind = request.kinds(i);
    if (kind != 0 && v1::Event::Kind_IsValid(kind)) continue;
    errors.Add(absl::StrCat("kinds[", i, "]"),
               absl::StrCat(kind, " is unknown; use ", NamesOfKinds()));
  }
  if (!v1::Event::Severity_IsValid(request.severity())) {
    errors.Add("severity", absl::StrCat(static_cast<int>(request.severity()),
                                        " is unknown; use DEBUG, INFO, WARNING or ERROR"));
  }
  return errors.ToStatus();
}

// One client. The log is the queue: the stream reads the next event from it once the one before is
// written.
class EventStream final : public WrittenStream, public EventListener {
 public:
  // `parsed` says what was wrong with the bytes of the request.
  EventStream(EventLog& events, Resources& resources, WatchWriter& writer, CallDesk& desk,
              grpc::CallbackServerContext* context, const v1::WatchEventsRequest& request,
              absl::Status parsed)
      : WrittenStream(writer, desk, context, resources.event_streams),
        events_(events),
        streams_(resources.event_streams),
        past_only_(request.past_only()) {
    absl::Status status = std::move(parsed);
    if (status.ok()) status = CheckEventsRequest(request);
    if (status.ok()) {
      counted_ = streams_.Take(1, share_);
      if (!counted_) status = streams_.Exhausted("event streams", "close others first", share_);
    }
    if (status.ok()) status = Begin(request);
    if (!status.ok()) {
      End(status);
      return;
    }
    events_.Listen(this);
    listening_ = true;
    Wake();
  }

  void OnEvents() override { Wake(); }

 private:
  absl::Status Begin(const v1::WatchEventsRequest& request) {
    EventLog::Filter filter{.past_only = request.past_only()};
    for (const int kind : request.kinds()) {
      filter.kinds.push_back(static_cast<v1::Event::Kind>(kind));
    }
    filter.least = request.severity();
    if (request.has_since()) filter.since = request.since();
    // What an earlier run numbered says nothing here: all events of this run are new to the client.
    const bool other_run = !request.run_id().empty() && request.run_id() != events_.run_id();
    if (other_run && filter.since.has_value()) filter.since = 0;
    const EventLog::Begin begin = events_.BeginAt(filter);
    if (filter.since.value_or(0) > begin.newest) {
      return ErrorAtField(
          absl::StatusCode::kInvalidArgument, "since",
          absl::StrCat(*filter.since, " is above the newest event, ", begin.newest,
                       "; if the number is of an earlier run of the controller, give run_id too"));
    }
    cursor_ = begin.cursor;
    v1::Event began;
    began.set_sequence(begin.newest);
    began.set_severity(v1::Event::DEBUG);
    began.set_missed(begin.missed);
    began.mutable_began()->set_oldest(begin.oldest);
    began.mutable_began()->set_newest(begin.newest);
    began_ = began;
    end_ = std::move(began);
    return absl::OkStatus();
  }

  std::optional<grpc::ByteBuffer> NextLocked() override {
    v1::Event event;
    if (began_.has_value()) {
      event = *std::exchange(began_, std::nullopt);
    } else if (const std::optional<EventLog::Next> next = events_.Read(cursor_)) {
      event = *next->event;
      event.set_missed(next->missed);
      event.set_text(WordsOf(event));
    } else if (const uint64_t missed = past_only_ ? events_.MissedAtEnd(cursor_) : 0; missed > 0) {
      event = end_;
      event.set_missed(missed);
    } else {
      if (past_only_) EndLocked(absl::OkStatus());
      return std::nullopt;
    }
    event.set_run_id(events_.run_id());
    return Serialize(event);
  }

  void Leave() override {
    if (listening_) events_.Unlisten(this);
    if (counted_) streams_.Give();
  }

  EventLog& events_;
  Resource& streams_;
  const bool past_only_;
  bool counted_ = false;
  bool listening_ = false;
  EventCursor cursor_;              // mutex_
  std::optional<v1::Event> began_;  // mutex_; not told yet
  v1::Event end_;                   // mutex_; `began` again, if the last events are missing
};

}  // namespace

EventsService::EventsService(EventLog& events, Resources& resources, CallDesk& desk)
    : ByteService("bfly.v1.Events", desk), events_(events), resources_(resources) {
  AddServerStream("Watch", Role::kViewer,
                  [this](grpc::CallbackServerContext* context, const grpc::ByteBuffer* bytes) {
                    v1::WatchEventsRequest request;
                    absl::Status parsed = ParseEventsRequest(*bytes, &request);
                    return new EventStream(events_, resources_, writer_, this->desk(), context,
                                           request, std::move(parsed));
                  });
}

}  // namespace bfly::control

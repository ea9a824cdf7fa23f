// SPDX-License-Identifier: Apache-2.0
// A client of Events, and a control plane that it watches.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "tests/control/circuits_fixture.h"

namespace bfly::control {

// A client. Its first message is always `began`.
class EventWatcher {
 public:
  explicit EventWatcher(TestController& controller, const v1::WatchEventsRequest& request = {})
      : stream_((SetDeadline(context_), controller.events->Watch(&context_, request))) {
    if (stream_->Read(&began_)) {
      EXPECT_TRUE(began_.has_began());
    }
  }
  ~EventWatcher() {
    context_.TryCancel();
    if (!ended_) static_cast<void>(stream_->Finish());
  }
  const v1::Event& began() const { return began_; }
  // Nothing: the stream has ended.
  std::optional<v1::Event> Next() {
    v1::Event event;
    if (!stream_->Read(&event)) return std::nullopt;
    return event;
  }
  // The next event of the kind. Others are passed over.
  v1::Event Next(v1::Event::Kind kind) {
    while (const auto event = Next()) {
      if (static_cast<int>(event->what_case()) == kind) return *event;
    }
    ADD_FAILURE() << "the stream ended before an event of kind " << kind;
    return {};
  }
  absl::Status End() {
    while (Next()) {
    }
    ended_ = true;
    return FromGrpc(stream_->Finish());
  }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<v1::Event>> stream_;
  bool ended_ = false;
  v1::Event began_;
};

inline v1::WatchEventsRequest OnlyEvents(v1::Event::Kind kind, std::optional<uint64_t> since = {}) {
  v1::WatchEventsRequest request;
  request.add_kinds(kind);
  if (since.has_value()) request.set_since(*since);
  return request;
}

class EventsServiceTest : public CircuitsServiceTest {
 protected:
  void StartEmpty() {
    agent_ = std::make_unique<TestAgent>(directory_.path(), "dp0", FakeBackend(board_, "dp0"));
    controller_ = std::make_unique<TestController>(directory_.path());
  }
  absl::Status SetLink(int stage, Row row, bool up) {
    v1::SetLinkStateRequest request;
    request.set_stage(static_cast<uint32_t>(stage));
    request.set_row(row);
    request.set_up(up);
    return Call(*controller_->fabric, &v1::Fabric::Stub::SetLinkState, request).status();
  }
};

}  // namespace bfly::control

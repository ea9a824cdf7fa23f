// SPDX-License-Identifier: Apache-2.0
// A data plane that holds a schedule, and a controller whose schedule is looked at when a test
// says.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "bfly/v1/schedules.grpc.pb.h"
#include "control/controller/schedule_control.h"
#include "control/controller/schedule_request.h"
#include "tests/control/service_fixture.h"

namespace bfly::control {

// Holds a schedule as a data plane does, without slots and clocks.
class FakeSchedules final : public v1::AgentSchedules::Service {
 public:
  grpc::Status Set(grpc::ServerContext*, const v1::AgentScheduleRequest* request,
                   v1::AgentScheduleResponse*) override {
    std::unique_lock lock(mutex_);
    ++asked_;
    const std::string& slot = request->schedule().slot();
    if (refusal_ != grpc::StatusCode::OK && (refused_slot_.empty() || refused_slot_ == slot)) {
      if (takes_all_the_same_) held_ = *request;
      return {refusal_, "no memory for queues"};
    }
    held_ = *request;
    PassGate(lock);
    return grpc::Status::OK;
  }
  grpc::Status Stop(grpc::ServerContext*, const v1::AgentScheduleStopRequest*,
                    v1::AgentScheduleStopResponse* response) override {
    std::unique_lock lock(mutex_);
    if (end_refusal_ != grpc::StatusCode::OK) return {end_refusal_, "it hangs"};
    if (!held_.has_value()) return grpc::Status::OK;  // as a data plane does
    held_.reset();
    response->mutable_counters()->set_no_slot(3);
    PassGate(lock);
    return grpc::Status::OK;
  }
  grpc::Status Get(grpc::ServerContext*, const v1::AgentScheduleStateRequest*,
                   v1::AgentScheduleState* response) override {
    const std::lock_guard lock(mutex_);
    if (held_.has_value()) *response->mutable_running() = *held_;
    return grpc::Status::OK;
  }
  // Set answers this from now on to a schedule with slots of this length; empty: to every one.
  void Answer(grpc::StatusCode code, const std::string& slot = "") {
    const std::lock_guard lock(mutex_);
    refusal_ = code;
    refused_slot_ = slot;
    takes_all_the_same_ = false;
  }
  // Stop answers this from now on.
  void AnswerEnd(grpc::StatusCode code) {
    const std::lock_guard lock(mutex_);
    end_refusal_ = code;
  }
  // Set takes the schedule, but its answer, UNAVAILABLE, does not say so.
  void LoseAnswers(const std::string& slot = "") {
    Answer(grpc::StatusCode::UNAVAILABLE, slot);
    const std::lock_guard lock(mutex_);
    takes_all_the_same_ = true;
  }
  // Set and Stop do what they are asked, and answer only once the gate is open again.
  void SetGate(bool open) {
    const std::lock_guard lock(mutex_);
    gate_open_ = open;
    gate_changed_.notify_all();
  }
  bool AnswerWaits() {
    const std::lock_guard lock(mutex_);
    return at_gate_ != 0;
  }
  uint32_t Version() {
    const std::lock_guard lock(mutex_);
    return held_.has_value() ? held_->version() : 0;
  }
  // How often Set was called.
  int asked() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }
  // As after a restart.
  void Lose() {
    const std::lock_guard lock(mutex_);
    held_.reset();
  }
  void Hold(v1::AgentScheduleRequest held) {
    const std::lock_guard lock(mutex_);
    held_ = std::move(held);
  }
  // How long its slots are; empty: none runs.
  std::string Slot() {
    const std::lock_guard lock(mutex_);
    return held_.has_value() ? held_->schedule().slot() : "";
  }

 private:
  // At most two minutes.
  void PassGate(std::unique_lock<std::mutex>& lock) {
    ++at_gate_;
    gate_changed_.wait_for(lock, std::chrono::minutes(2), [this] { return gate_open_; });
    --at_gate_;
  }

  std::mutex mutex_;
  std::condition_variable gate_changed_;
  bool gate_open_ = true;                                // mutex_
  int at_gate_ = 0;                                      // mutex_; answers that wait
  std::optional<v1::AgentScheduleRequest> held_;         // mutex_
  grpc::StatusCode refusal_ = grpc::StatusCode::OK;      // mutex_
  std::string refused_slot_;                             // mutex_
  grpc::StatusCode end_refusal_ = grpc::StatusCode::OK;  // mutex_
  bool takes_all_the_same_ = false;                      // mutex_
  int asked_ = 0;                                        // mutex_
};

inline v1::Schedule RotorOf(const std::string& slot) {
  v1::Schedule schedule;
  schedule.set_sequence(v1::Schedule::ROTOR);
  schedule.set_slot(slot);
  EXPECT_TRUE(CheckScheduleRequest(&schedule).ok());
  return schedule;
}

// As a data plane has it that was not asked for the circuits.
inline v1::AgentScheduleRequest HeldRotor(const std::string& slot) {
  v1::AgentScheduleRequest held;
  held.set_id(1);
  held.set_version(1);
  *held.mutable_schedule() = RotorOf(slot);
  return held;
}

// The controller's thread does not look again before a call comes.
class UnlookedScheduleTest : public testing::Test {
 protected:
  UnlookedScheduleTest() { EXPECT_TRUE(Load(controller_, SmallTopology()).ok()); }
  absl::Status Start(const std::string& slot, bool replace) {
    return StartAt(schedules_, slot, replace);
  }
  static absl::Status StartAt(ScheduleControl& schedules, const std::string& slot, bool replace) {
    v1::StartScheduleRequest request;
    *request.mutable_schedule() = RotorOf(slot);
    request.set_replace(replace);
    return schedules.Start(request, InAMinute(), {}).status();
  }
  LoadedIntent& intent() { return controller_.controller().intent(); }
  // Expects that `looks` shows the schedule with slots of 7 ms as one that the data plane refuses.
  static void ExpectKeptAndRefused(ScheduleControl& looks) {
    v1::GetScheduleResponse now;
    EXPECT_TRUE(Eventually([&] {
      const auto got = looks.Get(InAMinute());
      if (got.ok()) now = *got;
      return !now.kept_problem().empty();
    }));
    EXPECT_FALSE(now.has_status());
    EXPECT_EQ(now.kept().slot(), "7ms");
    EXPECT_THAT(now.kept_problem(), testing::HasSubstr("no memory for queues"));
  }
  // Another fabric over the same data plane takes the place of the one that the thread may have
  // looked at, with what was kept of it.
  void Resume(std::optional<v1::Schedule> kept) {
    const std::lock_guard change(intent().change_lock());
    const Intent& before = intent().now();
    auto next = MakeIntent(before.topology, directory_.path(), {}, before.planes, 0);
    ASSERT_TRUE(next.ok()) << next.status();
    (*next)->schedule = std::move(kept);
    intent().Replace(*std::move(next));
  }
  std::string Kept() {
    std::string slot;
    intent()
        .Read([&](const Intent& intent) {
          if (intent.schedule.has_value()) slot = intent.schedule->slot();
        })
        .IgnoreError();
    return slot;
  }

  TemporaryFolder directory_;
  FakeBoard board_;
  FakeSchedules held_;
  TestAgent agent_{directory_.path(), "dp0", FakeBackend(board_, "dp0"), &held_};
  TestController controller_{directory_.path()};
  ScheduleControl schedules_{
      intent(), ScheduleControl::Options{.caller = {}, .watch_interval = std::chrono::hours(1)}};
};

}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
// Notes as events that stage workers begin and end a program.
#pragma once

#include <chrono>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "control/events/event_log.h"

namespace bfly::control {

class ProgramNote {
 public:
  ProgramNote(EventLog& events, v1::Event::Severity severity, std::string program)
      : events_(events), severity_(severity), program_(std::move(program)) {
    Add(v1::ProgramEvent::BEGUN, absl::OkStatus());
  }
  void End(const absl::Status& status) { Add(v1::ProgramEvent::ENDED, status); }

 private:
  void Add(v1::ProgramEvent::Change change, const absl::Status& status) {
    v1::Event event;
    event.set_severity(severity_);
    v1::ProgramEvent& what = *event.mutable_program();
    what.set_change(change);
    what.set_program(program_);
    if (change == v1::ProgramEvent::ENDED) {
      what.set_seconds(
          std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count());
      what.set_reason(std::string(status.message()));
    }
    events_.Add(std::move(event));
  }

  EventLog& events_;
  const v1::Event::Severity severity_;
  const std::string program_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace bfly::control

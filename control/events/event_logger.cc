// SPDX-License-Identifier: Apache-2.0
#include "control/events/event_logger.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/events/event_record.h"

namespace bfly::control {
namespace {

v1::Event::Severity SeverityOf(LogLevel level) {
  switch (level) {
    case LogLevel::kError:
      return v1::Event::ERROR;
    case LogLevel::kWarning:
      return v1::Event::WARNING;
    case LogLevel::kInfo:
      return v1::Event::INFO;
    default:
      return v1::Event::DEBUG;
  }
}

}  // namespace

EventLogger::EventLogger(EventLog& events, LogLevel level,
                         std::function<void(const LogRecord&)> write)
    : events_(events),
      write_(std::move(write)),
      cursor_(events.BeginAt({.least = SeverityOf(level), .since = 0}).cursor),
      thread_([this] { Run(); }) {
  events_.Listen(this);
}

EventLogger::~EventLogger() {
  events_.Unlisten(this);
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void EventLogger::OnEvents() {
  const std::lock_guard lock(mutex_);
  news_ = true;
  changed_.notify_all();
}

void EventLogger::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return news_ || stopping_; });
    const bool last = stopping_;
    news_ = false;
    lock.unlock();
    WriteNew();
    if (last) return;
    lock.lock();
  }
}

void EventLogger::WriteNew() {
  while (const std::optional<EventLog::Next> next = events_.Read(cursor_)) {
    if (next->missed != 0) {
      write_({.level = LogLevel::kWarning,
              .text = absl::StrCat(next->missed, " events came too fast to be logged"),
              .fields = {{"missed", next->missed}}});
    }
    write_(RecordOf(*next->event));
  }
}

}  // namespace bfly::control

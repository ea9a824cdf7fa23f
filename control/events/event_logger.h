// SPDX-License-Identifier: Apache-2.0
// Logs every event, by a thread of its own: whoever adds events, perhaps with locks held, never
// waits for the journal or for a full pipe.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "control/events/event_log.h"
#include "control/log/log_record.h"

namespace bfly::control {

class EventLogger final : public EventListener {
 public:
  // Writes the events that there are and all that come, from `level` on. `events` must outlive the
  // object.
  EventLogger(EventLog& events, LogLevel level, std::function<void(const LogRecord&)> write);
  // Writes what waits.
  ~EventLogger() override;

  void OnEvents() override;

 private:
  void Run();
  void WriteNew();

  EventLog& events_;
  const std::function<void(const LogRecord&)> write_;
  EventCursor cursor_;  // thread_
  std::mutex mutex_;
  std::condition_variable changed_;
  bool news_ = true;       // mutex_
  bool stopping_ = false;  // mutex_
  std::thread thread_;     // last: it uses the rest
};

}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
// What happened to the fabric: the newest events of each kind and severity, numbered from 1 over
// all kinds. Everybody who wants to hear of them reads from here at his own pace, so nobody holds
// up those who add events.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "bfly/v1/events.pb.h"

namespace bfly::control {

using EventPtr = std::shared_ptr<const v1::Event>;

// It is told with a lock held: it must not call back, nor block.
class EventListener {
 public:
  virtual ~EventListener() = default;
  // There are events that were not there before.
  virtual void OnEvents() = 0;
};

class EventLog;

// How far a reader has read. One thread at a time uses it.
class EventCursor {
 private:
  friend class EventLog;
  static constexpr size_t kSeverities = v1::Event::Severity_MAX;
  static constexpr size_t kKinds = v1::Event::Kind_MAX - v1::Event::TOPOLOGY + 1;
  static constexpr size_t kRings = kKinds * kSeverities;
  std::array<bool, kRings> wanted_{};
  // By ring: the number, among the events that were ever in the ring, of the one that is next.
  std::array<uint64_t, kRings> next_{};
  std::array<uint64_t, kRings> past_{};  // by ring: how many were ever in it when the reader began
  uint64_t end_ = UINT64_MAX;            // events above this number are not read
};

// Thread-safe.
class EventLog {
 public:
  struct Options {
    // Of each kind and severity so many events are kept, so that changes of circuits, of which
    // there are many, do not drive out the others.
    size_t most_of_a_kind = 256;
    std::function<std::chrono::system_clock::time_point()> time_of_day =
        std::chrono::system_clock::now;
  };
  EventLog() : EventLog(Options()) {}
  explicit EventLog(Options options);

  // The name of this run: another EventLog has another one.
  const std::string& run_id() const { return run_id_; }

  // Numbers the event, keeps it and tells listeners. `event` has its severity and one of the kinds.
  void Add(v1::Event event);
  // Adds a notice.
  void Note(v1::Event::Severity severity, std::string text, const std::string& data_plane = "");

  // Which events a reader gets: those that fit all fields.
  struct Filter {
    std::vector<v1::Event::Kind> kinds = {};  // empty: all
    v1::Event::Severity least = v1::Event::SEVERITY_UNSPECIFIED;
    // Events after this one; none: new events only.
    std::optional<uint64_t> since = {};
    bool past_only = false;
  };
  struct Begin {
    EventCursor cursor;
    // The events after `since` that are no longer kept. The filter may want fewer of them.
    uint64_t missed = 0;
    uint64_t oldest = 0, newest = 0;
  };
  Begin BeginAt(const Filter& filter) const;

  struct Next {
    EventPtr event;
    uint64_t missed = 0;  // wanted events that were dropped before this one
  };
  // Returns the next event that the reader wants, and steps over it. Nothing: there is none yet,
  // or, with past_only, none any more.
  std::optional<Next> Read(EventCursor& cursor) const;
  // With past_only, after the last event: returns how many wanted events of the past were dropped
  // after that one.
  uint64_t MissedAtEnd(EventCursor& cursor) const;

  void Listen(EventListener* listener);
  // The listener is not called any more once this has returned.
  void Unlisten(EventListener* listener);

 private:
  // The events of one kind and severity.
  struct Ring {
    std::deque<EventPtr> events;
    uint64_t dropped = 0;         // so many stood before the first of them
    uint64_t newest_dropped = 0;  // the number of the last of those; 0: there is none
  };
  static size_t RingOf(const v1::Event& event);

  const Options options_;
  const std::string run_id_;
  mutable std::mutex mutex_;  // guards what follows
  uint64_t newest_ = 0;
  std::array<Ring, EventCursor::kRings> rings_;
  std::vector<EventListener*> listeners_;
};

}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
#include "control/events/event_log.h"

#include <algorithm>
#include <random>
#include <utility>

#include "absl/strings/str_format.h"
#include "control/events/event_record.h"

namespace bfly::control {
namespace {

std::string NewRunId() {
  std::random_device random;
  return absl::StrFormat("%08x%08x", random(), random());
}

}  // namespace

EventLog::EventLog(Options options) : options_(std::move(options)), run_id_(NewRunId()) {}

size_t EventLog::RingOf(const v1::Event& event) {
  const auto kind = static_cast<size_t>(event.what_case()) - size_t{v1::Event::TOPOLOGY};
  return kind * EventCursor::kSeverities + event.severity() - 1;
}

void EventLog::Add(v1::Event event) {
  CutEvent(&event);
  event.set_time_ns(std::chrono::duration_cast<std::chrono::nanoseconds>(
                        options_.time_of_day().time_since_epoch())
                        .count());
  const auto added = std::make_shared<v1::Event>(std::move(event));
  const std::lock_guard lock(mutex_);
  added->set_sequence(++newest_);
  Ring& ring = rings_[RingOf(*added)];
  ring.events.push_back(added);
  if (ring.events.size() > options_.most_of_a_kind) {
    ring.newest_dropped = ring.events.front()->sequence();
    ++ring.dropped;
    ring.events.pop_front();
  }
  for (EventListener* listener : listeners_) listener->OnEvents();
}

void EventLog::Note(v1::Event::Severity severity, std::string text, const std::string& data_plane) {
  v1::Event event;
  event.set_severity(severity);
  event.mutable_notice()->set_text(std::move(text));
  event.mutable_notice()->set_data_plane(data_plane);
  Add(std::move(event));
}

EventLog::Begin EventLog::BeginAt(const Filter& filter) const {
  Begin begin;
  EventCursor& cursor = begin.cursor;
  const auto wants = [&](size_t ring) {
    const auto kind =
        static_cast<v1::Event::Kind>(ring / EventCursor::kSeverities + v1::Event::TOPOLOGY);
    const auto severity = static_cast<int>(ring % EventCursor::kSeverities) + 1;
    return severity >= filter.least &&
           (filter.kinds.empty() ||
            std::find(filter.kinds.begin(), filter.kinds.end(), kind) != filter.kinds.end());
  };
  const std::lock_guard lock(mutex_);
  const uint64_t since = std::min(filter.since.value_or(newest_), newest_);
  begin.newest = newest_;
  uint64_t after = 0;  // events after `since` that are kept
  uint64_t missed = 0;
  for (size_t i = 0; i < rings_.size(); ++i) {
    const Ring& ring = rings_[i];
    const auto first =
        std::partition_point(ring.events.begin(), ring.events.end(),
                             [since](const EventPtr& event) { return event->sequence() <= since; });
    after += ring.events.end() - first;
    if (!ring.events.empty() &&
        (begin.oldest == 0 || ring.events.front()->sequence() < begin.oldest)) {
      begin.oldest = ring.events.front()->sequence();
    }
    cursor.wanted_[i] = wants(i);
    cursor.next_[i] = ring.dropped + (first - ring.events.begin()) + 1;
    cursor.past_[i] = ring.dropped + ring.events.size();
    if (cursor.wanted_[i] && ring.newest_dropped > since) {
      missed += std::min(ring.dropped, ring.newest_dropped - since);
    }
  }
  begin.missed = std::min(missed, newest_ - since - after);
  if (filter.past_only) cursor.end_ = newest_;
  return begin;
}

std::optional<EventLog::Next> EventLog::Read(EventCursor& cursor) const {
  const std::lock_guard lock(mutex_);
  Next next;
  size_t of = 0;
  for (size_t i = 0; i < rings_.size(); ++i) {
    if (!cursor.wanted_[i]) continue;
    const Ring& ring = rings_[i];
    const uint64_t at = std::max(cursor.next_[i], ring.dropped + 1) - ring.dropped - 1;
    if (at >= ring.events.size()) continue;
    const EventPtr& event = ring.events[at];
    if (next.event != nullptr && next.event->sequence() < event->sequence()) continue;
    next.event = event;
    of = i;
  }
  if (next.event == nullptr || next.event->sequence() > cursor.end_) return std::nullopt;
  for (size_t i = 0; i < rings_.size(); ++i) {
    const Ring& ring = rings_[i];
    if (!cursor.wanted_[i] || cursor.next_[i] > ring.dropped) continue;
    // Others, newer than this event, are told with an event after them.
    if (ring.newest_dropped > next.event->sequence()) continue;
    next.missed += ring.dropped + 1 - cursor.next_[i];
    cursor.next_[i] = ring.dropped + 1;
  }
  ++cursor.next_[of];
  return next;
}

uint64_t EventLog::MissedAtEnd(EventCursor& cursor) const {
  const std::lock_guard lock(mutex_);
  uint64_t missed = 0;
  for (size_t i = 0; i < rings_.size(); ++i) {
    if (!cursor.wanted_[i]) continue;
    // Some of those that were dropped may be newer than the past.
    const uint64_t dropped = std::min(rings_[i].dropped, cursor.past_[i]);
    if (cursor.next_[i] > dropped) continue;
    missed += dropped + 1 - cursor.next_[i];
    cursor.next_[i] = dropped + 1;
  }
  return missed;
}

void EventLog::Listen(EventListener* listener) {
  const std::lock_guard lock(mutex_);
  listeners_.push_back(listener);
}

void EventLog::Unlisten(EventListener* listener) {
  const std::lock_guard lock(mutex_);
  std::erase(listeners_, listener);
}

}  // namespace bfly::control

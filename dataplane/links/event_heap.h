// SPDX-License-Identifier: Apache-2.0
// The times at which the next packet of each link arrives at its other end, earliest first. A link
// without packets is not in the heap.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

namespace bfly::dataplane {

class EventHeap {
 public:
  explicit EventHeap(uint32_t links)
      : events_(std::make_unique_for_overwrite<Event[]>(links)),
        place_(std::make_unique<uint32_t[]>(links)) {}

  static constexpr size_t BytesPerLink() { return sizeof(Event) + sizeof(uint32_t); }

  bool empty() const { return count_ == 0; }
  uint32_t size() const { return count_; }
  uint64_t time() const { return events_[0].time; }
  uint32_t link() const { return events_[0].link; }
  uint32_t link_at(uint32_t i) const { return events_[i].link; }

  // The link's event is at `time` from now on.
  void Set(uint32_t link, uint64_t time) {
    if (place_[link] == 0) {
      place_[link] = ++count_;
      events_[count_ - 1] = {time, link};
      Up(count_ - 1);
      return;
    }
    const uint32_t at = place_[link] - 1;
    const bool earlier = time < events_[at].time;
    events_[at].time = time;
    earlier ? Up(at) : Down(at);
  }

  void Remove(uint32_t link) {
    if (place_[link] == 0) return;
    const uint32_t at = place_[link] - 1;
    place_[link] = 0;
    if (at == --count_) return;
    Put(at, events_[count_]);
    Down(at);
    Up(at);
  }

 private:
  struct Event {
    uint64_t time;
    uint32_t link;
    // Links with equal times are ordered by their numbers, so that runs are reproducible.
    bool Before(const Event& other) const {
      return time < other.time || (time == other.time && link < other.link);
    }
  };

  void Put(uint32_t at, Event event) {
    events_[at] = event;
    place_[event.link] = at + 1;
  }
  void Up(uint32_t at) {
    const Event event = events_[at];
    for (; at > 0 && event.Before(events_[(at - 1) / 2]); at = (at - 1) / 2) {
      Put(at, events_[(at - 1) / 2]);
    }
    Put(at, event);
  }
  void Down(uint32_t at) {
    const Event event = events_[at];
    for (uint32_t child; (child = 2 * at + 1) < count_; at = child) {
      if (child + 1 < count_ && events_[child + 1].Before(events_[child])) ++child;
      if (!events_[child].Before(event)) break;
      Put(at, events_[child]);
    }
    Put(at, event);
  }

  std::unique_ptr<Event[]> events_;
  // For each link: its place in events_ plus 1; 0: the link is not there.
  std::unique_ptr<uint32_t[]> place_;
  uint32_t count_ = 0;
};

}  // namespace bfly::dataplane

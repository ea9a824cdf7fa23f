// SPDX-License-Identifier: Apache-2.0
// One link, simulated event by event as in a textbook. The tests compare with the times at which
// packets leave it. It uses nothing of bfly's data plane but the names of the disciplines.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "dataplane/links/link_shape.h"

namespace bfly::dataplane {

struct ReferencePacket {
  long double arrival;
  int bytes;
  int priority;
};

// When each packet leaves, in arrivals' order and unit of time; below 0: it found the queue full.
// A link that becomes free at the moment a packet comes is free for it.
inline std::vector<long double> ReferenceDepartures(const std::vector<ReferencePacket>& packets,
                                                    Discipline discipline,
                                                    long double time_per_byte, size_t queue_limit) {
  constexpr long double kNoEvent = std::numeric_limits<long double>::infinity();
  struct Present {
    size_t packet;
    long double bytes_left;
  };
  std::vector<long double> left(packets.size(), -1);
  std::vector<Present> present;  // in the order they came; one at a time is served but for sharing
  const bool shared = discipline == Discipline::kProcessorSharing;
  size_t next = 0;
  size_t served = 0;  // index in present
  long double now = 0;
  while (next < packets.size() || !present.empty()) {
    long double done_at = kNoEvent;
    if (!present.empty() && shared) {
      served = 0;
      for (size_t i = 1; i < present.size(); ++i) {
        if (present[i].bytes_left < present[served].bytes_left) served = i;
      }
      done_at = now + present[served].bytes_left * time_per_byte *
                          static_cast<long double>(present.size());
    } else if (!present.empty()) {
      done_at = now + present[served].bytes_left * time_per_byte;
    }
    const long double comes_at = next < packets.size() ? packets[next].arrival : kNoEvent;
    const long double event = std::min(done_at, comes_at);
    if (time_per_byte > 0) {
      for (size_t i = 0; i < present.size(); ++i) {
        if (shared) {
          present[i].bytes_left -=
              (event - now) / (time_per_byte * static_cast<long double>(present.size()));
        } else if (i == served) {
          present[i].bytes_left -= (event - now) / time_per_byte;
        }
      }
    }
    now = event;
    if (done_at <= comes_at) {
      left[present[served].packet] = now;
      present.erase(present.begin() + static_cast<ptrdiff_t>(served));
      served = 0;
      if (discipline == Discipline::kPriority) {
        for (size_t i = 1; i < present.size(); ++i) {
          if (packets[present[i].packet].priority > packets[present[served].packet].priority) {
            served = i;
          }
        }
      }
      continue;
    }
    if (queue_limit == 0 || present.size() <= queue_limit) {
      present.push_back({next, static_cast<long double>(packets[next].bytes)});
    }
    ++next;
  }
  return left;
}

}  // namespace bfly::dataplane

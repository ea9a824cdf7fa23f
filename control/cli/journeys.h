// SPDX-License-Identifier: Apache-2.0
// Puts the copies of one frame at the links of its path together.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "bfly/v1/capture.pb.h"

namespace bfly::control {

// One frame on its way from row to row.
struct Journey {
  v1::CapturedFrame first;  // the copy that came first; what it says of the frame holds everywhere
  std::string data_plane;   // of this copy
  uint64_t entered_ns = 0;  // Unix time
  uint64_t seen_ns = 0;     // Unix time at which the frame came to the last of these places
  std::map<uint32_t, v1::CapturedFrame> hops;
  bool has_left = false;
  bool is_dropped = false;  // at the output, whose row has no port
  v1::CapturedFrame left;   // at the output, also of a frame that is dropped there
};

class Journeys {
 public:
  // At most `most` frames are followed at a time. When they are so many, two kinds of frames make
  // room for another one: frames that came nowhere for two seconds, because they may be lost, and
  // frames that were not seen at their first link, because they may have come to the end of the
  // path by another way.
  explicit Journeys(size_t most) : most_(most) {}
  // How many links every path has. Call it before Add: no journey is complete before it is known.
  void SetHops(uint32_t hops) { hops_ = hops; }

  // A copy is of the journey that has the same bytes, lacks this hop, and entered at the same time:
  // to some nanoseconds at one data plane, and to 10 ms at several, whose clocks differ.
  void Add(const v1::CapturedFrame& frame, const std::string& data_plane);

  // Journeys with all hops and an end, in the order in which they ended.
  const std::vector<Journey>& complete() const { return complete_; }
  // Journeys with all hops of frames that were dropped at the output, in the same order.
  const std::vector<Journey>& dropped() const { return dropped_; }
  // How many frames were followed to their end, also those that were dropped there.
  size_t ended() const { return complete_.size() + dropped_.size(); }
  // The others, in the order in which they began.
  const std::vector<Journey>& open() const { return open_; }
  // Those of them that were seen at their first link.
  std::vector<Journey> begun() const;

 private:
  // Whether another journey may begin, of a frame that is seen at this Unix time.
  bool MakeRoom(uint64_t now_ns);

  uint32_t hops_ = 0;
  const size_t most_;
  std::vector<Journey> open_;
  std::vector<Journey> complete_;
  std::vector<Journey> dropped_;
};

}  // namespace bfly::control

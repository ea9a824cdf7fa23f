// SPDX-License-Identifier: Apache-2.0
// Which frames a trial sends: all of one size, or a mix.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace bfly::control {

// Sizes in bytes with the Ethernet header and without the FCS, as everywhere in bfly. RFC 2544
// counts the FCS, 4 bytes more.
struct FrameShare {
  uint32_t bytes = 0;
  double share = 0;  // of the frames; shares add up to 1
};

struct FrameMix {
  std::string name;
  std::vector<FrameShare> frames;
  double mean_bytes() const;
};

// Frames of this size that a row sends in a trial at `load` frames a second of all sizes: at least
// one.
uint64_t FramesOfTrial(const FrameShare& frame, double load, double seconds);
// How long a row takes to send them all: longer than the trial where the load is less than one
// frame of a size a trial.
double SecondsToSend(const FrameMix& mix, double load, double seconds);

// A look at a sender: it had sent `frames` when `seconds` had gone by since its start.
struct FramesSent {
  double seconds = 0;
  uint64_t frames = 0;
};
// The frames sent up to `end`, from the last look that was not after `end` and a later one. Exact
// if the later one is not after `end` either, as of a sender that had finished. If it is, the
// frames between the two looks count by the part of the time between them that was not after `end`.
uint64_t FramesInTime(const FramesSent& before, const FramesSent& later, double end);

// "64" to "9018", or "imix": 7 of 12 frames carry 40 bytes of IP (and are padded to 64), 4 carry
// 576 and 1 carries 1,500. InvalidArgument says what would be right.
absl::StatusOr<FrameMix> FrameMixFromName(absl::string_view name);

}  // namespace bfly::control

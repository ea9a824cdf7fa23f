// SPDX-License-Identifier: Apache-2.0
#include "control/throughput/frame_mix.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace bfly::control {
namespace {

constexpr uint32_t kSmallest = 64, kLargest = 9018;  // of built-in sources
constexpr uint32_t kEthernetHeader = 14;

}  // namespace

double FrameMix::mean_bytes() const {
  double sum = 0;
  for (const FrameShare& frame : frames) sum += frame.share * frame.bytes;
  return sum;
}

uint64_t FramesOfTrial(const FrameShare& frame, double load, double seconds) {
  return static_cast<uint64_t>(std::max(1LL, std::llround(frame.share * load * seconds)));
}

double SecondsToSend(const FrameMix& mix, double load, double seconds) {
  double longest = seconds;
  for (const FrameShare& frame : mix.frames) {
    const auto frames = static_cast<double>(FramesOfTrial(frame, load, seconds));
    longest = std::max(longest, frames / (frame.share * load));
  }
  return longest;
}

uint64_t FramesInTime(const FramesSent& before, const FramesSent& later, double end) {
  if (later.seconds <= end) return later.frames;
  const double part = (end - before.seconds) / (later.seconds - before.seconds);
  return before.frames +
         static_cast<uint64_t>(part * static_cast<double>(later.frames - before.frames));
}

absl::StatusOr<FrameMix> FrameMixFromName(absl::string_view name) {
  if (name == "imix") {
    return FrameMix{"imix",
                    {{kSmallest, 7.0 / 12},
                     {576 + kEthernetHeader, 4.0 / 12},
                     {1500 + kEthernetHeader, 1.0 / 12}}};
  }
  uint32_t bytes = 0;
  if (!absl::SimpleAtoi(name, &bytes) || bytes < kSmallest || bytes > kLargest) {
    return absl::InvalidArgumentError(absl::StrCat("'", name, "' is not a frame size: use ",
                                                   kSmallest, " to ", kLargest, " bytes, or imix"));
  }
  return FrameMix{std::string(name), {{bytes, 1}}};
}

}  // namespace bfly::control

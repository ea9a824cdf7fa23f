// SPDX-License-Identifier: Apache-2.0
#include "control/cli/journeys.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace bfly::control {
namespace {

// Times are rounded to nanoseconds twice.
constexpr uint64_t kSameTimeNs = 4;
constexpr uint64_t kOtherPlaneNs = 10'000'000;
// A frame that was not seen anywhere for longer makes room for another.
constexpr uint64_t kGivenUpNs = 2'000'000'000;

bool HasPlace(const Journey& journey, const v1::CapturedFrame& frame) {
  if (frame.place() == v1::CapturedFrame::PORT_OUT) return !journey.has_left && !journey.is_dropped;
  return journey.hops.count(frame.hop()) == 0;
}

bool IsSameFrame(const v1::CapturedFrame& a, const v1::CapturedFrame& b) {
  return a.length() == b.length() && a.priority() == b.priority() && a.data() == b.data();
}

// A packet of a built-in source has no data and ends in a sink. Every other one needs a port.
bool Leaves(const v1::CapturedFrame& end) { return end.data().empty() || !end.port().empty(); }

bool HasBegun(const Journey& journey) { return journey.hops.contains(0); }

uint64_t Apart(uint64_t a, uint64_t b) { return a < b ? b - a : a - b; }

}  // namespace

std::vector<Journey> Journeys::begun() const {
  std::vector<Journey> begun;
  std::copy_if(open_.begin(), open_.end(), std::back_inserter(begun), HasBegun);
  return begun;
}

// Copies of several workers come in any order, so the copy of a first link may come late.
bool Journeys::MakeRoom(uint64_t now_ns) {
  if (open_.size() < most_) return true;
  auto other = std::find_if(open_.begin(), open_.end(), [now_ns](const Journey& journey) {
    return journey.seen_ns + kGivenUpNs < now_ns;
  });
  if (other == open_.end()) other = std::find_if_not(open_.begin(), open_.end(), HasBegun);
  if (other == open_.end()) return false;
  open_.erase(other);
  return true;
}

void Journeys::Add(const v1::CapturedFrame& frame, const std::string& data_plane) {
  const uint64_t entered = frame.time_ns() - frame.age_ns();
  Journey* found = nullptr;
  for (Journey& journey : open_) {
    const uint64_t apart = Apart(journey.entered_ns, entered);
    if (apart > (journey.data_plane == data_plane ? kSameTimeNs : kOtherPlaneNs)) continue;
    if (!HasPlace(journey, frame) || !IsSameFrame(journey.first, frame)) continue;
    if (found == nullptr || apart < Apart(found->entered_ns, entered)) found = &journey;
  }
  if (found == nullptr) {
    if (!MakeRoom(frame.time_ns())) return;
    found = &open_.emplace_back();
    found->first = frame;
    found->data_plane = data_plane;
    found->entered_ns = entered;
  }
  found->seen_ns = std::max(found->seen_ns, frame.time_ns());
  if (frame.place() == v1::CapturedFrame::PORT_OUT) {
    (Leaves(frame) ? found->has_left : found->is_dropped) = true;
    found->left = frame;
  } else {
    found->hops[frame.hop()] = frame;
  }
  if (hops_ == 0 || found->hops.size() < hops_) return;
  if (!found->has_left && !found->is_dropped) return;
  (found->has_left ? complete_ : dropped_).push_back(std::move(*found));
  open_.erase(open_.begin() + (found - open_.data()));
}

}  // namespace bfly::control

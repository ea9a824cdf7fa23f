// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "dataplane/telemetry/lateness.h"
#include "topologies/network.h"
#include "topologies/tag.h"

namespace bfly::dataplane {

// What happens to a packet that comes to its input while the slot for its output is not on.
// With kVlb the packet goes by an intermediate row (Valiant load balancing): the packet takes the
// circuit of the slot that is on, and waits at the row to which this circuit leads for a slot to
// its output.
enum class LatePolicy { kWait, kDrop, kVlb };

inline constexpr Tag kNoTag = UINT64_MAX;

// Circuits on a clock (docs/schedules.md): slots that the input workers step through, in a cycle.
struct ScheduleConfig {
  // [slot][input row]; kNoTag: the row has no circuit in the slot.
  std::vector<std::vector<Tag>> tags;
  double slot_ns = 100'000;  // kShortestSlotNs..kLongestSlotNs
  double guard_ns = 5'000;   // at the end of each slot; less than slot_ns
  LatePolicy late = LatePolicy::kWait;
  uint32_t queue_frames = 256;       // frames that may wait at one row for one slot
  uint32_t waiting_frames = 65'536;  // frames that may wait at all rows of a data plane
  uint64_t id = 0;  // a schedule with the id of the running one keeps its clock and its counters
};
inline constexpr double kShortestSlotNs = 1'000;
inline constexpr double kLongestSlotNs = 10e9;
inline constexpr uint64_t kMostSlotRows = 1u << 22;  // slots times rows
inline constexpr uint32_t kMostWaitingFrames = 1u << 22;

// What the schedule did since it was started, over all input rows.
struct SlotCounters {
  uint64_t turns = 0;    // how often the slot began
  uint64_t ended = 0;    // how often the slot ended
  uint64_t frames = 0;   // frames that entered the network in the slot
  uint64_t bytes = 0;    // bytes of these frames
  uint64_t used = 0;     // turns of rows that ended and in which at least one frame entered
  uint64_t waited = 0;   // frames of `frames` that waited for the slot
  double wait_ns = 0;    // the sum of their waiting times
  uint64_t waiting = 0;  // frames that wait for the slot now
  uint64_t full = 0;     // dropped frames: queue_frames waited already
  // Dropped frames: the slot was not on, or the schedule ended before the slot began.
  uint64_t missed = 0;
};
struct ScheduleReport {
  uint64_t id = 0;
  // Slots that have begun since the schedule started, the repeats of a slot included.
  uint64_t turns = 0;
  double seconds = 0;  // since the schedule started
  std::vector<SlotCounters> slots;
  uint64_t no_slot = 0;  // dropped frames: no slot leads from the row to the output
  // Dropped frames: waiting_frames waited already, or a way back from an intermediate row was full.
  uint64_t no_memory = 0;
  uint64_t by_intermediate_row = 0;  // frames of all slots that left for an intermediate row
  uint64_t longest_wait_ns = 0;
  // For each worker of the inputs: how long after the beginning of a slot it first looked at its
  // clock, in nanoseconds, and how many slots passed without a look. Only slots that frames waited
  // for count.
  struct Switching {
    int lcore = 0;
    Lateness lateness;
    uint64_t passed_over = 0;
  };
  std::vector<Switching> workers;
};

}  // namespace bfly::dataplane

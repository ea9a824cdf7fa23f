// SPDX-License-Identifier: Apache-2.0
// The schedule of a loaded fabric, which all gates of its input rows run.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <vector>

#include "dataplane/core/route_table.h"
#include "dataplane/fabric/ways_back.h"
#include "dataplane/fabric/worker.h"
#include "dataplane/ports/egress.h"
#include "dataplane/runtime/grace_period.h"
#include "dataplane/slots/schedules.h"
#include "dataplane/slots/slot_gate.h"

namespace bfly::dataplane {

class LoadedSchedules final : public Schedules {
 public:
  // All arguments must outlive the object.
  LoadedSchedules(const Network& network, RouteTable& routes, const Workers& workers)
      : network_(network), routes_(routes), workers_(workers), ways_back_(workers) {}

  // Adds the gate of `rows`, which `worker` uses. Call it before the worker starts. The gate lives
  // as long as the object.
  SlotGate* AddGate(RowRange rows, Worker& worker);
  // Adds a way out of the fabric that belongs to a worker that has not started. Without a way out,
  // a schedule cannot lead packets by an intermediate row.
  void AddWayOut(Egress* way_out) { ways_back_.AddWayOut(way_out); }
  // At most this many packets may wait, whatever a schedule says: each may hold a frame's buffer.
  // The limit also holds for a schedule that runs: further packets that would wait are dropped as
  // queue_memory.
  void LimitFrames(uint32_t most);

  absl::Status Start(const ScheduleConfig& config) override;
  absl::StatusOr<ScheduleReport> Stop() override;
  absl::StatusOr<ScheduleReport> Report() const override;

  bool turns_back() const override { return ways_back_.open(); }

  // Call it after the workers stopped: drops the packets that are turning back.
  void DiscardTurningBack() { ways_back_.Discard(); }

 private:
  // The run at one gate, and the counts of the gate's worker. The counts of a schedule outlive its
  // repair.
  struct Part {
    std::shared_ptr<SlotRun> run;
    std::shared_ptr<SlotCounts> counts;
  };
  absl::Status Check(const ScheduleConfig& config) const;
  // ResourceExhausted: the machine lacks the memory for the schedule. The caller holds mutex_.
  absl::Status CheckMemory(const ScheduleConfig& config) const;
  // Makes the gates run `next`, and waits until their workers have taken it up. Returns false if a
  // worker has not taken it up at the deadline. The caller holds mutex_.
  bool Publish(std::vector<Part> next, bool by_intermediate_rows,
               std::chrono::steady_clock::time_point deadline);
  // Makes the part of each gate. The counts are those of `before`, or new ones.
  std::vector<Part> PartsOf(const std::shared_ptr<const SlotTable>& table,
                            const std::vector<Part>& before) const;
  // What `parts` did by `table` up to now. The caller holds mutex_.
  ScheduleReport ReportOf(const SlotTable& table, const std::vector<Part>& parts) const;

  const Network& network_;
  RouteTable& routes_;
  const Workers& workers_;
  std::vector<std::unique_ptr<SlotGate>> gates_;
  std::vector<Worker*> gate_workers_;  // the worker of each gate
  WaysBack ways_back_;
  mutable std::mutex mutex_;  // guards the members below; no worker takes it
  uint32_t most_frames_ = UINT32_MAX;
  std::shared_ptr<const SlotTable> table_;
  uint64_t id_ = 0;
  uint32_t queue_frames_ = 0, waiting_frames_ = 0;  // limits of the schedule, as in ScheduleConfig
  std::vector<Part> parts_;                         // one for each gate; empty: no schedule runs
  uint64_t dropped_before_ = 0;  // what the ways back had dropped when the schedule started
  Retired retired_;
};

// InvalidArgument names the wrong field: "tags[3][7]: 99 has more than the 4 bits of this network".
absl::Status CheckSchedule(const ScheduleConfig& config, const Network& network);

}  // namespace bfly::dataplane

// SPDX-License-Identifier: Apache-2.0
#include "dataplane/fabric/loaded_schedules.h"

#include <rte_cycles.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "dataplane/core/descriptor.h"
#include "dataplane/core/tsc_hz.h"
#include "dataplane/fabric/memory_need.h"
#include "dataplane/slots/intermediate_row_tags.h"

namespace bfly::dataplane {
namespace {

absl::Status CheckNumber(const char* field, double value, double least, double most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(field, ": ", value, " is outside ", least, "..", most));
}

absl::Status CheckTags(const ScheduleConfig& config, const Network& network) {
  const TagLayout& layout = network.tag_layout();
  for (size_t slot = 0; slot < config.tags.size(); ++slot) {
    const std::vector<Tag>& tags = config.tags[slot];
    if (tags.size() != network.rows()) {
      return absl::InvalidArgumentError(absl::StrCat("tags[", slot, "]: has ", tags.size(),
                                                     " rows, the network has ", network.rows()));
    }
    for (Row row = 0; row < tags.size(); ++row) {
      if (tags[row] == kNoTag || layout.IsPath(tags[row])) continue;
      return absl::InvalidArgumentError(absl::StrCat("tags[", slot, "][", row, "]: ", tags[row],
                                                     " is not a path of this network, whose tags "
                                                     "have ",
                                                     layout.bits(), " bits"));
    }
  }
  return absl::OkStatus();
}

// How many of `frames` may wait at `rows` of all rows. The shares of blocks that together are all
// rows add up to `frames`.
uint32_t ShareOfWaiting(uint64_t frames, RowRange rows, uint32_t all_rows) {
  return static_cast<uint32_t>(frames * (uint64_t{rows.last} + 1) / all_rows -
                               frames * rows.first / all_rows);
}

double InNs(double ticks) { return ticks * 1e9 / static_cast<double>(TscHz()); }
uint64_t ToNs(double ticks) { return static_cast<uint64_t>(InNs(ticks)); }

// How many slots of this number in the cycle have begun when `turns` slots have begun in total.
uint64_t TurnsOf(uint64_t turns, uint64_t slot, uint64_t slots) {
  return turns > slot ? (turns - slot - 1) / slots + 1 : 0;
}

void AddCounts(const SlotCounts& from, ScheduleReport& to) {
  for (size_t i = 0; i < to.slots.size(); ++i) {
    const SlotCounts::Slot& slot = from.slots[i];
    SlotCounters& sum = to.slots[i];
    sum.frames += slot.frames.load(std::memory_order_relaxed);
    sum.bytes += slot.bytes.load(std::memory_order_relaxed);
    sum.used += slot.used.load(std::memory_order_relaxed);
    sum.waited += slot.waited.load(std::memory_order_relaxed);
    sum.wait_ns += InNs(slot.wait_ticks.load(std::memory_order_relaxed));
    sum.waiting += slot.waiting.load(std::memory_order_relaxed);
    sum.full += slot.full.load(std::memory_order_relaxed);
    sum.missed += slot.missed.load(std::memory_order_relaxed);
  }
  to.no_slot += from.no_slot.load(std::memory_order_relaxed);
  to.by_intermediate_row += from.by_intermediate_row.load(std::memory_order_relaxed);
  to.no_memory += from.no_memory.load(std::memory_order_relaxed);
  to.longest_wait_ns =
      std::max(to.longest_wait_ns,
               ToNs(static_cast<double>(from.longest_wait.load(std::memory_order_relaxed))));
}

Lateness InNanoseconds(const Lateness& ticks) {
  return {.packets = ticks.packets,
          .mean = InNs(ticks.mean),
          .p99 = ToNs(static_cast<double>(ticks.p99)),
          .max = ToNs(static_cast<double>(ticks.max))};
}

}  // namespace

absl::Status CheckSchedule(const ScheduleConfig& config, const Network& network) {
  if (config.tags.empty()) return absl::InvalidArgumentError("tags: the schedule has no slot");
  if (config.tags.size() * uint64_t{network.rows()} > kMostSlotRows) {
    return absl::InvalidArgumentError(absl::StrCat("tags: ", config.tags.size(), " slots of ",
                                                   network.rows(), " rows are more than ",
                                                   kMostSlotRows, " circuits"));
  }
  absl::Status status = CheckNumber("slot_ns", config.slot_ns, kShortestSlotNs, kLongestSlotNs);
  if (status.ok() && !(config.guard_ns >= 0 && config.guard_ns < config.slot_ns)) {
    status = absl::InvalidArgumentError(absl::StrCat(
        "guard_ns: ", config.guard_ns, " is not shorter than the slot of ", config.slot_ns));
  }
  if (status.ok()) {
    status = CheckNumber("queue_frames", config.queue_frames, 1, kMostWaitingFrames);
  }
  if (status.ok()) {
    status = CheckNumber("waiting_frames", config.waiting_frames, 1, kMostWaitingFrames);
  }
  if (status.ok() && config.late == LatePolicy::kVlb) status = CheckIntermediateRows(network);
  if (status.ok()) status = CheckTags(config, network);
  return status;
}

SlotGate* LoadedSchedules::AddGate(RowRange rows, Worker& worker) {
  rows.last = std::min(rows.last, network_.rows() - 1);
  gates_.push_back(std::make_unique<SlotGate>(rows, worker.epoch()));
  gate_workers_.push_back(&worker);
  ways_back_.AddGate(gates_.back().get(), &worker);
  return gates_.back().get();
}

absl::Status LoadedSchedules::Check(const ScheduleConfig& config) const {
  if (gates_.empty()) {
    return absl::FailedPreconditionError(
        "schedules hold frames back at stage 0, which another data plane runs");
  }
  if (config.late == LatePolicy::kVlb && !ways_back_.lead_anywhere()) {
    return absl::FailedPreconditionError(
        "late: frames cannot go by an intermediate row, because another data plane runs the last "
        "stage; use wait or drop");
  }
  return CheckSchedule(config, network_);
}

absl::Status LoadedSchedules::CheckMemory(const ScheduleConfig& config) const {
  const std::set<const Worker*> workers(gate_workers_.begin(), gate_workers_.end());
  const uint64_t slots = config.tags.size(), circuits = slots * network_.rows();
  uint64_t need = circuits * SlotTable::kBytesPerCircuit +
                  SlotQueues::Bytes(circuits, std::min(config.waiting_frames, most_frames_)) +
                  workers.size() * slots * sizeof(SlotCounts::Slot);
  if (config.late == LatePolicy::kVlb) need += ways_back_.MemoryNeed();
  return CheckMemoryNeed(network_, need, AvailableMemory(), "the schedule",
                         "fewer slots, or let fewer frames wait");
}

absl::Status LoadedSchedules::Start(const ScheduleConfig& config) {
  if (absl::Status status = Check(config); !status.ok()) return status;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (absl::Status status = CheckMemory(config); !status.ok()) return status;
  const uint64_t hz = TscHz();
  // A repaired schedule keeps the clock of the previous one.
  const bool repaired = !parts_.empty() && config.id != 0 && config.id == id_ &&
                        config.tags.size() == table_->slots();
  const SlotClock clock =
      repaired ? table_->clock()
               : SlotClock(/*origin=*/0, SlotClock::PeriodOf(config.slot_ns, hz),
                           SlotClock::PeriodOf(config.guard_ns, hz) >> SlotClock::kFractionBits);
  const bool by_intermediate_rows = config.late == LatePolicy::kVlb;
  if (by_intermediate_rows) ways_back_.Open();
  const auto table = std::make_shared<SlotTable>(network_, config, clock);
  queue_frames_ = config.queue_frames;
  waiting_frames_ = config.waiting_frames;
  std::vector<Part> next = PartsOf(table, repaired ? parts_ : std::vector<Part>{});
  // A large schedule takes long to build. Its first slot begins when workers can take it up.
  if (!repaired) {
    dropped_before_ = ways_back_.dropped();
    table->StartAt(rte_rdtsc());
  }
  table_ = table;
  id_ = config.id;
  const bool taken_up = Publish(std::move(next), by_intermediate_rows,
                                std::chrono::steady_clock::now() + kTakeUpTime);
  // From now on frames without a circuit come to the gates even if the topology says that they are
  // dropped.
  routes_.SetScheduled(true);
  if (taken_up) return absl::OkStatus();
  return NotTakenUp(
      "it is of the first stage, and steps through the schedule from its next pass on");
}

std::vector<LoadedSchedules::Part> LoadedSchedules::PartsOf(
    const std::shared_ptr<const SlotTable>& table, const std::vector<Part>& before) const {
  const uint64_t frames = std::min(waiting_frames_, most_frames_);
  std::map<const Worker*, std::shared_ptr<SlotCounts>> of_worker;
  std::vector<Part> parts;
  for (size_t i = 0; i < gates_.size(); ++i) {
    const RowRange rows = gates_[i]->rows();
    const uint32_t total = ShareOfWaiting(frames, rows, network_.rows());
    std::shared_ptr<SlotCounts>& counts = of_worker[gate_workers_[i]];
    if (!before.empty()) counts = before[i].counts;
    if (counts == nullptr) counts = std::make_shared<SlotCounts>(table->slots());
    parts.push_back({.run = std::make_shared<SlotRun>(table, rows, queue_frames_, total, counts),
                     .counts = counts});
  }
  return parts;
}

void LoadedSchedules::LimitFrames(uint32_t most) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const bool lower = std::min(most, waiting_frames_) < std::min(most_frames_, waiting_frames_);
  most_frames_ = most;
  if (parts_.empty() || !lower) return;
  // A worker that is late keeps the limit from its next pass on.
  Publish(PartsOf(table_, parts_), table_->late() == LatePolicy::kVlb,
          std::chrono::steady_clock::now() + kTakeUpTime);
}

absl::StatusOr<ScheduleReport> LoadedSchedules::Stop() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (parts_.empty()) return absl::FailedPreconditionError("no schedule runs");
  const auto deadline = std::chrono::steady_clock::now() + kTakeUpTime;
  routes_.SetScheduled(false);
  // Frames that were let in for the schedule come to the gates within a pass of the worker that
  // polls their port, which may be any, and one of the gate's.
  bool all_passed = true;
  for (int pass = 0; pass < 2; ++pass) {
    GracePeriod period;
    for (const auto& worker : workers_) period.Ask(worker->epoch());
    all_passed = period.Wait(deadline);
  }
  const std::vector<Part> ended = parts_;
  const std::shared_ptr<const SlotTable> table = std::move(table_);
  // A worker that has no gate may have used up the time.
  const auto moment = std::chrono::steady_clock::now() + std::chrono::milliseconds(250);
  const bool taken_up = Publish({}, /*by_intermediate_rows=*/false, std::max(deadline, moment));
  if (taken_up && all_passed) return ReportOf(*table, ended);
  return NotTakenUp(
      taken_up ? "the schedule has ended, but the worker may bring frames that it let in for it"
               : "it is of the first stage, and its schedule ends with its next pass");
}

bool LoadedSchedules::Publish(std::vector<Part> next, bool by_intermediate_rows,
                              std::chrono::steady_clock::time_point deadline) {
  for (size_t i = 0; i < gates_.size(); ++i) {
    gates_[i]->Publish(next.empty() ? nullptr : next[i].run.get());
  }
  GracePeriod period;
  for (const auto& gate : gates_) period.Ask(gate->worker());
  const bool taken_up = period.Wait(deadline);
  if (!by_intermediate_rows) ways_back_.CloseWhenEmpty(period);
  for (Part& part : parts_) retired_.Add(period, std::move(part.run));
  parts_ = std::move(next);
  retired_.Collect();
  return taken_up;
}

absl::StatusOr<ScheduleReport> LoadedSchedules::Report() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (parts_.empty()) return absl::FailedPreconditionError("no schedule runs");
  return ReportOf(*table_, parts_);
}

ScheduleReport LoadedSchedules::ReportOf(const SlotTable& table,
                                         const std::vector<Part>& parts) const {
  ScheduleReport report;
  report.id = id_;
  const uint64_t now = rte_rdtsc();
  report.turns = table.clock().At(now) + 1;
  report.seconds = static_cast<double>(now - table.clock().Begin(0)) / static_cast<double>(TscHz());
  report.slots.resize(table.slots());
  for (size_t i = 0; i < report.slots.size(); ++i) {
    report.slots[i].turns = TurnsOf(report.turns, i, report.slots.size());
    report.slots[i].ended = TurnsOf(report.turns - 1, i, report.slots.size());
  }
  std::map<int, const SlotCounts*> of_worker;
  for (size_t i = 0; i < parts.size(); ++i) {
    of_worker[gate_workers_[i]->lcore()] = parts[i].counts.get();
  }
  for (const auto& [lcore, counts] : of_worker) {
    AddCounts(*counts, report);
    report.workers.push_back({.lcore = lcore,
                              .lateness = InNanoseconds(counts->looks.lateness()),
                              .passed_over = counts->looks.passed_over()});
  }
  report.no_memory += ways_back_.dropped() - dropped_before_;
  return report;
}

}  // namespace bfly::dataplane

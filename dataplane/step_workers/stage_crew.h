// SPDX-License-Identifier: Apache-2.0
// The crew whose workers are the stage workers of a loaded fabric. Each worker owns the nodes whose
// links it counts. The worker of the inputs leads: it drives the program within one of its passes,
// and while it waits for the others it makes further passes, so that data keeps flowing. No thread
// besides the workers takes part in a step, and a worker never waits.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "dataplane/stages/plan.h"
#include "dataplane/step_workers/step_worker.h"
#include "dataplane/steps/packet_traffic.h"
#include "topologies/crew.h"

namespace bfly::dataplane {

// Why a run is given up.
enum class StepEndCause : int { kNone, kCancelled, kUnloaded, kLinkChanged, kNoAnswer };

class StageCrew final : public Crew {
 public:
  // The block of a stage that has the row.
  using StageOf = std::function<Stage&(int stage, Row row)>;
  // The segment that carries packets at the row over the last hop.
  using WayOutOf = std::function<Segment&(Row row)>;
  // The plan has all stages of the network. The network, the stages and the segments outlive the
  // object.
  StageCrew(const Network& network, const FabricPlan& plan, const StageOf& stage_of,
            const WayOutOf& way_out_of);

  // The step worker of a worker of the plan; null for a worker that runs no stage.
  StepWorker* worker(int plan_worker) const;
  // The worker of the plan that leads.
  int leader() const { return plan_workers_[0]; }
  PacketTraffic& traffic() { return traffic_; }

  // `pass` makes one pass of the worker that leads. `begin` is called before a program is posted to
  // the workers and `end` after it has ended.
  void Attach(std::function<void()> pass, std::function<void()> begin, std::function<void()> end);

  // For tests: the least number of empty rounds that are measured after a run. Call it between
  // runs.
  void set_fewest_barriers(uint64_t barriers) { fewest_barriers_ = barriers; }

  // Call it when the workers have stopped: no program is posted to them any more.
  void Close();

  // Call it before a run. No worker may be in a run. `frames` are the frames of the run's packets,
  // or null; they must stay until the run has ended.
  void Reset(StepFrames* frames);
  // Any thread: makes the leader end the program between two rounds. The cause of the first call is
  // kept.
  void GiveUp(StepEndCause cause);
  StepEndCause cause() const { return cause_.load(std::memory_order_acquire); }

  // Any thread. Whether workers have been told to run a program and it has not ended, and how many
  // rounds they have begun so far.
  bool running() const {
    const int state = state_.load(std::memory_order_acquire);
    return state == kPosted || state == kLeading;
  }
  uint64_t rounds() const { return round_.number.load(std::memory_order_relaxed); }
  // The workers of the plan for which the others wait.
  std::vector<int> Late() const;

  // The times of a run. Read them after the run.
  struct Times {
    double seconds = 0;
    uint64_t barriers = 0;
    double barrier_seconds = 0;
    uint64_t last_step = 0;  // the last step in which a packet crossed a link
  };
  const Times& times() const { return times_; }

  // The frames of the run. Workers look at them while they run a part.
  StepFrames* frames() const { return frames_; }
  // The counts of the frames of a run. Read them after the run.
  StepFrameCounts frame_counts() const;

  // For the worker that leads, at the start of a pass.
  void LeadIfPosted();

 private:
  struct Cut;
  enum State : int { kIdle, kPosted, kLeading, kClosed };

  StageCrew(const Network& network, const StageOf& stage_of, const WayOutOf& way_out_of, Cut cut);
  static Cut CutOf(const Network& network, const FabricPlan& plan);

  void Do(size_t count, const Call& call) override;
  void DoLead(const Call& call) override;
  void Round(StepRound::Kind kind);
  void LetFramesLeave();
  void MeasureBarrier();

  PacketTraffic traffic_;
  const std::vector<int> owner_of_block_;  // index in workers_
  const std::vector<int> plan_workers_;    // for each index in workers_: the worker of the plan
  std::vector<std::unique_ptr<StepWorker>> workers_;
  std::function<void()> pass_, begin_, end_;
  uint64_t fewest_barriers_ = 1000;
  StepRound round_;               // only the leader uses it
  Call led_;                      // written before kPosted
  StepFrames* frames_ = nullptr;  // written before kPosted
  Times times_;                   // only the leader writes it
  // The caller of Lead: kPosted, the leader: kLeading and kIdle, control: kClosed.
  std::atomic<int> state_{kIdle};
  std::atomic<StepEndCause> cause_{StepEndCause::kNone};  // control: writes once a run
};

}  // namespace bfly::dataplane

// SPDX-License-Identifier: Apache-2.0
// The concrete StepPrograms of one loaded fabric.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "dataplane/stages/plan.h"
#include "dataplane/step_workers/stage_crew.h"
#include "dataplane/step_workers/step_programs.h"
#include "topologies/fault_set.h"

namespace bfly::dataplane {

class LoadedStepPrograms final : public StepPrograms {
 public:
  // FailedPrecondition: other data planes run some of the stages.
  static absl::Status Check(const Network& network, const FabricPlan& plan);

  // The bytes that a run may take now.
  using BytesLeft = uint64_t (*)();
  // For a plan that Check accepts. `supply`: the buffers and ports that the fabric has for frames.
  // `faults`: the links that are down now. The network, the plan, the stages and the segments
  // outlive the object.
  LoadedStepPrograms(const Network& network, const FabricPlan& plan,
                     const StageCrew::StageOf& stage_of, const StageCrew::WayOutOf& way_out_of,
                     StepFrameSupply supply, FaultSet faults, BytesLeft bytes_left);
  ~LoadedStepPrograms() override;

  StageCrew& crew() { return crew_; }
  // For tests: how long a worker may make no pass before a run is given up. Call it between runs.
  void set_patience(std::chrono::milliseconds patience) { patience_ = patience; }

  absl::StatusOr<StepRun> Run(absl::string_view program, const FaultSet& faults,
                              const RouteRequest& request, const RouteOptions& options,
                              const std::function<bool()>& cancelled) override;

  // Notes that a link went down or came up. A program that runs is given up.
  void SetLinkUp(LinkId link, bool up);

  // Notes that ports came or went. The next run takes them into account.
  void SetPorts(rte_mempool* pool, std::vector<bool> has_port);

  // Call it before the workers stop. It gives up a program that runs, and waits for its end, at
  // most five seconds.
  void Stop();
  // Call it when the workers have stopped.
  void WorkersStopped() { crew_.Close(); }

 private:
  // One run. Its thread may still work on it after the caller has given it up.
  struct Attempt;

  using Lock = std::unique_lock<std::mutex>;
  // Waits until no other caller's program runs.
  absl::Status WaitForTurn(Lock& lock, const std::function<bool()>& cancelled);
  // Aborted: the links that are down are not those of `faults`.
  absl::Status CheckFaults(absl::string_view program, const FaultSet& faults) const;
  // Waits until the attempt has ended.
  absl::Status WaitForEnd(Lock& lock, const Attempt& attempt,
                          const std::function<bool()>& cancelled);
  absl::Status WhyGivenUp(absl::string_view program) const;
  std::string NamesOf(const std::vector<int>& workers) const;

  const Network& network_;
  const FabricPlan& plan_;
  StepFrameSupply supply_;  // pool and has_port: mutex_
  const BytesLeft bytes_left_;
  StageCrew crew_;
  std::chrono::milliseconds patience_{5000};
  std::atomic<bool> stopping_{false};
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool busy_ = false;                 // mutex_: a caller is in Run
  FaultSet faults_;                   // mutex_
  std::string changed_link_;          // mutex_: the first link that changed during the run
  std::shared_ptr<Attempt> attempt_;  // mutex_: the last attempt
  std::thread thread_;                // the thread of the last attempt
};

}  // namespace bfly::dataplane

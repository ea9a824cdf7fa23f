// SPDX-License-Identifier: Apache-2.0
// A worker: one lcore that runs segments until it is told to stop.
#pragma once

#include <time.h>

#include <atomic>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "dataplane/core/account.h"
#include "dataplane/core/config.h"
#include "dataplane/in_band/in_band_worker.h"
#include "dataplane/runtime/eal_lcores.h"
#include "dataplane/runtime/grace_period.h"
#include "dataplane/runtime/numa.h"
#include "dataplane/stages/segment.h"
#include "dataplane/step_workers/step_worker.h"
#include "dataplane/telemetry/published.h"
#include "dataplane/traffic/source_inlet.h"

namespace bfly::dataplane {

// A worker shares no cache line with data that another worker writes.
class alignas(RTE_CACHE_LINE_SIZE) Worker {
 public:
  Worker(int lcore, IdleMode idle) : lcore_(lcore), node_(NodeOfLcore(lcore)), idle_(idle) {}

  int lcore() const { return lcore_; }
  // The node on which its memory should be (runtime/numa.h).
  int node() const { return node_; }
  // Add segments of earlier hops first, so that a packet may cross several of them in one pass.
  void AddSegment(Segment* segment) { segments_.push_back(segment); }
  const std::vector<Segment*>& segments() const { return segments_; }
  // The stages of its segments; each stage is added once.
  void AddStage(Stage* stage) { stages_.push_back(stage); }
  // Only for a worker that runs rows of the first hop.
  void AddSources(SourceInlet* sources) { sources_.push_back(sources); }

  // Control, also while the worker runs: sets the object that carries messages for programs from
  // the worker's next pass on. The object must outlive the run of the worker.
  void SetInBand(InBandWorker* probes) { in_band_.store(probes, std::memory_order_release); }

  // Control, also while the worker runs: sets the step program in which the worker takes part from
  // its next pass on; null: no program. The object must outlive the run of the worker.
  void SetSteps(StepWorker* steps) { steps_.store(steps, std::memory_order_release); }

  // Launches the lcore. FailedPrecondition: the lcore runs another function, or DPDK has no thread
  // left for it.
  absl::Status Start();
  // To end the worker, call AskToStop and then Join, which waits at most `seconds`. A pass takes as
  // long as the devices take for a call.
  void AskToStop() { stop_.store(true, std::memory_order_relaxed); }
  absl::Status Join(double seconds);

  // By the epoch control asks the worker to take up what it has offered to the worker's stages and
  // sources. When the worker has answered, it no longer uses anything that was replaced before.
  PassEpoch* epoch() { return &epoch_; }

  // Runs one round over the segments. Returns false if no packet moved. It is public for tests and
  // benchmarks that run a worker without an lcore.
  bool Pass();

  // Any thread. The account balances (ledger.h).
  Account account(uint64_t& version) const { return published_.Read(version); }
  uint64_t account_version() const { return published_.version(); }
  uint64_t passes() const { return passes_.load(std::memory_order_acquire); }
  uint64_t idle_passes() const { return idle_passes_.load(std::memory_order_relaxed); }
  // All hops, the cycles of passes that moved packets, and the results of polls. A pass counts when
  // the next pass has begun.
  HopCycles busy() const { return busy_.Read(); }
  PollCounts polls() const;
  // The cost of each stage, or run of stages, in the batches that were sampled. The costs are in
  // ascending order of first stages.
  std::vector<StageCost> stage_costs() const;
  // The lateness of packets released from links that take time, in TSC ticks.
  Lateness lateness() const { return lateness_.Read(); }

  // The CPU time of the worker's thread so far, without idle sleep and the time of other processes.
  // Call it only while the worker runs.
  double CpuSeconds() const;

  // Frees the packets on its links and returns how many there were. The thread that unloads calls
  // it after Join.
  uint64_t DiscardTimed();
  // The thread that unloads may finish the account.
  Account& stopped_account() { return account_; }
  void PublishStopped() { published_.Publish(account_); }

 private:
  enum class Moved { kNotYet, kYes, kNo };

  static int Main(void* worker);
  // Pins DPDK's thread to the CPU of the lcore.
  bool Move();
  void Rest();
  void TakeUp(uint64_t asked);
  uint64_t RunTimedSegments();
  uint64_t NextEvent() const;

  const int lcore_;
  const int node_;
  const IdleMode idle_;
  EalLcores::Thread thread_;  // control: writes before the worker starts
  bool started_ = false;
  std::vector<SourceInlet*> sources_;
  std::vector<Segment*> segments_;
  std::vector<Stage*> stages_;
  std::vector<Stage*> timed_;  // worker only: the stages of stages_ whose links take time
  LatenessMeter lateness_;
  HopMeter busy_;
  uint64_t pass_began_ = 0;                      // worker only: TSC
  uint64_t hops_in_pass_ = 0;                    // worker only
  uint64_t hops_made_ = 0;                       // worker only: hops made up to the last pass
  bool was_busy_ = false;                        // worker only: the last pass moved packets
  Account account_;                              // worker only, while it runs
  Account last_published_;                       // worker only
  std::atomic<InBandWorker*> in_band_{nullptr};  // control: writes once, worker: acquire loads
  std::atomic<StepWorker*> steps_{nullptr};      // control: writes, worker: acquire loads
  uint32_t idle_in_a_row_ = 0;
  Published<Account> published_;  // worker: writes, snapshot: reads
  PassEpoch epoch_;
  std::atomic<uint64_t> passes_{0};          // worker: release stores, others: acquire loads
  std::atomic<uint64_t> idle_passes_{0};     // worker: writes, snapshot: relaxed loads
  std::atomic<clockid_t> cpu_clock_{-1};     // worker: writes once, control: acquire loads
  std::atomic<Moved> move_{Moved::kNotYet};  // worker: writes once, control: acquire loads
  std::atomic<bool> stop_{false};            // control: writes, worker: relaxed loads
  std::atomic<bool> stopped_{false};         // worker: writes, control: acquire loads
};

using Workers = std::vector<std::unique_ptr<Worker>>;  // in the order of FabricPlan::lcores

}  // namespace bfly::dataplane

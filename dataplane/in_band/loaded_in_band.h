// SPDX-License-Identifier: Apache-2.0
// The concrete InBand: it carries messages with all workers of one loaded fabric.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "dataplane/core/route_table.h"
#include "dataplane/in_band/circuit_book.h"
#include "dataplane/in_band/in_band.h"
#include "dataplane/in_band/in_band_assembly.h"
#include "dataplane/in_band/program_post.h"
#include "dataplane/in_band/trunk_runs.h"
#include "dataplane/programs/candidates.h"
#include "dataplane/programs/disk_nodes.h"
#include "dataplane/stages/plan.h"
#include "topologies/fault_set.h"
#include "topologies/switch_settings.h"

namespace bfly::dataplane {

class LoadedInBand final : public InBand {
 public:
  // FailedPrecondition: the network is neither a two-fold nor a randomly-wired butterfly, or
  // another data plane runs some of its stages and no trunk leads there. All four arguments, and
  // the wires of the trunks, must outlive the object.
  static absl::StatusOr<std::unique_ptr<LoadedInBand>> Make(const Network& network,
                                                            const FabricPlan& plan,
                                                            RouteTable& routes,
                                                            const LinkCapacity& capacity,
                                                            const InBandTrunks& trunks = {});
  // The part of a worker; null for a worker that runs no stage.
  InBandWorker* worker(int index) { return assembly_->worker(index); }
  // The object that takes the messages from the previous data plane; null on the data plane of the
  // first stage.
  ProgramFrames* from_before() { return assembly_->upstream(); }

  absl::StatusOr<InBandReport> SetUp(const std::vector<InBandRequest>& requests,
                                     const ProgramParameters& program) override;
  absl::StatusOr<InBandReport> SetUpReads(const std::vector<InBandRead>& reads,
                                          const ProgramParameters& program) override;
  absl::StatusOr<InBandReport> Release(const std::vector<Row>& inputs) override;
  absl::StatusOr<WalkSeconds> Walk(const std::vector<InBandRequest>& requests) override;
  std::vector<uint32_t> circuits_on_links() const override;
  std::vector<uint32_t> circuits_at_disks() const override;

  // Notes that the circuit at an input was installed or removed by other means. Its links count the
  // change, in band, before the next program.
  void NoteCircuit(Row input);

  // Waits for a program that runs, so that links do not change while it runs.
  void SetLinkUp(LinkId link, bool up);

  // Call it before the workers stop. It gives up a program that runs.
  void Stop() { post_.Stop(); }

 private:
  LoadedInBand(const Network& network, const FabricPlan& plan, RouteTable& routes,
               const LinkCapacity& capacity, std::optional<CandidatePaths> candidates,
               const InBandTrunks& trunks);
  absl::Status CheckTwoFold() const;

  // The caller of these functions must hold mutex_.
  absl::Status CheckFree(const std::vector<InBandRequest>& requests) const;
  absl::Status CheckReads(const std::vector<InBandRead>& reads) const;
  // Takes back the changes of a program that was given up. FailedPrecondition: as
  // ProgramPost::CheckReady.
  absl::Status CheckReady();
  // Runs the program. After its end `done` returns the circuits that it released and installed, all
  // of them at `inputs`.
  absl::Status RunProgram(std::unique_ptr<Program> program, std::function<GivenCircuits()> done,
                          const std::vector<Row>& inputs);
  absl::Status BeginRun();
  absl::Status CatchUp();
  absl::StatusOr<InBandReport> Run(const ProgramParameters& parameters,
                                   std::vector<Candidates> requests);

  const Network& network_;
  RouteTable& routes_;
  const LinkCapacity& capacity_;
  const std::optional<CandidatePaths> candidates_;  // only for a two-fold butterfly
  // Only for a randomly-wired butterfly whose outputs are here.
  const std::unique_ptr<DiskNodes> disks_;
  ProgramPost post_;
  InputNodes inputs_;
  OutputNodes outputs_;
  // One for each stage; null for stages of another data plane.
  std::vector<std::unique_ptr<StageNodes>> stages_;
  std::optional<InBandAssembly> assembly_;  // built once
  std::optional<TrunkRuns> runs_;           // mutex_; only if other data planes run stages

  std::mutex mutex_;
  CircuitBook book_;  // mutex_
  FaultSet faults_;   // mutex_
  // mutex_. Returns the changes of a program whose caller was told that nothing was changed. It
  // uses the program, which post_ keeps. Null: there is no such program.
  std::function<GivenCircuits()> given_up_;
};

}  // namespace bfly::dataplane

// SPDX-License-Identifier: Apache-2.0
// The concrete InBand: the messages' side of every worker of one loaded fabric.
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
  // FailedPrecondition: the network is neither a two-fold nor a randomly-wired butterfly, or some
  // of its stages run on another data plane and no trunk leads there. All four, and the wires of
  // the trunks, outlive the object.
  static absl::StatusOr<std::unique_ptr<LoadedInBand>> Make(const Network& network,
                                                            const FabricPlan& plan,
                                                            RouteTable& routes,
                                                            const LinkCapacity& capacity,
                                                            const InBandTrunks& trunks = {});
  // Null for a worker that runs no stage.
  InBandWorker* worker(int index) { return assembly_->worker(index); }
  // What takes the messages that come from the data plane before; null where the first stage is.
  ProgramFrames* from_before() { return assembly_->homeward(); }

  absl::StatusOr<InBandReport> SetUp(const std::vector<InBandRequest>& requests,
                                     const ProgramParameters& program) override;
  absl::StatusOr<InBandReport> SetUpReads(const std::vector<InBandRead>& reads,
                                          const ProgramParameters& program) override;
  absl::StatusOr<InBandReport> Release(const std::vector<Row>& inputs) override;
  absl::StatusOr<WalkSeconds> Walk(const std::vector<InBandRequest>& requests) override;
  std::vector<uint32_t> circuits_on_links() const override;
  std::vector<uint32_t> circuits_at_disks() const override;

  // The circuit at an input was installed or removed by other means. It is counted on its links, in
  // band, before the next program.
  void NoteCircuit(Row input);

  // Waits for a program that runs: the links are for all of it as they were when it began.
  void SetLinkUp(LinkId link, bool up);

  // Before the workers stop: a program that runs is given up.
  void Stop() { post_.Stop(); }

 private:
  LoadedInBand(const Network& network, const FabricPlan& plan, RouteTable& routes,
               const LinkCapacity& capacity, std::optional<CandidatePaths> candidates,
               const InBandTrunks& trunks);
  absl::Status CheckTwoFold() const;

  // All of these need mutex_.
  absl::Status CheckFree(const std::vector<InBandRequest>& requests) const;
  absl::Status CheckReads(const std::vector<InBandRead>& reads) const;
  // FailedPrecondition as ProgramPost's. What a program that was given up did after all is taken
  // back.
  absl::Status CheckReady();
  // Runs it. `done` says, once it has ended, what it released and installed; these are circuits of
  // `inputs`.
  absl::Status RunProgram(std::unique_ptr<Program> program, std::function<GivenCircuits()> done,
                          const std::vector<Row>& inputs);
  absl::Status BeginRun();
  absl::Status CatchUp();
  absl::StatusOr<InBandReport> Run(const ProgramParameters& parameters,
                                   std::vector<Candidates> requests);

  const Network& network_;
  RouteTable& routes_;
  const LinkCapacity& capacity_;
  const std::optional<CandidatePaths> candidates_;  // of a two-fold butterfly
  const std::unique_ptr<DiskNodes> disks_;  // of a randomly-wired one whose outputs are here
  ProgramPost post_;
  InputNodes inputs_;
  OutputNodes outputs_;
  std::vector<std::unique_ptr<StageNodes>> stages_;  // by stage; null on another data plane
  std::optional<InBandAssembly> assembly_;           // made once
  std::optional<TrunkRuns> runs_;  // mutex_; none unless other data planes run stages

  std::mutex mutex_;
  CircuitBook book_;  // mutex_
  FaultSet faults_;   // mutex_
  // mutex_. Of a program that was given up and whose caller was told that nothing was done; it uses
  // the program, which post_ keeps. Else null.
  std::function<GivenCircuits()> given_up_;
};

}  // namespace bfly::dataplane

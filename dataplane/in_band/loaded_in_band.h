// SPDX-License-Identifier: Apache-2.0
// InBand as it is: the probes' side of every worker of one loaded fabric.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "dataplane/core/route_table.h"
#include "dataplane/in_band/circuit_book.h"
#include "dataplane/in_band/in_band.h"
#include "dataplane/in_band/in_band_worker.h"
#include "dataplane/in_band/program_post.h"
#include "dataplane/programs/candidates.h"
#include "dataplane/programs/disk_nodes.h"
#include "dataplane/stages/plan.h"
#include "topologies/fault_set.h"
#include "topologies/switch_settings.h"

namespace bfly::dataplane {

class LoadedInBand final : public InBand {
 public:
  // FailedPrecondition: the network is neither a two-fold nor a randomly-wired butterfly, or some
  // of its stages run on another data plane. All four outlive the object.
  static absl::StatusOr<std::unique_ptr<LoadedInBand>> Make(const Network& network,
                                                            const FabricPlan& plan,
                                                            RouteTable& routes,
                                                            const LinkCapacity& capacity);
  // Null for a worker that runs no stage.
  InBandWorker* worker(int index) { return workers_[index].get(); }

  absl::StatusOr<InBandReport> Collision(const std::vector<InBandRequest>& requests,
                                         const CollisionOptions& options) override;
  absl::StatusOr<InBandReport> Minimum(const std::vector<InBandRequest>& requests,
                                       const MinimumOptions& options) override;
  absl::StatusOr<InBandReport> ReadByCollision(const std::vector<InBandRead>& reads,
                                               const CollisionOptions& options) override;
  absl::StatusOr<InBandReport> ReadByMinimum(const std::vector<InBandRead>& reads,
                                             const MinimumOptions& options) override;
  absl::StatusOr<InBandReport> Release(const std::vector<Row>& inputs) override;
  absl::StatusOr<WalkSeconds> Walk(const std::vector<InBandRequest>& requests) override;
  std::vector<uint32_t> circuits_on_links() const override;
  std::vector<uint32_t> circuits_at_disks() const override;

  // The circuit at an input was installed or removed by other means. It is counted on its links, in
  // band, before the next exchange.
  void NoteCircuit(Row input);

  // Waits for an exchange that runs: the links are for all of it as they were when it began.
  void SetLinkUp(LinkId link, bool up);

  // Before the workers stop: an exchange that runs is given up.
  void Stop() { post_.Stop(); }

 private:
  LoadedInBand(const Network& network, const FabricPlan& plan, RouteTable& routes,
               const LinkCapacity& capacity, std::optional<CandidatePaths> candidates);
  static absl::Status CheckThreshold(const char* field, uint32_t value);
  absl::Status CheckTwoFold() const;

  // All of these need mutex_.
  absl::Status CheckFree(const std::vector<InBandRequest>& requests) const;
  absl::Status CheckReads(const std::vector<InBandRead>& reads) const;
  absl::Status CatchUp();
  template <class Protocol, class Options>
  absl::StatusOr<InBandReport> Choose(std::vector<Candidates> requests, const Options& options);

  const Network& network_;
  RouteTable& routes_;
  const LinkCapacity& capacity_;
  const std::optional<CandidatePaths> candidates_;  // of a two-fold butterfly
  const std::unique_ptr<DiskCounts> disks_;         // of a randomly-wired one, else null
  ExchangePost post_;
  InputNodes inputs_;
  OutputNodes outputs_;
  std::vector<std::unique_ptr<StageCounts>> stages_;
  std::vector<std::unique_ptr<ProbeRing>> rings_;
  std::vector<std::unique_ptr<InBandWorker>> workers_;  // by worker of the plan

  std::mutex mutex_;
  CircuitBook book_;  // mutex_
  FaultSet faults_;   // mutex_
};

}  // namespace bfly::dataplane

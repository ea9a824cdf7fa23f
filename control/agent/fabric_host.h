// SPDX-License-Identifier: Apache-2.0
// The one fabric a data-plane process may hold, with what the API knows about it and the packets do
// not: the topology it came from, the controller's circuit ids, links and nodes taken down by hand,
// the sources asked for. No gRPC.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bfly/v1/topology.pb.h"
#include "bfly/v1/traffic.pb.h"
#include "control/agent/ownership.h"
#include "control/topology_file/link_policy.h"
#include "dataplane/fabric/fabric.h"
#include "dataplane/fabric/link_query.h"
#include "dataplane/in_band/in_band.h"
#include "topologies/fault_set.h"

namespace bfly::control {

// What the host needs of dataplane::Fabric; tests without ports put their own here.
struct FabricBackend {
  std::function<std::vector<absl::Status>(const dataplane::FabricConfig&)> verify;
  std::function<absl::StatusOr<std::unique_ptr<dataplane::Fabric>>(const dataplane::FabricConfig&)>
      load;
};

// A circuit as the data plane holds it.
struct HeldCircuit {
  Row input = 0;
  Tag tag = 0;
  uint64_t id = 0;                      // the controller's
  std::optional<uint64_t> object = {};  // of a read; the controller's too
};

// What the stage workers are to do by themselves: release, then set up.
struct InBandTask {
  dataplane::ProgramParameters program;  // that sets up
  std::vector<dataplane::InBandRequest> requests;
  // Or reads; objects[i] is what reads[i] is of.
  std::vector<dataplane::InBandRead> reads;
  std::vector<uint64_t> objects;
  std::vector<Row> release;
  uint64_t base_revision = 0;
  bool link_circuits = false;
};
struct InBandAnswer {
  uint64_t revision = 0;
  dataplane::InBandReport report;       // without the paths of a release
  std::vector<uint32_t> link_circuits;  // if asked for
};

// Thread-safe. Calls that change something are done one after the other; reading waits for none of
// them but the moment of unloading.
class FabricHost {
 public:
  FabricHost(FabricBackend backend, std::string name, Ownership::Clock clock = SteadyNow);
  ~FabricHost();

  const std::string& name() const { return name_; }
  // Differs from process to process.
  const std::string& boot_id() const { return boot_id_; }
  // Which controller may change it. Whoever serves a controller asks; the calls below do not.
  Ownership& ownership() { return ownership_; }

  // INVALID_ARGUMENT with every error, each under "topology". Changes nothing.
  absl::Status Verify(const v1::Topology& topology) const;
  // The new revision. FAILED_PRECONDITION if a fabric is loaded.
  absl::StatusOr<uint64_t> Load(const v1::Topology& topology);
  // The account at the very end. FAILED_PRECONDITION if none is loaded.
  absl::StatusOr<dataplane::Snapshot> Unload();

  // Removes, then installs; all or nothing. ABORTED if base_revision is neither 0 nor the revision
  // now.
  absl::StatusOr<uint64_t> UpdateCircuits(const std::vector<HeldCircuit>& install,
                                          const std::vector<Row>& remove, uint64_t base_revision);
  // The errors of dataplane::InBand, and ABORTED as above; after an error or a refusal what was to
  // be released first stands as before. Circuits set up have id 0 until they are installed again
  // with one.
  absl::StatusOr<InBandAnswer> ExchangeInBand(const InBandTask& task);
  // All that are to run. latency_id: of the newest that wants latencies recorded, 0: none; a larger
  // one than before starts recording anew.
  absl::Status SetSources(const std::vector<v1::TrafficSource>& sources, uint64_t latency_id);
  // A link works while neither it nor one of its nodes is down. INVALID_ARGUMENT: the network has
  // no such link or node, or another data plane runs the link.
  absl::Status SetFault(const Fault& fault, bool down);
  // Replaces the changes to the topology's links. INVALID_ARGUMENT names every error under
  // "changes".
  absl::Status SetLinks(const LinkOverrides& changes);

  // What is held now, in one piece.
  struct Held {
    bool loaded = false;
    uint64_t revision = 0;  // changes with the fabric and its circuits
    v1::Topology topology;
    std::vector<HeldCircuit> circuits;  // by input
    std::vector<LinkId> down_links;     // by themselves
    std::vector<NodeId> down_nodes;
    LinkOverrides link_changes;
    std::vector<v1::TrafficSource> sources;
    std::vector<dataplane::StagePlacement> placement;
    std::vector<std::string> problems;  // of ports and trunks
  };
  // `full`: also topology, circuits, links and sources.
  Held held(bool full) const;
  // Without `links` it is cheap, however large the network.
  absl::StatusOr<dataplane::Snapshot> snapshot(bool links) const;
  // INVALID_ARGUMENT names the field of the query that is wrong; ABORTED: the fabric was unloaded
  // meanwhile.
  absl::StatusOr<dataplane::LinkReading> ReadLinks(const dataplane::LinkQuery& query) const;
  struct Traffic {
    std::vector<dataplane::SourceCounters> sources;
    dataplane::LatencyReport latency;
  };
  absl::StatusOr<Traffic> traffic() const;

 private:
  absl::StatusOr<dataplane::FabricConfig> ConfigOf(v1::Topology topology) const;
  absl::Status CheckUpdate(const std::vector<HeldCircuit>& install,
                           const std::vector<Row>& remove) const;
  // FAILED_PRECONDITION if there is none.
  absl::Status CheckLoaded() const;
  // With change_: what an in-band exchange released stands again.
  void Reinstate(const std::vector<HeldCircuit>& released);

  const FabricBackend backend_;
  const std::string name_;
  const std::string boot_id_;
  Ownership ownership_;  // thread-safe

  std::mutex change_;                // held during a change, taken before state_
  mutable std::shared_mutex state_;  // guards what follows
  std::unique_ptr<dataplane::Fabric> fabric_;
  uint64_t loads_ = 0;  // which fabric it is
  uint64_t revision_;
  v1::Topology topology_;
  struct Slot {
    bool held = false;
    Tag tag = 0;
    uint64_t id = 0;
    std::optional<uint64_t> object = {};
  };
  std::vector<Slot> circuits_;      // by input row
  std::optional<FaultSet> faults_;  // of the fabric's network; none: there is no fabric
  LinkOverrides link_changes_;
  std::vector<v1::TrafficSource> sources_;
  uint64_t latency_id_ = 0;  // 0: latencies are not recorded
};

}  // namespace bfly::control

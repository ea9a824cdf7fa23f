// SPDX-License-Identifier: Apache-2.0
// The fabric of a data-plane process, with the state that the API adds to it: the topology from
// which it was loaded, the controller's circuit ids, the links and nodes taken down by hand, and
// the sources that clients asked for. No gRPC.
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
#include "bfly/v1/agent.pb.h"
#include "bfly/v1/topology.pb.h"
#include "bfly/v1/traffic.pb.h"
#include "control/agent/ownership.h"
#include "control/agent/port_changes.h"
#include "control/topology_file/link_policy.h"
#include "dataplane/fabric/fabric.h"
#include "dataplane/fabric/link_query.h"
#include "dataplane/in_band/in_band.h"
#include "topologies/fault_set.h"

namespace bfly::control {

// The functions of dataplane::Fabric that the host needs. Tests without ports replace them.
struct FabricBackend {
  std::function<std::vector<absl::Status>(const dataplane::FabricConfig&)> verify;
  std::function<absl::StatusOr<std::unique_ptr<dataplane::Fabric>>(const dataplane::FabricConfig&)>
      load;
  // Checks devices of ports that are added to a running fabric; null: all devices are allowed.
  DeviceCheck check_device = nullptr;
};

// A circuit as the data plane holds it.
struct HeldCircuit {
  Row input = 0;
  Tag tag = 0;
  uint64_t id = 0;                      // the controller's id of the circuit
  std::optional<uint64_t> object = {};  // the object of a read, which the controller knows
};

// An order that the stage workers carry out by themselves: they release circuits, then set circuits
// up.
struct InBandTask {
  dataplane::ProgramParameters program;  // the program that sets circuits up
  std::vector<dataplane::InBandRequest> requests;
  // Either requests or reads. reads[i] reads objects[i].
  std::vector<dataplane::InBandRead> reads;
  std::vector<uint64_t> objects;
  std::vector<Row> release;
  uint64_t base_revision = 0;
  bool link_circuits = false;
};
struct InBandAnswer {
  uint64_t revision = 0;
  dataplane::InBandReport report;       // without the paths of a release
  std::vector<uint32_t> link_circuits;  // only if the task asks for it; see ExchangeInBand
};

// The state of the data plane at one moment.
struct HeldFabric {
  bool loaded = false;
  uint64_t revision = 0;  // changes with the fabric and its circuits
  v1::Topology topology;
  std::vector<HeldCircuit> circuits;  // ordered by input
  std::vector<LinkId> down_links;     // links taken down by themselves
  std::vector<NodeId> down_nodes;
  LinkOverrides link_changes;
  v1::PortChanges port_changes;
  std::vector<v1::TrafficSource> sources;
  uint64_t latency_id = 0;  // as FabricHost::SetSources was given
  std::vector<dataplane::StagePlacement> placement;
  std::vector<dataplane::PortStatus> ports;  // of ports and trunks
  std::vector<std::string> problems;         // of ports and trunks
  dataplane::WorkerPasses worker_passes;
};

// The loaded fabric, for a call that takes long. Changes and readers can go on during the call. The
// fabric may be unloaded, but it is not destroyed before the last user has let go of it.
struct FabricInUse {
  std::shared_lock<std::shared_mutex> in_use;
  dataplane::Fabric* fabric;
};

// Thread-safe. Changes are done one after the other. Reading waits for no change except while the
// fabric is unloaded.
class FabricHost {
 public:
  FabricHost(FabricBackend backend, std::string name, Ownership::Clock clock = SteadyNow);
  ~FabricHost();

  const std::string& name() const { return name_; }
  // Each process has a different one.
  const std::string& boot_id() const { return boot_id_; }
  // Says which controller may change the fabric. Callers that serve a controller must ask it; the
  // calls below do not.
  Ownership& ownership() { return ownership_; }

  // INVALID_ARGUMENT names every error, each under "topology". Changes nothing.
  absl::Status Verify(const v1::Topology& topology) const;
  // Takes `down` down before the first packet, and returns the new revision. FAILED_PRECONDITION: a
  // fabric is loaded. INVALID_ARGUMENT: the network has no such link or node. `changes` is kept for
  // held(). `joins` as in AgentFabricRequest.
  absl::StatusOr<uint64_t> Load(const v1::Topology& topology, const std::vector<Fault>& down = {},
                                const v1::PortChanges& changes = {}, bool joins = false);
  // Unloads the fabric and returns its last account. FAILED_PRECONDITION: no fabric is loaded.
  absl::StatusOr<dataplane::Snapshot> Unload();

  // Removes circuits, then installs circuits, all or nothing. ABORTED: base_revision is neither 0
  // nor the current revision.
  absl::StatusOr<uint64_t> UpdateCircuits(const std::vector<HeldCircuit>& install,
                                          const std::vector<Row>& remove, uint64_t base_revision);
  // Returns the errors of dataplane::InBand, and ABORTED as UpdateCircuits. After an error or a
  // refusal, the circuits that should have been released stand as before. Circuits that were set up
  // have id 0 until they are installed again with an id. If circuits were exchanged and the links
  // could not be counted afterwards, the answer is without link_circuits.
  absl::StatusOr<InBandAnswer> ExchangeInBand(const InBandTask& task);
  // Runs these sources and no others. `latency_id` is the id of the newest source that wants
  // latencies recorded, or 0; a larger one than before starts the recording anew.
  // DEADLINE_EXCEEDED: a worker made no pass for two seconds; held() has the new sources, and they
  // run when the worker goes on. After other errors nothing is changed.
  absl::Status SetSources(const std::vector<v1::TrafficSource>& sources, uint64_t latency_id);
  // A link works while neither it nor one of its nodes is down. INVALID_ARGUMENT: the network has
  // no such link or node, or another data plane runs the link.
  absl::Status SetFault(const Fault& fault, bool down);
  // Replaces the changes to the topology's links. INVALID_ARGUMENT names every error under
  // "changes". DEADLINE_EXCEEDED as for SetSources.
  absl::Status SetLinks(const LinkOverrides& changes);
  // Makes the ports of the topology those of the request. Readers do not wait for the devices.
  // INVALID_ARGUMENT and FAILED_PRECONDITION name the field under "port", and nothing is changed.
  // If a previous port could not be opened again, the error names it and held() is without it.
  absl::Status SetPorts(const v1::AgentPortsRequest& request);

  using Held = HeldFabric;
  // `full`: the result also has the topology, the circuits, the links and the sources.
  Held held(bool full) const;
  // Without `links` it is cheap, however large the network.
  absl::StatusOr<dataplane::Snapshot> snapshot(bool links) const;
  // Calls `read` with the fabric while changes wait. Returns false if no fabric is loaded.
  bool Read(const std::function<void(const dataplane::Fabric&)>& read) const;
  // INVALID_ARGUMENT names the wrong field of the query. ABORTED: the fabric was unloaded.
  absl::StatusOr<dataplane::LinkReading> ReadLinks(const dataplane::LinkQuery& query) const;
  struct Traffic {
    std::vector<dataplane::SourceCounters> sources;
    dataplane::LatencyReport latency;
  };
  absl::StatusOr<Traffic> traffic() const;
  // FAILED_PRECONDITION: no fabric is loaded. `faults`, if given, gets a copy of the faults in
  // place. The time that takes grows with their number.
  absl::StatusOr<FabricInUse> Use(std::optional<FaultSet>* faults = nullptr);

 private:
  // FAILED_PRECONDITION: no fabric is loaded.
  absl::Status CheckLoaded() const;
  // The caller holds change_. Installs again the circuits that an exchange in band released.
  void Reinstate(const std::vector<HeldCircuit>& released);

  const FabricBackend backend_;
  const std::string name_;
  const std::string boot_id_;
  Ownership ownership_;  // thread-safe

  std::mutex change_;  // held during a change, taken before state_
  // Shared by users of the fabric, taken after state_. Unload takes it to destroy the fabric.
  std::shared_mutex in_use_;
  mutable std::shared_mutex state_;  // guards the members below
  std::unique_ptr<dataplane::Fabric> fabric_;
  uint64_t loads_ = 0;  // how many fabrics were loaded
  uint64_t revision_;
  v1::Topology topology_;
  struct Slot {
    bool held = false;
    Tag tag = 0;
    uint64_t id = 0;
    std::optional<uint64_t> object = {};
  };
  std::vector<Slot> circuits_;      // one for each input row
  std::optional<FaultSet> faults_;  // the fabric's network has these; nullopt: there is no fabric
  LinkOverrides link_changes_;
  v1::PortChanges port_changes_;
  std::vector<v1::TrafficSource> sources_;
  uint64_t latency_id_ = 0;  // 0: latencies are not recorded
};

}  // namespace bfly::control

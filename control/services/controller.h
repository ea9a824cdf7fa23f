// SPDX-License-Identifier: Apache-2.0
// The controller: one fabric over its data planes, and what keeps them in step. No gRPC types; the
// services are thin layers over this class.
//
// Threads. Calls that change something are done one after the other under change_, which is held
// while data planes are asked; plans that come meanwhile are gathered in the queue and committed as
// one batch. state_ guards what readers see and is never held during a call to a data plane, so
// readers never wait for one.
//
// Deadlines. A call waits for change_ and for data planes until its deadline, and then returns
// DEADLINE_EXCEEDED. The data planes that may hold something else than the intent by then are
// marked, and the watching thread puts them right.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bfly/v1/fabric.pb.h"
#include "bfly/v1/traffic.pb.h"
#include "control/intent/in_band_order.h"
#include "control/intent/in_band_outcome.h"
#include "control/services/arbitration.h"
#include "control/services/change_lock.h"
#include "control/services/circuit_feed.h"
#include "control/services/commit_queue.h"
#include "control/services/intent.h"
#include "control/services/load_planes.h"
#include "control/services/resources.h"
#include "control/store/store.h"

namespace bfly::control {

class Controller {
 public:
  struct Options {
    std::string run_directory;
    // Addresses of agents to adopt from when starting, besides the sockets in the run directory.
    std::vector<std::string> agents;
    // As whom it claims data planes; one without id makes one up.
    v1::AgentOwner owner = {};
    // By which the owner of the sockets may change the fabric whoever is primary; 0: there is none.
    uint64_t operator_id = 0;
    // How often every data plane is asked whether it is there and in step.
    std::chrono::milliseconds watch_interval{300};
    // What an operator wants to know, a line each; called from any thread.
    std::function<void(const std::string&)> log = [](const std::string&) {};
  };
  // Takes over what data planes hold already (Adopt), then watches them. Data planes that do not
  // answer at that moment are asked again until they do.
  explicit Controller(Options options);
  ~Controller();

  Arbitration& arbitration() { return arbitration_; }
  Resources& resources() { return resources_; }

  // Changes nothing. INVALID_ARGUMENT names every error; UNAVAILABLE a data plane that does not
  // answer.
  absl::Status Verify(const v1::Topology& topology, Deadline deadline);
  // All data planes or none. FAILED_PRECONDITION if a fabric is loaded and not `replace`; if a
  // replacing one cannot be loaded, the one before runs again, its circuits too.
  absl::Status Load(const v1::Topology& topology, bool replace, uint64_t election_id,
                    Deadline deadline);
  absl::StatusOr<std::vector<LastFigures>> Unload(uint64_t election_id, Deadline deadline);
  absl::StatusOr<v1::DescribeResponse> Describe(bool links) const;
  // All but the conservation.
  v1::FabricStatus Status();
  // All data planes that run a part of it, or none. `find` looks it up in the network of the loaded
  // fabric.
  using FindFault = std::function<absl::StatusOr<Fault>(const Network&)>;
  absl::Status SetFault(uint64_t election_id, const FindFault& find, bool down, Deadline deadline);
  // All data planes or none: if one fails, the others get back what they had.
  absl::StatusOr<v1::SetLinksResponse> SetLinks(const v1::SetLinksRequest& request,
                                                Deadline deadline);
  absl::StatusOr<v1::GetLinksResponse> GetLinks(const v1::GetLinksRequest& request) const;
  // Beside those that run; the ones that have the names of `sources` are replaced.
  absl::Status StartTraffic(Traffic::Sources sources, uint64_t election_id, Deadline deadline);
  // NOT_FOUND if one of the names does not run. No names: all sources.
  absl::Status StopTraffic(const std::vector<std::string>& names, uint64_t election_id,
                           Deadline deadline);
  absl::StatusOr<v1::ListTrafficResponse> ListTraffic(Deadline deadline) const;

  // What changes circuits, reads and objects goes through this queue.
  CommitQueue& queue() { return queue_; }
  // Executes it on the state and has the data plane do it, or neither. `execute` may be called more
  // than once, each time on a state without what it did before; it keeps its own results. An error
  // here means that nothing was changed whatever `execute` found; DEADLINE_EXCEEDED that it had not
  // begun by the deadline.
  absl::Status Commit(uint64_t election_id, CommitQueue::Clock::time_point deadline,
                      const std::function<void(FabricState&)>& execute) {
    return queue_.Commit(election_id, execute, deadline);
  }

  // Has the stage workers do it, with no controller on the way, and learns what they did.
  // FAILED_PRECONDITION also where the protocol is neither collision nor minimum, and where the
  // stages are split over data planes. RESOURCE_EXHAUSTED names the link without room, as a call
  // without in_band would; then nothing was changed.
  // An interrupt before the workers begin leaves the order undone; one that comes while they work
  // has what they did undone. The same key with the same order gets the same outcome again.
  struct InBandCaller {
    uint64_t election_id = 0;
    std::string key;  // empty: none
    Interrupt interrupt;
  };
  using MakeInBandOrder = std::function<absl::StatusOr<InBandOrder>(const Network&)>;
  absl::StatusOr<InBandOutcome> ExecuteInBand(const InBandCaller& caller,
                                              const MakeInBandOrder& make_order);

  // What is committed, and nothing that may be taken back. FAILED_PRECONDITION: no fabric is
  // loaded.
  absl::Status Read(const std::function<void(const FabricState&)>& reader) const;

  // Tells the listener what stands now and every change from then on, until Unwatch. `check` may
  // refuse the network; FAILED_PRECONDITION: no fabric is loaded. After an error it is told
  // nothing.
  absl::Status Watch(CircuitListener* listener,
                     const std::function<absl::Status(const Network&)>& check);
  void Unwatch(CircuitListener* listener) { feed_.Remove(listener); }

  // What telemetry needs to ask the data planes itself.
  struct View {
    std::string name;
    std::shared_ptr<const Network> network;
    DataPlanes planes;               // in the order of their first stage
    std::vector<uint32_t> circuits;  // on every link, by index
    LinkCapacity capacity;
    uint64_t standing = 0;  // circuits
    uint64_t broken = 0;    // of these
    Blocking blocking;
  };
  // FAILED_PRECONDITION: no fabric is loaded.
  absl::StatusOr<View> view(bool circuits) const;
  // Whether every data plane of the loaded fabric is usable; true if none is loaded.
  bool all_usable() const;

 private:
  // Takes the lock for a call that changes the loaded fabric, if it may. DEADLINE_EXCEEDED: others
  // held the lock until then, and nothing was changed.
  absl::StatusOr<std::unique_lock<ChangeLock>> BeginChange(uint64_t election_id, Deadline deadline);
  absl::Status CheckLoaded() const;
  // Calls `reader` with state_, which is shared unless this is the first reader since something was
  // executed that is not committed yet: that one has it withdrawn first.
  void ReadCommitted(const std::function<void()>& reader) const;
  // UNAVAILABLE names the first data plane that cannot be used.
  absl::Status CheckUsable() const;

  // The rest needs change_.
  void CarryOut(const std::vector<Plan*>& plans);
  void CarryOutUsable(const std::vector<Plan*>& plans);
  absl::Status TryCarryOut(const std::function<void(FabricState&)>& execute,
                           Deadline deadline = kNoDeadline);
  absl::Status Push(const CircuitChange& change, Deadline deadline = kNoDeadline);
  // The same error, saying that it is the data plane's that runs stage 0.
  absl::Status AtIngress(const absl::Status& status) const;
  absl::Status SetTraffic(Traffic traffic, Deadline deadline);
  absl::StatusOr<v1::AgentInBandResponse> AskInBand(v1::AgentInBandRequest& request);
  absl::Status LearnRefusal(const InBandOrder& order, const v1::AgentInBandRefusal& refusal);
  absl::StatusOr<InBandOutcome> LearnInBand(const InBandCaller& caller, const InBandOrder& order,
                                            const v1::AgentInBandRequest& request,
                                            const v1::AgentInBandResponse& response);
  // What the ingress did is not known, for this reason.
  absl::Status Distrust(const absl::Status& status);
  absl::Status LoadPlanes(const Intent& intent, bool take_over, Deadline deadline);
  void Restore(Intent& intent, Deadline deadline);
  void Replace(std::unique_ptr<Intent> intent);

  // Where agents may be that hold a fabric.
  std::vector<std::string> AgentAddresses() const;
  // Takes over what the agents of unheard_ hold, and forgets those that have answered.
  void Adopt();
  // The same once one of them answers; called by the watching thread.
  void AdoptLate();
  void TakeOver(const v1::Topology& topology, const DataPlanes& found);
  // A data plane of the loaded fabric answers at another address than was expected.
  void MoveTo(const std::shared_ptr<DataPlane>& found);
  // Whether loading `intent` came to its end at `plane` is not known: what it holds of it is
  // unloaded as soon as that is seen.
  void GiveUp(const Intent& intent, const std::shared_ptr<DataPlane>& plane);
  void Watch();
  void LookAt(DataPlane& plane);
  // Compares what the data plane holds with the intent and makes up the difference, never clearing
  // first.
  absl::Status Reconcile(DataPlane& plane);
  absl::Status ReconcileFabric(DataPlane& plane, v1::AgentState& held);
  absl::StatusOr<uint64_t> ReconcileCircuits(DataPlane& plane, v1::AgentState& held);
  absl::Status ReconcileLinksAndTraffic(DataPlane& plane, const v1::AgentState& held);
  absl::Status PushLinks(const LinkOverrides& changes, Deadline deadline);
  // What the topology wants done with circuits that are broken, and `crossing`, circuits over a
  // link whose state changed, are told.
  void DealWithBroken(const std::vector<Row>& crossing, Deadline deadline);
  // `deal` is executed for each. All in one step where the data plane allows it. An error means
  // that it cannot be asked now.
  absl::Status ForEach(const std::vector<Row>& inputs,
                       const std::function<void(FabricState&, Row)>& deal, Deadline deadline);
  // Circuits that have another path leave the link.
  void MoveOff(const Fault& fault, Deadline deadline);
  void TellCircuits(const std::vector<Row>& inputs);
  v1::CircuitPolicy::OnFailure on_failure() const {
    return intent_->topology.circuits().on_failure();
  }
  void AdoptCircuits(const v1::AgentState& held);
  void AdoptObjects();
  bool IsInIntent(const DataPlane& plane) const;
  DataPlanes planes() const;

  // With state_: what was done stands, and is told.
  void Settle(const CircuitChange& change);

  const Options options_;
  Arbitration arbitration_;
  Resources resources_;
  ChangeLock change_;
  mutable std::shared_mutex state_;  // guards intent_ and past_
  std::unique_ptr<Intent> intent_;   // null: nothing is loaded
  CircuitFeed feed_;
  DataPlanes past_;               // of fabrics loaded before, not part of the one now
  uint64_t last_id_ = 0;          // change_: of the circuits of fabrics before
  std::unique_ptr<Store> store_;  // change_: where objects were placed
  // Agents that may hold a fabric but did not answer yet. Only the constructor and then the
  // watching thread use it.
  struct Unheard {
    std::string address;
    std::unique_ptr<AgentClient> client;
  };
  std::vector<Unheard> unheard_;

  std::mutex watch_mutex_;
  std::condition_variable watch_changed_;
  bool stopping_ = false;  // watch_mutex_
  std::thread watch_;
  // Ends first of all.
  CommitQueue queue_{change_, [this](const std::vector<Plan*>& plans) { CarryOut(plans); },
                     resources_};
};

}  // namespace bfly::control

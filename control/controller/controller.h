// SPDX-License-Identifier: Apache-2.0
// The controller: one fabric over its data planes. It owns the parts that change the fabric and the
// thread that keeps the data planes in step. No gRPC types; the services are thin layers over the
// parts.
//
// Threads. Calls that change something are done one after the other under the change lock of the
// intent, which is held while data planes are asked. Plans that come meanwhile are gathered in the
// queue and committed as one batch. Readers never wait for a data plane.
//
// Deadlines. A call waits for the change lock and for data planes until its deadline, and then
// returns DEADLINE_EXCEEDED. Data planes that may hold something else than the intent by then are
// marked, and the watching thread puts them right.
#pragma once

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
#include "bfly/v1/fabric.pb.h"
#include "control/controller/adoption.h"
#include "control/controller/arbitration.h"
#include "control/controller/circuit_commit.h"
#include "control/controller/commit_queue.h"
#include "control/controller/controller_options.h"
#include "control/controller/fabric_loader.h"
#include "control/controller/fault_control.h"
#include "control/controller/fault_reports.h"
#include "control/controller/in_band_session.h"
#include "control/controller/intent_events.h"
#include "control/controller/intent_keeper.h"
#include "control/controller/kept_objects.h"
#include "control/controller/link_control.h"
#include "control/controller/loaded_intent.h"
#include "control/controller/plane_events.h"
#include "control/controller/plane_watch.h"
#include "control/controller/port_control.h"
#include "control/controller/program_control.h"
#include "control/controller/reconciler.h"
#include "control/controller/resources.h"
#include "control/controller/traffic_control.h"
#include "control/store/store.h"

namespace bfly::control {

class Controller {
 public:
  using Options = ControllerOptions;
  // Takes over what data planes hold already, then watches them. Data planes that do not answer at
  // that moment are asked again until they do.
  explicit Controller(Options options);
  ~Controller();

  EventLog& events() { return *options_.events; }
  Arbitration& arbitration() { return arbitration_; }
  Resources& resources() { return resources_; }
  LoadedIntent& intent() { return intent_; }
  FabricLoader& loader() { return loader_; }
  const IntentKeeper& keeper() const { return keeper_; }
  // IntentKeeper::WriteNow. Needs the change lock.
  void WriteIntent() { keeper_.WriteNow(); }
  FaultControl& faults() { return faults_; }
  LinkControl& links() { return links_; }
  PortControl& ports() { return ports_; }
  TrafficControl& traffic() { return traffic_; }
  InBandSession& in_band() { return in_band_; }
  ProgramControl& programs() { return programs_; }

  // Everything that changes circuits, reads and objects goes through this queue.
  CommitQueue& queue() { return queue_; }
  // Executes on the state and has the data plane do the same, or neither. `execute` may be called
  // more than once, each time on a state without what it did before, and keeps its own results. An
  // error means that nothing was changed whatever `execute` found; DEADLINE_EXCEEDED means that the
  // deadline came before it had begun.
  absl::Status Commit(uint64_t election_id, CommitQueue::Clock::time_point deadline,
                      const std::function<void(FabricState&)>& execute) {
    return queue_.Commit(election_id, execute, deadline);
  }
  // Reads what is committed. FAILED_PRECONDITION: no fabric is loaded.
  absl::Status Read(const std::function<void(const FabricState&)>& reader) const;

  absl::StatusOr<v1::DescribeResponse> Describe(bool links);
  // Everything but the conservation.
  v1::FabricStatus Status();

  // What telemetry needs to ask the data planes itself.
  struct View {
    std::string name;
    std::shared_ptr<const Network> network;
    uint64_t restores = 0;           // Intent::restores
    DataPlanes planes;               // in the order of their first stage
    std::vector<uint32_t> circuits;  // on every link, by index
    LinkCapacity capacity;
    uint64_t standing = 0;  // circuits
    uint64_t broken = 0;    // of these
    Blocking blocking;
    std::optional<FaultSet> faults;  // none: nothing is down
  };
  // FAILED_PRECONDITION: no fabric is loaded.
  absl::StatusOr<View> view(bool circuits) const;
  bool all_usable() const { return intent_.all_usable(); }

 private:
  void Watch();
  // Reads a store that could not be read when the controller started, once it can be read.
  void ReadStoreLate();
  absl::Status ReconcileIngress() { return reconciler_.Reconcile(intent_.now().ingress()); }
  void NotePrimary(uint64_t election_id, uint64_t before);

  const Options options_;
  Arbitration arbitration_;
  Resources resources_;
  const std::unique_ptr<Store> store_;  // where the intent is kept
  LoadedIntent intent_{arbitration_};
  IntentEvents intent_events_{intent_, *options_.events};
  IntentKeeper keeper_{intent_, *store_, *options_.events};
  KeptObjects objects_{intent_, *store_, resources_, *options_.events,
                       [this] { return ReconcileIngress(); }};
  CircuitCommit commit_{intent_, *store_, objects_, arbitration_,
                        [this] { return ReconcileIngress(); }};
  FaultControl faults_{intent_, commit_, *options_.events};
  FaultReports fault_reports_;
  LinkControl links_{intent_, *options_.events};
  PortControl ports_{intent_, *options_.events};
  TrafficControl traffic_{intent_, resources_, *options_.events};
  Reconciler reconciler_{intent_,
                         keeper_,
                         faults_,
                         links_,
                         ports_,
                         traffic_,
                         [this](const v1::AgentState& held) { return loader_.ResumeKept(held); },
                         *options_.events};
  PlaneWatch plane_watch_{options_, intent_, reconciler_};
  FabricLoader loader_{options_, intent_, keeper_, resources_, reconciler_};
  TimedLock program_lock_;  // held while stage workers run a program, taken before the change lock
  InBandSession in_band_{intent_, commit_, reconciler_, program_lock_, *options_.events};
  ProgramControl programs_{intent_, program_lock_, *options_.events};
  Adoption adoption_{options_, intent_, objects_, resources_, reconciler_, loader_};

  PlaneEvents plane_events_{*options_.events, options_.worker_patience};  // watch_
  std::chrono::steady_clock::time_point next_read_ = {};                  // watch_; of the store
  bool resume_left_ = false;  // watch_; the store is yet to say which fabric is to be resumed
  std::mutex watch_mutex_;
  std::condition_variable watch_changed_;
  bool stopping_ = false;  // watch_mutex_
  std::thread watch_;
  // It ends first of all.
  CommitQueue queue_{intent_.change_lock(), commit_, resources_};
};

}  // namespace bfly::control

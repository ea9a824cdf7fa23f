// SPDX-License-Identifier: Apache-2.0
// The schedule of the loaded fabric: started, replaced and stopped by clients, and kept at the data
// plane of stage 0 over faults and restarts.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bfly/v1/schedules.pb.h"
#include "control/controller/kept_paths.h"
#include "control/controller/loaded_intent.h"
#include "control/controller/repeated_call.h"
#include "control/controller/running_schedule.h"
#include "control/controller/schedule_client.h"
#include "control/controller/schedule_message.h"
#include "control/controller/schedule_request.h"
#include "control/events/event_log.h"
#include "control/intent/slot_paths.h"

namespace bfly::control {

// Thread-safe.
class ScheduleControl {
 public:
  struct Options {
    AgentCaller caller;  // as whom data planes are called
    std::chrono::milliseconds watch_interval{200};
    std::shared_ptr<EventLog> events = std::make_shared<EventLog>();
    // Writes the intent to the store, and returns when it is there. Called with the change lock.
    std::function<void()> write_now = [] {};
  };
  // `intent` must outlive the object.
  ScheduleControl(LoadedIntent& intent, Options options);
  ~ScheduleControl() { stops_ = true; }

  // `interrupt` gives up the choice of paths, in which nothing has changed yet.
  absl::StatusOr<v1::ScheduleStatus> Start(const v1::StartScheduleRequest& request,
                                           Deadline deadline, const Interrupt& interrupt);
  // Returns what the schedule did until then.
  // The end is in the store before the data plane is asked.
  absl::StatusOr<v1::ScheduleStatus> Stop(uint64_t election_id, Deadline deadline);
  // `interrupt` as for Start.
  absl::StatusOr<v1::RepairScheduleResponse> Repair(uint64_t election_id, Deadline deadline,
                                                    const Interrupt& interrupt);
  absl::StatusOr<v1::GetScheduleResponse> Get(Deadline deadline);
  // The paths of pairs of rows in the slots of the schedule that runs. Empty without one.
  std::map<RowPair, std::set<Tag>> TagsOfPairs(const std::set<RowPair>& pairs);

 private:
  using SharedRunning = std::shared_ptr<const RunningSchedule>;
  using SharedNetwork = std::shared_ptr<const Network>;

  // Compares the data plane with what was asked for, and makes up the difference. Takes the change
  // lock if there is one.
  void Look();
  bool NeedsLook();
  // These need the change lock.
  ScheduleClient& ingress();
  // A change must know what runs on the loaded fabric, also if no look at it came yet.
  // FailedPrecondition: no fabric is loaded. Unavailable: a data plane of it cannot be used.
  absl::Status CompareFirst(Deadline deadline, bool begin_kept, const Interrupt& interrupt);
  // Takes over the schedule that the data plane runs. If it runs none, begins the one that was
  // kept. `interrupt` gives up the choice of its paths.
  absl::Status Adopt(Deadline deadline, bool begin_kept, const Interrupt& interrupt);
  absl::Status BeginKept(Deadline deadline, const Interrupt& interrupt);
  // The schedule that was kept never begins, because of this error, which it returns.
  absl::Status EndKept(const absl::Status& why);
  // Whether one that was kept has not begun: a start in its place failed and may have reached the
  // data plane, or the store told of it after the first look. A fabric must be loaded.
  bool HasUnbegun();
  // Start() once CompareFirst() has returned.
  absl::StatusOr<v1::ScheduleStatus> StartCompared(v1::Schedule schedule, bool replace,
                                                   Deadline deadline, const Interrupt& interrupt);
  // The intent has this schedule from now on; nothing: none.
  void Keep(std::optional<v1::Schedule> schedule);
  absl::Status KeepInStep(Deadline deadline);
  // Looks at the faults of now, and repairs as many slots as a moment allows.
  void RepairFaults();
  absl::Status CheckRuns();  // FailedPrecondition: no schedule runs
  absl::Status Push(const RunningSchedule& running, Deadline deadline);
  void Note(v1::ScheduleEvent::Change change, const RoutedSchedule& routed) {
    options_.events->Add(ScheduleEventOf(change, routed));
  }
  // Adds an event of a problem that is not the last one.
  void Tell(const absl::Status& status);
  // The fabric that was compared is not the loaded one any more.
  void Forget();
  // May be called without the change lock.
  bool IsForNetwork(const SharedNetwork& network);
  // The schedule that runs on this network; null if none runs.
  SharedRunning RunningOn(const SharedNetwork& network);

  LoadedIntent& intent_;
  const Options options_;
  std::atomic<bool> stops_{false};  // the object is being destroyed
  ScheduleDryRuns dry_runs_;
  std::unique_ptr<ScheduleClient> client_;  // the change lock
  KeptPaths kept_paths_;                    // the change lock

  // Written with the change lock and this mutex held.
  std::mutex mutex_;
  SharedNetwork network_;  // of the fabric that was compared; null: none was yet
  SharedRunning running_;  // null: none runs
  std::string told_problem_;
  SharedNetwork told_of_;  // of the fabric that had the problem
  Deadline begin_again_;   // the change lock: no look tries what was refused before this
  bool unsure_ = false;    // a call failed, so the data plane may hold something else
  std::atomic<bool> changing_{false};  // a change of running_ is at the data plane

  RepeatedCall watch_;  // looks
};

}  // namespace bfly::control

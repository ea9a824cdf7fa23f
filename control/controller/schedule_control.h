// SPDX-License-Identifier: Apache-2.0
// The schedule of the loaded fabric: started, replaced and stopped by clients, and kept at the data
// plane of stage 0 over faults and restarts.
#pragma once

#include <chrono>
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
#include "control/controller/loaded_intent.h"
#include "control/controller/repeated_call.h"
#include "control/controller/schedule_client.h"
#include "control/controller/schedule_message.h"
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
  };
  // `intent` must outlive the object.
  ScheduleControl(LoadedIntent& intent, Options options);

  // `interrupt` gives up the choice of paths, in which nothing has changed yet.
  absl::StatusOr<v1::ScheduleStatus> Start(const v1::StartScheduleRequest& request,
                                           Deadline deadline, const Interrupt& interrupt);
  // Returns what the schedule did until then.
  absl::StatusOr<v1::ScheduleStatus> Stop(uint64_t election_id, Deadline deadline);
  // `interrupt` as for Start.
  absl::StatusOr<v1::RepairScheduleResponse> Repair(uint64_t election_id, Deadline deadline,
                                                    const Interrupt& interrupt);
  absl::StatusOr<v1::GetScheduleResponse> Get(Deadline deadline);
  // The paths of pairs of rows in the slots of the schedule that runs. Empty without one.
  std::map<RowPair, std::set<Tag>> TagsOfPairs(const std::set<RowPair>& pairs);

 private:
  struct Running {
    uint64_t id = 0;
    uint32_t version = 1;
    uint32_t repairs = 0;
    RoutedSchedule routed;
    std::vector<Fault> faults;  // that `routed` was looked at for
    // The slots from here on are yet to be repaired around these faults; nothing: no slot is.
    std::optional<size_t> repair_from;
  };
  using SharedRunning = std::shared_ptr<const Running>;
  using SharedNetwork = std::shared_ptr<const Network>;

  // Chooses the paths without the change lock.
  absl::StatusOr<v1::ScheduleStatus> DryRun(const v1::Schedule& schedule, uint64_t election_id,
                                            const Interrupt& interrupt);
  // Compares the data plane with what was asked for, and makes up the difference. Takes the change
  // lock if there is one.
  void Look();
  bool NeedsLook();
  // These need the change lock.
  ScheduleClient& ingress();
  // A change must know what runs on the loaded fabric, also if no look at it came yet.
  // FailedPrecondition: no fabric is loaded. Unavailable: a data plane of it cannot be used.
  absl::Status CompareFirst(Deadline deadline, bool begin_kept);
  // Takes over the schedule that the data plane runs. If it runs none, begins the one that was
  // kept.
  absl::Status Adopt(Deadline deadline, bool begin_kept);
  absl::Status BeginKept(Deadline deadline);
  // Start() once CompareFirst() has returned.
  absl::StatusOr<v1::ScheduleStatus> StartCompared(v1::Schedule schedule, bool replace,
                                                   Deadline deadline, const Interrupt& interrupt);
  // The intent has this schedule from now on; nothing: none.
  void Keep(std::optional<v1::Schedule> schedule);
  absl::Status KeepInStep(Deadline deadline);
  // Looks at the faults of now, and repairs as many slots as a moment allows.
  void RepairFaults();
  absl::Status CheckRuns();  // FailedPrecondition: no schedule runs
  absl::Status Push(const Running& running, Deadline deadline);
  void Note(v1::ScheduleEvent::Change change, const RoutedSchedule& routed) {
    options_.events->Add(ScheduleEventOf(change, routed));
  }
  // Adds an event of a problem that is not the last one.
  void Tell(const absl::Status& status);
  // The fabric that was compared is not the loaded one any more.
  void Forget();
  // Also without the change lock.
  bool IsOf(const SharedNetwork& network);
  // The schedule that runs on this network; null if none runs.
  SharedRunning RunningOn(const SharedNetwork& network);
  SharedNetwork LoadedNetwork() const;

  LoadedIntent& intent_;
  const Options options_;
  TimedLock dry_run_;                       // one at a time, because the paths take up to 100 MB
  std::unique_ptr<ScheduleClient> client_;  // the change lock

  // Written with the change lock and this mutex held.
  std::mutex mutex_;
  SharedNetwork network_;     // of the fabric that was compared; null: none was yet
  SharedRunning running_;     // null: none runs
  std::string told_problem_;  // the change lock
  Deadline begin_again_;      // the change lock: no look tries what was kept before this
  bool unsure_ = false;       // a call failed, so the data plane may hold something else

  RepeatedCall watch_;  // looks
};

}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
// Step programs that the stage workers of the loaded fabric run, and dry runs of them in the
// controller. They change nothing that the controller keeps.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bfly/v1/route.pb.h"
#include "control/controller/in_band_session.h"
#include "control/controller/loaded_intent.h"
#include "control/controller/timed_lock.h"
#include "control/events/event_log.h"

namespace bfly::control {

class ProgramControl {
 public:
  // Whoever has stage workers run a program holds `programs`.
  ProgramControl(LoadedIntent& intent, TimedLock& programs, EventLog& events)
      : intent_(intent), programs_(programs), events_(events) {}

  // Waits for programs that run already. The change lock is not held during the run, so links may
  // go down meanwhile, and the fabric may be unloaded. Either ends the run.
  // FAILED_PRECONDITION: several data planes run the stages, or the loaded fabric has another
  // network than the request. Otherwise the errors of the data plane. If the caller interrupts, the
  // run is ended.
  absl::StatusOr<v1::RouteReport> Route(const v1::RouteRequest& request,
                                        const InBandSession::Patience& patience);

  // Runs the algorithm on the network of the loaded fabric, in the calling thread, and records
  // where packets were. `waves` and `store_and_forward` go around what is down now. `interrupt` is
  // asked now and then. FAILED_PRECONDITION: something is down, and the program is another one.
  // RESOURCE_EXHAUSTED: more than a recording has room for. DEADLINE_EXCEEDED: it took too long.
  absl::StatusOr<v1::RouteRecording> DryRun(const v1::RouteRequest& request,
                                            const Interrupt& interrupt) const;

 private:
  LoadedIntent& intent_;
  TimedLock& programs_;
  EventLog& events_;
};

}  // namespace bfly::control

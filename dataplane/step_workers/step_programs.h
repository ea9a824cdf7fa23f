// SPDX-License-Identifier: Apache-2.0
// The stage workers of one loaded fabric run a step program together, in exact steps, with real
// packets on their links. Through this interface control starts a run and reads its report.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "dataplane/step_workers/step_frames.h"
#include "dataplane/steps/route.h"

namespace bfly::dataplane {

struct StepRun {
  RouteReport report;          // what RunRoute reports for the same network, links and request
  double seconds = 0;          // the time of the steps alone
  uint64_t barriers = 0;       // how often all workers waited for one another in that time
  double barrier_seconds = 0;  // the time of one such wait without work: the mean of 1,000 to
                               // 10,000 waits, or of the waits of one second
  int workers = 0;             // how many workers took the steps
  std::optional<StepFrameCounts> frames = std::nullopt;  // set if the packets were to have frames
};

// Thread-safe. One program runs at a time, and a second caller waits.
class StepPrograms {
 public:
  virtual ~StepPrograms() = default;

  // Runs a program (steps/route.h) around `faults`, which says which links and nodes are down: the
  // fabric itself knows only links. Every packet of the request is a packet of the fabric: links
  // count it, and so does the account of the workers. The calling thread calls `cancelled` every
  // few milliseconds; it may be empty. options.workers and options.crew are ignored. If
  // options.max_bytes is more than the memory that the machine or the cgroup has left, the memory
  // that is left counts. With options.frame_bytes every packet has a frame from its input on
  // (StepFrames::Make says which sizes and how many packets are refused). A packet whose output row
  // has a host port leaves by that port; all other packets end at their output. The call returns
  // when no frame waits to leave. After an error no packet of the program is in the fabric any
  // more; packets that were injected and not delivered are counted as dropped. Besides the errors
  // of RunRoute: Aborted: a link went down or came up during the run, or the links that `faults`
  // blocks are not the links that are down; the message names the link and the step, and says
  // whether the program goes around links that are down. Cancelled: `cancelled` returned true.
  // Unavailable: the fabric was unloaded during the call. FailedPrecondition: the fabric was
  // unloaded before the call. DeadlineExceeded: a worker made no pass for five seconds.
  virtual absl::StatusOr<StepRun> Run(absl::string_view program, const FaultSet& faults,
                                      const RouteRequest& request, const RouteOptions& options,
                                      const std::function<bool()>& cancelled) = 0;
};

}  // namespace bfly::dataplane

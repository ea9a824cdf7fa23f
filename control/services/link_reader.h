// SPDX-License-Identifier: Apache-2.0
// Reads links of a fabric of any size. Data planes are asked only for the links that a client
// wants, so the memory that it takes grows with the answer alone.
#pragma once

#include "absl/status/status.h"
#include "bfly/v1/telemetry.pb.h"
#include "control/controller/controller.h"
#include "control/controller/timed_lock.h"

namespace bfly::control {

class LinkReader {
 public:
  explicit LinkReader(Controller& controller) : controller_(controller) {}

  // Fills in links, problems and next_page_token. CheckLinkRequest must have agreed to the request
  // for the fabric of `view`. Links of data planes that do not answer until `deadline` are missing.
  // ABORTED: another fabric was loaded since. RESOURCE_EXHAUSTED: too many links are not zero for
  // one answer. DEADLINE_EXCEEDED: other calls or earlier pages took until then.
  absl::Status Read(const v1::GetCountersRequest& request, const Controller::View& view,
                    Deadline deadline, v1::Counters* counters);

 private:
  Controller& controller_;
  TimedLock one_at_a_time_;  // a look at every link of a large fabric keeps a core busy
};

}  // namespace bfly::control

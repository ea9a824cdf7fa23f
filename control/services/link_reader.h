// SPDX-License-Identifier: Apache-2.0
// Links of a fabric of any size: data planes are asked for those that a client wants and for no
// others, and what that takes of memory grows with the answer alone.
#pragma once

#include <mutex>

#include "absl/status/status.h"
#include "bfly/v1/telemetry.pb.h"
#include "control/controller/controller.h"

namespace bfly::control {

class LinkReader {
 public:
  explicit LinkReader(Controller& controller) : controller_(controller) {}

  // Fills in links, problems and next_page_token. CheckLinkRequest agreed to the request for the
  // fabric that is `view`; ABORTED: another one was loaded since. RESOURCE_EXHAUSTED: the links
  // that are not zero are too many for one answer.
  absl::Status Read(const v1::GetCountersRequest& request, const Controller::View& view,
                    v1::Counters* counters);

 private:
  Controller& controller_;
  std::mutex one_at_a_time_;  // a look at every link of a large fabric keeps a core busy
};

}  // namespace bfly::control

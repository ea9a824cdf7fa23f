// SPDX-License-Identifier: Apache-2.0
// Reads links of a fabric of any size. Data planes are asked only for the links that a client
// wants, so the memory that it takes grows with the answer alone.
#pragma once

#include <mutex>

#include "absl/status/status.h"
#include "bfly/v1/telemetry.pb.h"
#include "control/controller/controller.h"

namespace bfly::control {

class LinkReader {
 public:
  explicit LinkReader(Controller& controller) : controller_(controller) {}

  // Fills in links, problems and next_page_token. CheckLinkRequest must have agreed to the request
  // for the fabric of `view`. ABORTED: another fabric was loaded since. RESOURCE_EXHAUSTED: too
  // many links are not zero for one answer.
  absl::Status Read(const v1::GetCountersRequest& request, const Controller::View& view,
                    v1::Counters* counters);

 private:
  Controller& controller_;
  std::mutex one_at_a_time_;  // a look at every link of a large fabric keeps a core busy
};

}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
// One reading of links: what the data planes counted, and the circuits that the controller knows.
#pragma once

#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bfly/v1/agent.pb.h"
#include "bfly/v1/telemetry.pb.h"
#include "control/controller/controller.h"
#include "control/services/link_circuits.h"
#include "topologies/link_choice.h"

namespace bfly::control {

class LinkCall {
 public:
  // `controller`, `view` and `filter` must outlive the object.
  LinkCall(Controller& controller, const Controller::View& view, const v1::CounterFilter& filter,
           Deadline deadline);

  // Adds at most `most` links of index `begin` and above to `counters`. Returns the index of the
  // next page, or the number of links of the network if this was the last page. Pages end early
  // where few links have figures that are not zero.
  absl::StatusOr<uint64_t> Page(uint64_t begin, uint64_t most, v1::Counters* counters);
  // Adds the links with the largest figures, as the filter says.
  absl::Status Top(v1::Counters* counters);
  // Says in words which data planes' links are missing.
  const std::set<std::string>& problems() const { return problems_; }
  // The names of these data planes.
  const std::set<std::string>& planes_missing() const { return planes_missing_; }

 private:
  // A link of the answer. A link without figures has zeros.
  struct Link {
    uint64_t index = 0;
    uint32_t circuits = 0;
    const v1::AgentLinkReading* figures = nullptr;
    int at = 0;  // in the columns

    uint64_t Figure(v1::CounterFilter::Figure figure) const;
  };
  v1::AgentReadLinksRequest Request() const;
  // Returns what all data planes that answer have of the request, in the order of indexes.
  std::vector<Link> Ask(const v1::AgentReadLinksRequest& request);
  // Returns the index at which `links` chosen links from `begin` on have ended.
  uint64_t EndOf(uint64_t begin, uint64_t links) const;
  absl::Status AddCircuits(std::vector<Link>& links) const;
  // Returns the links of begin .. end - 1 that belong to the answer whatever the data planes
  // counted: all chosen links or, where zeros are left out, the chosen links with circuits.
  absl::StatusOr<std::vector<uint64_t>> Unused(uint64_t begin, uint64_t end, uint64_t most) const;
  // Adds the links of `indexes` that are not among `links` yet. Both are in order.
  static void Add(const std::vector<uint64_t>& indexes, std::vector<Link>& links);
  static bool ByIndex(const Link& a, const Link& b) { return a.index < b.index; }
  void Fill(const std::vector<Link>& links, v1::Counters* counters) const;

  const Controller::View& view_;
  const Network& network_;
  const v1::CounterFilter& filter_;
  const LinkChoice choice_;
  const Deadline deadline_;
  const LinkCircuits circuits_;
  std::deque<v1::AgentLinkReading> answers_;
  std::set<std::string> problems_, planes_missing_;
};

}  // namespace bfly::control

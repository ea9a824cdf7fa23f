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
  // All must outlive the object.
  LinkCall(Controller& controller, const Controller::View& view, const v1::CounterFilter& filter);

  // Adds links of index `begin` and above to `counters`, at most `most`. The index of the next
  // page; the number of links of the network if this was the last. Pages end early where few links
  // are not zero.
  absl::StatusOr<uint64_t> Page(uint64_t begin, uint64_t most, v1::Counters* counters);
  // Adds the links that stand out, as the filter says.
  absl::Status Top(v1::Counters* counters);
  // Data planes whose links are missing, in words.
  const std::set<std::string>& problems() const { return problems_; }

 private:
  // A link of the answer. Without figures they are zeros.
  struct Link {
    uint64_t index = 0;
    uint32_t circuits = 0;
    const v1::AgentLinkReading* figures = nullptr;
    int at = 0;  // in the columns

    uint64_t Figure(v1::CounterFilter::Figure figure) const;
  };
  v1::AgentReadLinksRequest Request() const;
  // What all data planes that answer have of it, in the order of indexes.
  std::vector<Link> Ask(const v1::AgentReadLinksRequest& request);
  // Where `links` chosen links from `begin` on have ended.
  uint64_t EndOf(uint64_t begin, uint64_t links) const;
  absl::Status AddCircuits(std::vector<Link>& links) const;
  // Links of begin .. end - 1 that belong to an answer whatever the data planes counted: all that
  // are chosen or, where zeros are left out, those that have circuits.
  absl::StatusOr<std::vector<uint64_t>> Unused(uint64_t begin, uint64_t end, uint64_t most) const;
  // Those of `indexes` that are not there yet; both are in order.
  static void Add(const std::vector<uint64_t>& indexes, std::vector<Link>& links);
  static bool ByIndex(const Link& a, const Link& b) { return a.index < b.index; }
  void Fill(const std::vector<Link>& links, v1::Counters* counters) const;

  const Controller::View& view_;
  const Network& network_;
  const v1::CounterFilter& filter_;
  const LinkChoice choice_;
  const LinkCircuits circuits_;
  std::deque<v1::AgentLinkReading> answers_;
  std::set<std::string> problems_;
};

}  // namespace bfly::control

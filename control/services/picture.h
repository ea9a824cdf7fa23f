// SPDX-License-Identifier: Apache-2.0
// The counters of a whole fabric at one moment, and the message a client gets of them.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "bfly/v1/agent.pb.h"
#include "bfly/v1/telemetry.pb.h"
#include "topologies/link_capacity.h"
#include "topologies/network.h"

namespace bfly::control {

struct Picture {
  int64_t time_ns = 0;  // since the epoch, for people: the time of day may jump
  std::chrono::steady_clock::time_point taken;
  uint64_t sequence = 0;
  bool with_links = false;
  std::shared_ptr<const Network> network;
  struct Part {
    std::string data_plane;
    v1::AgentCounters counters;
    std::chrono::steady_clock::time_point read;  // when the data plane was asked for them
    // They are the last figures of a data plane that did not answer. Their columns of links are not
    // used: whether there are any depends on who polled last.
    bool stands_in = false;
  };
  std::vector<Part> parts;         // in the order of their first stage
  std::vector<uint32_t> circuits;  // on every link, by index; empty without links
  LinkCapacity capacity;
  v1::CircuitCounters circuit_counters;
  // The sums over all parts, and over processes that are gone (FabricAccount).
  v1::Conservation conservation;
  std::map<std::string, uint64_t> drops;  // by reason
  std::vector<std::string> problems;
  std::vector<std::string> planes_missing;  // the data planes that did not answer
  // Says why the counters of a data plane were not believed, by data plane.
  std::map<std::string, std::string> nonsense;
};

// INVALID_ARGUMENT names each part of the filter that is outside the network, and each list that
// has more entries than the network has stages, rows or ports.
absl::Status CheckFilter(const v1::CounterFilter& filter, const Network& network);

// Returns what a client sees of `now`. `before`, which may be null, is the picture from which `top`
// counts packets. With `changed_only` links that are the same in both are left out.
v1::Counters ToCounters(const Picture& now, const Picture* before, const v1::CounterFilter& filter,
                        bool changed_only);

// What of `counters` may show a change: links, which stand there if they changed, and what changes
// always apart.
std::string BareText(const v1::Counters& counters);

}  // namespace bfly::control

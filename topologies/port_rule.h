// SPDX-License-Identifier: Apache-2.0
// How a node picks one of the several ports of a direction.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace bfly {

// A rule leaves ports out whose link is down while another port of the direction is up. Packets
// wait and links are occupied only if links take time. If links take no time, kFirstFree and
// kLeastOccupied take the first port that is up.
enum class PortRule {
  // The first port where no packet waits or is sent. If there is none, the first port with room for
  // one packet more.
  kFirstFree,
  // The ports take turns. Each node and direction counts its own turns.
  kRoundRobin,
  // The port with the fewest packets that wait or are sent. Of several such ports, the one that is
  // first done with the packet it sends.
  kLeastOccupied,
  kRandom,  // each port with the same probability
};

inline constexpr PortRule kDefaultRule = PortRule::kRoundRobin;

// "first_free", "round_robin", "least_occupied", "random".
absl::string_view RuleName(PortRule rule);
// InvalidArgument lists the names.
absl::StatusOr<PortRule> RuleFromName(absl::string_view name);
std::vector<PortRule> AllRules();

}  // namespace bfly

// SPDX-License-Identifier: Apache-2.0
// How a node picks one of the several ports of a direction.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace bfly {

// Ports whose link is down are left out while another port of the direction is up. Packets wait,
// and links are occupied, only where links take time; elsewhere kFirstFree and kLeastOccupied take
// the first port that is up.
enum class PortRule {
  kFirstFree,      // the first port with nothing waiting or being sent; if there is none, the first
                   // with room for one packet more
  kRoundRobin,     // one after the other, a turn for each node and direction
  kLeastOccupied,  // the port with the fewest packets waiting or being sent; of several, the one
                   // that is done with its present packet first
  kRandom,         // each with the same probability
};

inline constexpr PortRule kDefaultRule = PortRule::kRoundRobin;

// "first_free", "round_robin", "least_occupied", "random".
absl::string_view RuleName(PortRule rule);
// InvalidArgument lists the names.
absl::StatusOr<PortRule> RuleFromName(absl::string_view name);
std::vector<PortRule> AllRules();

}  // namespace bfly

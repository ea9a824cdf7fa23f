// SPDX-License-Identifier: Apache-2.0
#include "topologies/port_rule.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace bfly {
namespace {

struct KnownRule {
  PortRule rule;
  const char* name;
};

constexpr KnownRule kRules[] = {
    {PortRule::kFirstFree, "first_free"},
    {PortRule::kRoundRobin, "round_robin"},
    {PortRule::kLeastOccupied, "least_occupied"},
    {PortRule::kRandom, "random"},
};

}  // namespace

absl::string_view RuleName(PortRule rule) {
  for (const KnownRule& known : kRules) {
    if (known.rule == rule) return known.name;
  }
  return "unknown";
}

absl::StatusOr<PortRule> RuleFromName(absl::string_view name) {
  std::vector<absl::string_view> names;
  for (const KnownRule& known : kRules) {
    if (name == known.name) return known.rule;
    names.push_back(known.name);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("rule: \"", name, "\" is not a rule; use one of ", absl::StrJoin(names, ", ")));
}

std::vector<PortRule> AllRules() {
  std::vector<PortRule> rules;
  for (const KnownRule& known : kRules) rules.push_back(known.rule);
  return rules;
}

}  // namespace bfly

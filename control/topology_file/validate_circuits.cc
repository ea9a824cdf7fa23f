// SPDX-License-Identifier: Apache-2.0
// Checks the circuits section: links whose capacity differs.
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "control/topology_file/validate_parts.h"

namespace bfly::control::validation {

void CheckCircuits(Context& context) {
  if (!context.network) return;
  const Network& network = *context.network;
  std::map<uint64_t, std::string> given;  // where each link was given first
  for (int i = 0; i < context.topology.circuits().link_capacities_size(); ++i) {
    const v1::LinkCapacity& entry = context.topology.circuits().link_capacities(i);
    const std::string at = absl::StrCat("circuits.link_capacities[", i, "]");
    bool exists = true;
    const auto check = [&](absl::string_view field, uint32_t value, uint32_t count) {
      if (value < count) return;
      exists = false;
      context.Report(absl::StrCat(at, ".", field), absl::StrCat(value),
                     absl::StrCat(value, " is not a ", field, " of this network (allowed: 0..",
                                  count - 1, ")"));
    };
    check("stage", entry.stage(), static_cast<uint32_t>(network.stages()));
    check("row", entry.row(), network.rows());
    check("port", entry.port(), static_cast<uint32_t>(network.ports()));
    if (!exists) continue;
    const LinkId link = {static_cast<int>(entry.stage()), entry.row(),
                         static_cast<int>(entry.port())};
    const auto [first, fresh] = given.emplace(network.link_index(link), at);
    if (!fresh) context.Report(at, "", absl::StrCat("is the link of ", first->second));
  }
}

}  // namespace bfly::control::validation

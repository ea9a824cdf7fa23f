// SPDX-License-Identifier: Apache-2.0
#include "control/cli/kept_text.h"

#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace bfly::control {

std::string KeptText(const v1::KeptIntent& kept) {
  std::vector<std::string> parts;
  const auto add = [&parts](uint64_t count, const char* one, const char* many) {
    if (count != 0) parts.push_back(absl::StrCat(count, " ", count == 1 ? one : many));
  };
  add(kept.circuits(), "circuit", "circuits");
  add(kept.link_changes(), "change to links", "changes to links");
  add(kept.port_changes(), "change to ports", "changes to ports");
  add(kept.down_links(), "link down", "links down");
  add(kept.down_nodes(), "node down", "nodes down");
  add(kept.sources(), "source", "sources");
  add(kept.objects(), "object", "objects");
  add(kept.schedule() ? 1 : 0, "schedule", "schedules");
  return parts.empty() ? "nothing but its topology" : absl::StrJoin(parts, ", ");
}

}  // namespace bfly::control

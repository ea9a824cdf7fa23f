// SPDX-License-Identifier: Apache-2.0
#include "control/cli/circuit_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/cli/syntax.h"
#include "control/topology_file/link_policy.h"
#include "control/topology_file/ranges.h"
#include "topologies/network.h"
#include "topologies/tag.h"

namespace bfly::control {

std::string CircuitLine(const v1::Circuit& circuit) {
  std::string line =
      absl::StrCat("circuit ", circuit.id(), ": ", circuit.input(), " -> ", circuit.output(),
                   ", path ", circuit.choice(), ", rows ", absl::StrJoin(circuit.rows(), " "),
                   ", congestion ", circuit.congestion());
  if (circuit.broken().empty()) return line;
  absl::StrAppend(
      &line, ", broken at ",
      absl::StrJoin(circuit.broken(), ", ", [](std::string* out, const v1::LinkRef& link) {
        out->append(LinkText(link.stage(), link.row(), link.port()));
      }));
  return line;
}

absl::Status AddLinks(const std::string& selector,
                      google::protobuf::RepeatedPtrField<v1::LinkRef>* links) {
  const absl::StatusOr<v1::LinkOverride> which = ParseLinkSelector(selector);
  if (!which.ok()) return which.status();
  if (which->stages().empty() || which->rows().empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", selector, "\" names no link; give stage and row, such as 's1 r4 p1'"));
  }
  const auto stages = ExpandRanges(which->stages(), kMaxTagBits - 1, "stage");
  if (!stages.ok()) return stages.status();
  const auto rows = ExpandRanges(which->rows(), kMaxRows - 1, "row");
  if (!rows.ok()) return rows.status();
  for (const uint32_t stage : *stages) {
    for (const uint32_t row : *rows) {
      for (uint32_t port = 0; port < 2; ++port) {
        if (which->has_port() && which->port() != port) continue;
        v1::LinkRef* link = links->Add();
        link->set_stage(stage);
        link->set_row(row);
        link->set_port(port);
      }
    }
  }
  return absl::OkStatus();
}

absl::Status AddLinks(const std::vector<std::string>& selectors,
                      google::protobuf::RepeatedPtrField<v1::LinkRef>* links) {
  for (const std::string& selector : selectors) {
    if (absl::Status status = AddLinks(selector, links); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace bfly::control

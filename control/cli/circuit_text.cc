// SPDX-License-Identifier: Apache-2.0
#include "control/cli/circuit_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bfly/v1/fabric.grpc.pb.h"
#include "control/cli/client.h"
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
                   circuit.ports().empty() ? "" : ", ports ", absl::StrJoin(circuit.ports(), " "),
                   ", congestion ", circuit.congestion());
  if (circuit.broken().empty()) return line;
  absl::StrAppend(
      &line, ", broken at ",
      absl::StrJoin(circuit.broken(), ", ", [](std::string* out, const v1::LinkRef& link) {
        out->append(LinkText(link.stage(), link.row(), link.port()));
      }));
  return line;
}

namespace {

absl::StatusOr<uint32_t> PortsOfNodes(const Common& common) {
  auto stub = v1::Fabric::NewStub(Connect(common));
  v1::StatusResponse response;
  const absl::Status status =
      Call(stub.get(), &v1::Fabric::Stub::Status, v1::StatusRequest(), &response, common);
  if (!status.ok()) return status;
  if (!response.status().loaded()) return absl::FailedPreconditionError("no fabric is loaded");
  return response.status().ports();
}

absl::Status AddLinks(const std::string& selector, const Common& common,
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
  uint32_t first = which->port(), last = first;
  if (!which->has_port()) {
    const absl::StatusOr<uint32_t> ports = PortsOfNodes(common);
    if (!ports.ok()) return ports.status();
    last = *ports - 1;
  }
  for (const uint32_t stage : *stages) {
    for (const uint32_t row : *rows) {
      for (uint32_t port = first; port <= last; ++port) {
        v1::LinkRef* link = links->Add();
        link->set_stage(stage);
        link->set_row(row);
        link->set_port(port);
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status AddLinks(const std::vector<std::string>& selectors, const Common& common,
                      google::protobuf::RepeatedPtrField<v1::LinkRef>* links) {
  for (const std::string& selector : selectors) {
    if (absl::Status status = AddLinks(selector, common, links); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace bfly::control

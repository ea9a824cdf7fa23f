// SPDX-License-Identifier: Apache-2.0
#include "control/cli/link_selection.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "bfly/v1/fabric.grpc.pb.h"
#include "control/cli/client.h"
#include "control/topology_file/ranges.h"

namespace bfly::control {

absl::StatusOr<std::vector<v1::LinkRef>> LinksOf(const v1::LinkOverride& selector, uint64_t most,
                                                 const TooMany& too_many, const Common& common) {
  auto stub = v1::Fabric::NewStub(Connect(common));
  v1::StatusResponse response;
  const absl::Status status =
      Call(stub.get(), &v1::Fabric::Stub::Status, v1::StatusRequest(), &response, common);
  if (!status.ok()) return status;
  const v1::FabricStatus& fabric = response.status();
  if (!fabric.loaded()) return absl::FailedPreconditionError("no fabric is loaded");
  const auto numbers = [](const std::string& ranges, uint32_t count, const char* what) {
    return ExpandRanges(ranges.empty() ? absl::StrCat("0-", count - 1) : ranges, count - 1, what);
  };
  const auto stages = numbers(selector.stages(), fabric.stages(), "stage");
  if (!stages.ok()) return stages.status();
  const auto rows = numbers(selector.rows(), fabric.rows(), "row");
  if (!rows.ok()) return rows.status();
  if (selector.has_port() && selector.port() >= fabric.ports()) {
    return absl::InvalidArgumentError(
        absl::StrCat("port: ", selector.port(), " is outside 0..", fabric.ports() - 1));
  }
  const uint64_t wanted =
      uint64_t{stages->size()} * rows->size() * (selector.has_port() ? 1 : fabric.ports());
  if (wanted > most) return absl::InvalidArgumentError(too_many(wanted));
  std::vector<v1::LinkRef> links;
  for (const uint32_t stage : *stages) {
    for (const uint32_t row : *rows) {
      for (uint32_t port = 0; port < fabric.ports(); ++port) {
        if (selector.has_port() && selector.port() != port) continue;
        v1::LinkRef& link = links.emplace_back();
        link.set_stage(stage);
        link.set_row(row);
        link.set_port(port);
      }
    }
  }
  return links;
}

absl::StatusOr<std::vector<v1::LinkRef>> DownLinksOf(const v1::LinkOverride& selector,
                                                     const Common& common) {
  const v1::GetLinksRequest request = LinksRequestOf(selector);
  auto stub = v1::Fabric::NewStub(Connect(common));
  v1::GetLinksResponse response;
  const absl::Status status =
      Call(stub.get(), &v1::Fabric::Stub::GetLinks, request, &response, common);
  if (!status.ok()) return status;
  return std::vector<v1::LinkRef>(response.down().begin(), response.down().end());
}

v1::GetLinksRequest LinksRequestOf(const v1::LinkOverride& selector) {
  v1::GetLinksRequest request;
  request.set_stages(selector.stages());
  request.set_rows(selector.rows());
  if (selector.has_port()) request.set_port(selector.port());
  return request;
}

}  // namespace bfly::control

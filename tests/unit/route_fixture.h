// SPDX-License-Identifier: Apache-2.0
// Networks and packets of the tests of RunRoute.
#pragma once

#include <string>
#include <vector>

#include "dataplane/steps/route.h"

namespace bfly::dataplane {

inline Network Butterfly(uint32_t rows, int extra = 0) {
  return *Network::Make({.kind = NetworkKind::kButterfly, .rows = rows, .extra_stages = extra});
}

inline Network Multibutterfly(uint32_t rows, int d) {
  return *Network::Make(
      {.kind = NetworkKind::kMultibutterfly, .rows = rows, .seed = 3, .multiplicity = d});
}

// The outputs of each input's packets.
inline Relation RelationOf(const std::vector<std::vector<Row>>& outputs) {
  Relation relation;
  for (const std::vector<Row>& of_input : outputs) {
    relation.first.push_back(static_cast<uint32_t>(relation.destinations.size()));
    relation.destinations.insert(relation.destinations.end(), of_input.begin(), of_input.end());
  }
  relation.first.push_back(static_cast<uint32_t>(relation.destinations.size()));
  return relation;
}

inline absl::StatusOr<RouteReport> Try(absl::string_view program, const Network& network,
                                       const RouteRequest& request,
                                       const RouteOptions& options = {}) {
  return RunRoute(program, network, FaultSet(network), request, options);
}

inline std::string ErrorOf(absl::string_view program, const Network& network,
                           const RouteRequest& request) {
  const absl::StatusOr<RouteReport> report = Try(program, network, request);
  return report.ok() ? "no error" : std::string(report.status().message());
}

}  // namespace bfly::dataplane

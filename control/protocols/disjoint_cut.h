// SPDX-License-Identifier: Apache-2.0
// Proofs that requests have no link-disjoint paths: too few open links for the circuits that must
// cross them.
#pragma once

#include <optional>
#include <vector>

#include "control/protocols/open_links.h"

namespace bfly::control {

// Every open path from one of these inputs to the output that is asked for crosses one of `links`,
// or ends at one of `near_outputs`, and there are more inputs than links and near outputs together.
struct DisjointCut {
  std::vector<Row> inputs;
  std::vector<uint64_t> links;
  std::vector<Row> near_outputs;
};

// Looks for a cut among the requests whose outputs agree in their first t positions, for every t
// and every value of these positions, the longest first. The circuits of such a group must go to
// the group's outputs, by the given directions in the first t stages and by any in the others. The
// cut is a smallest one of a maximum flow (Ford and Fulkerson 1956). Finding none proves nothing,
// because a flow may swap the outputs of a group. Stops after about `most_looks` links.
std::optional<DisjointCut> FindDisjointCut(const OpenLinks& open,
                                           const std::vector<Request>& requests,
                                           uint64_t most_looks);

}  // namespace bfly::control

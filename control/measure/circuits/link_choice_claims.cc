// SPDX-License-Identifier: Apache-2.0
// Statements about protocols that choose among several links of a direction, on dilated butterflies
// and multibutterflies. No paper has these protocols on these networks: each statement follows from
// the protocol's own rule, or from counting paths.
#include <algorithm>
#include <cmath>
#include <utility>

#include "control/measure/circuits/circuit_claim_parts.h"

namespace bfly::control {
namespace {

bool HasChoice(const CircuitPoint& point) {
  return point.network == NetworkKind::kDilatedButterfly ||
         point.network == NetworkKind::kMultibutterfly;
}

CircuitReason OverSeveralLinks(const std::string& protocol) {
  return [protocol](const CircuitPoint& point) {
    if (HasChoice(point) && (protocol.empty() || point.protocol == protocol)) return std::string();
    return absl::StrCat("is about ", protocol, protocol.empty() ? "" : " on ",
                        "networks with several links a direction");
  };
}

// The paths of bit reversal or transpose that must all go over the links of one direction of one
// node of a dilated butterfly, at the node where they are most; 0 for other permutations.
double MostTogether(const CircuitPoint& point) {
  if (point.network != NetworkKind::kDilatedButterfly) return 0;
  if (point.permutation == "bitrev") return std::exp2((point.d + 1) / 2 - 1);
  return point.permutation == "transpose" ? std::max(1.0, std::exp2(point.d / 2 - 1)) : 0;
}

CircuitReason WhereCounted(const std::string& protocol, bool (*applies)(const CircuitPoint&)) {
  return [protocol, applies](const CircuitPoint& point) {
    if (point.protocol == protocol && MostTogether(point) > 0 && applies(point)) {
      return std::string();
    }
    return absl::StrCat("is about ", protocol,
                        ", bit reversal and transpose on dilated butterflies");
  };
}

double LinksTogether(const CircuitPoint& point) { return point.multiplicity; }

}  // namespace

std::vector<Claim> LinkChoiceClaims() {
  const std::string counted =
      "derived: 2^(ceil(d/2)-1) paths of bit reversal and 2^(floor(d/2)-1) of transpose share one "
      "direction of a node of B_n";
  return {
      InEveryTrial({.id = "disjoint_congestion",
                    .statement = "congestion 1 whenever disjoint ends without a refusal",
                    .source = "the rule of disjoint: it takes links that carry no circuit",
                    .theory = Constant(1),
                    .about = OverSeveralLinks("disjoint"),
                    .invariant = true},
                   "congestion"),
      InEveryTrial({.id = "candidates_congestion",
                    .statement = "congestion <= c when collision over the candidate paths of "
                                 "several links a direction ends by itself",
                    .source = "the rule of collision, over d candidate paths instead of two",
                    .relation = Relation::kAtMost,
                    .theory = [](const CircuitPoint& point) { return point.c; },
                    .about = OverSeveralLinks("collision"),
                    .invariant = true},
                   "congestion_if_ended"),
      InEveryTrial({.id = "log_n_dilation",
                    .statement = "every path has log n links",
                    .source = "the networks have log n stages",
                    .theory = [](const CircuitPoint& point) { return point.d; },
                    .about = OverSeveralLinks(""),
                    .invariant = true},
                   "dilation"),
      InEveryTrial({.id = "dilated_minimum",
                    .statement = "minimum shares the paths of a direction out evenly: the fullest "
                                 "link of the m-dilated butterfly has 1/m of them, rounded up",
                    .source = counted,
                    .theory =
                        [](const CircuitPoint& point) {
                          return std::ceil(MostTogether(point) / LinksTogether(point));
                        },
                    .about = WhereCounted("minimum", [](const CircuitPoint&) { return true; })},
                   "congestion"),
      InEveryTrial(
          {.id = "dilated_disjoint_refused",
           .statement = "disjoint refuses what the m-dilated butterfly cannot carry: more than m "
                        "paths in one direction of a node",
           .source = counted,
           .theory = Constant(1),
           .about = WhereCounted("disjoint",
                                 [](const CircuitPoint& point) {
                                   return MostTogether(point) > LinksTogether(point);
                                 })},
          "refused"),
  };
}

}  // namespace bfly::control

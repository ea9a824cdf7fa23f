// SPDX-License-Identifier: Apache-2.0
// How much the links are used: Stamoulis & Tsitsiklis, Propositions 5 and 15. The paper's
// statements are about every single link. A second claim about the mean over all links of a kind
// stands beside each, because the mean is known much more precisely.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "control/measure/packets/conditions.h"
#include "control/measure/packets/packet_claims.h"

namespace bfly::control {
namespace {

using UseAt = double (*)(const PacketPoint&);

double CubeUse(const PacketPoint& x) { return x.rho; }
double CrossUse(const PacketPoint& x) { return x.lambda() * x.p; }
double StraightUse(const PacketPoint& x) { return x.lambda() * (1 - x.p); }

// Paths do not depend on queues, and births are Poisson. So the number of packets that are born in
// a given time and whose path has a given link is Poisson. The number that leave by the link in
// that time differs by no more than the packets that were under way at either end. So the count of
// each link and seed is compared with a Poisson distribution. There are d 2^d links of a kind.
Reading EveryLink(const Measurement& m, const std::string& kind, UseAt use) {
  const std::string most = absl::StrCat(kind, "_busiest"), least = absl::StrCat(kind, "_idlest");
  double largest = 0, smallest = HUGE_VAL;
  for (const Trial& t : m.trials) {
    largest = std::max(largest, t.figure(most));
    smallest = std::min(smallest, t.figure(least));
  }
  const double time = m.trials[0].figure("link_time");
  const auto trials = static_cast<int>(m.trials.size());
  Reading figure = LeastLikelyRate(largest * time, smallest * time, time, use(PointOf(m)),
                                   static_cast<double>(PointOf(m).d) * PointOf(m).rows() * trials);
  figure.trials = trials;
  return figure;
}

// `links` names the links in the statements.
std::vector<Claim> Both(const std::string& id, const std::string& mean_id, const char* links,
                        const char* share, const char* proposition, const std::string& kind,
                        std::function<std::string(const PacketPoint&)> network, UseAt use) {
  const std::string source = absl::StrCat("Stamoulis & Tsitsiklis, Proposition ", proposition);
  const bool cross = kind == "cross";
  return {
      {id,
       absl::StrCat("every single ", links, " is used a share ", share,
                    " of the time; the link that differs most, of all seeds"),
       source, Relation::kEqual, AllOf(network, Stable), use,
       [kind, use](const Measurement& m) { return EveryLink(m, kind, use); }},
      {mean_id, absl::StrCat("a ", links, " is used a share ", share, " of the time, in the mean"),
       source, Relation::kEqual, AllOf(network, Stable), use, [cross](const Measurement& m) {
         return BySeedsOfFractions(
             m.Over(cross ? &Trial::cross_utilisation : &Trial::straight_utilisation));
       }}};
}

}  // namespace

std::vector<Claim> LinkUseClaims() {
  std::vector<Claim> claims;
  for (const auto& some : {Both("prop5_utilisation", "prop5_mean_utilisation", "link of the cube",
                                "rho", "5", "cross", OnCube, CubeUse),
                           Both("prop15_cross", "prop15_mean_cross", "cross link", "lambda p", "15",
                                "cross", OnButterfly, CrossUse),
                           Both("prop15_straight", "prop15_mean_straight", "straight link",
                                "lambda (1 - p)", "15", "straight", OnButterfly, StraightUse)}) {
    claims.insert(claims.end(), some.begin(), some.end());
  }
  return claims;
}

}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
// Links that share their rate, and links with priorities. Propositions and sections are those of
// Stamoulis & Tsitsiklis, "The efficiency of greedy routing in hypercubes and butterflies".
#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "control/measure/packets/conditions.h"
#include "control/measure/packets/packet_claims.h"

namespace bfly::control {
namespace {

auto MeanOf(const std::string& name) {
  return [name](const Measurement& m) { return BySeeds(m.Over(name)); };
}

// The total load of the classes before `end`.
double LoadBefore(const PacketPoint& x, size_t end) {
  return x.rho * std::accumulate(x.class_shares.begin(),
                                 x.class_shares.begin() + static_cast<ptrdiff_t>(end), 0.0);
}

// Cobham (1954) for unit service: an arrival finds rho / 2 of work left at the server, on average.
double CobhamDelay(const PacketPoint& x, size_t which) {
  return 1 + x.rho / 2 / ((1 - LoadBefore(x, which)) * (1 - LoadBefore(x, which + 1)));
}

Claim Cobham(const char* id, const char* who, bool last) {
  const auto which = [last](const PacketPoint& x) { return last ? x.class_shares.size() - 1 : 0; };
  const auto delay = [which](const Measurement& m) {
    return m.Over(absl::StrCat("class_delay_", which(m.point)));
  };
  return {id,
          absl::StrCat("T / p = 1 + (rho / 2) / ((1 - s) (1 - s')) for ", who,
                       " class at d = 1; s, s': load of the classes before it, and with it"),
          "Cobham 1954, Priority assignment in waiting line problems; M/D/1",
          Relation::kEqual,
          AllOf(Priorities, OnCube, Stable, Continuous, OneStage),
          [which](const PacketPoint& x) { return x.p * CobhamDelay(x, which(x)); },
          [delay](const Measurement& m) { return BySeeds(delay(m)); },
          [delay](const Measurement& m) {
            return Unless(!std::isnan(delay(m).mean),
                          "packets of the class are too rare: a trial measured none of them");
          }};
}

// Each link is a server of a product-form network: P[n packets] = (1 - load) load^n.
Claim Occupancy(int n, bool cross) {
  const char* kind = cross ? "cross" : "straight";
  return {absl::StrCat("ps_", kind, "_holds_", n),
          absl::StrCat("a ", kind, " link holds ", n, " packets a share (1 - r) r^", n,
                       " of the time, r its load (processor sharing)"),
          "Stamoulis & Tsitsiklis, section 3.3 (product form)",
          Relation::kEqual,
          [cross](const PacketPoint& x) {
            return AllOf(Sharing, Stable, Continuous, [cross](const PacketPoint& y) {
              if (y.network == NetworkKind::kHypercube) {
                return Unless(cross, "straight links of the hypercube take no time");
              }
              return OnButterfly(y);
            })(x);
          },
          [n, cross](const PacketPoint& x) {
            const double load = x.lambda() * (cross ? x.p : 1 - x.p);
            return (1 - load) * std::pow(load, n);
          },
          MeanOf(absl::StrCat(kind, "_holds_", n)),
          [figure = absl::StrCat(kind, "_holds_", n)](const Measurement& m) {
            return Unless(!std::isnan(m.Over(figure).mean),
                          "the wall clock does not measure how many packets a link holds");
          }};
}

}  // namespace

std::vector<Claim> DisciplineClaims() {
  std::vector<Claim> claims = {
      {"ps_exact_cube", "T = d p / (1 - rho) exactly under processor sharing",
       "Stamoulis & Tsitsiklis, section 3.3 (product form)", Relation::kEqual,
       AllOf(Sharing, OnCube, Stable, Continuous),
       [](const PacketPoint& x) { return x.d * x.p / (1 - x.rho); },
       [](const Measurement& m) { return BySeeds(DelayOf(m)); }},
      {"ps_exact_butterfly",
       "T = d p / (1 - lambda p) + d (1-p) / (1 - lambda (1-p)) exactly under processor sharing",
       "Stamoulis & Tsitsiklis, section 4.3 (product form)", Relation::kEqual,
       AllOf(Sharing, OnButterfly, Stable, Continuous),
       [](const PacketPoint& x) {
         return x.d * (x.p / (1 - x.lambda() * x.p) + (1 - x.p) / (1 - x.lambda() * (1 - x.p)));
       },
       [](const Measurement& m) { return BySeeds(DelayOf(m)); }},
      Cobham("cobham_first_class", "the most urgent", false),
      Cobham("cobham_last_class", "the least urgent", true),
      {"priority_conservation",
       "T = p [1 + rho / (2 (1 - rho))] over all classes for d = 1: no order of service changes it",
       "Kleinrock 1965, A conservation law for a wide class of queueing disciplines",
       Relation::kEqual, AllOf(Priorities, OnCube, Stable, Continuous, OneStage),
       [](const PacketPoint& x) { return x.p * (1 + x.rho / (2 * (1 - x.rho))); },
       [](const Measurement& m) { return BySeeds(DelayOf(m)); }},
  };
  for (const bool cross : {true, false}) {
    for (const int n : {0, 1, 2, 4}) claims.push_back(Occupancy(n, cross));
  }
  return claims;
}

}  // namespace bfly::control

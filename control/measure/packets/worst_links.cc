// SPDX-License-Identifier: Apache-2.0
#include "control/measure/packets/worst_links.h"

#include <algorithm>
#include <tuple>

namespace bfly::control {
namespace {

bool HaveOneWorstLink(const PacketPoint& a, const PacketPoint& b) {
  const auto key = [](const PacketPoint& x) {
    return std::tie(x.network, x.d, x.pattern, x.links, x.multiplicity, x.rule, x.parallel_edges,
                    x.extra_stages);
  };
  return key(a) == key(b);
}

// Whether each seed has a permutation or a wiring of its own.
bool DependsOnSeed(const PacketPoint& point) {
  return point.pattern == "randperm" || point.network == NetworkKind::kMultibutterfly;
}

}  // namespace

absl::StatusOr<std::vector<double>> WorstLinks::Count(const PacketPoint& point) const {
  std::vector<uint64_t> seeds = {0};
  if (DependsOnSeed(point) && !seeds_.empty()) seeds = seeds_;
  std::vector<double> of_seeds;
  for (const uint64_t seed : seeds) {
    const absl::StatusOr<double> worst = WorstLink(point, seed);
    if (!worst.ok()) return worst.status();
    of_seeds.push_back(*worst);
  }
  return of_seeds;
}

absl::Status WorstLinks::SetOf(PacketPoint& point) {
  auto known = std::find_if(known_.begin(), known_.end(),
                            [&](const Known& one) { return HaveOneWorstLink(one.point, point); });
  if (known == known_.end()) {
    absl::StatusOr<std::vector<double>> of_seeds = Count(point);
    if (!of_seeds.ok()) return of_seeds.status();
    known = known_.insert(known_.end(), Known{.point = point, .of_seeds = *std::move(of_seeds)});
  }
  double most = 0, most_carried = 0;
  for (const double worst : known->of_seeds) {
    most = std::max(most, worst);
    if (UseOf(point, worst) < 1) most_carried = std::max(most_carried, worst);
  }
  point.worst_link = most;
  point.worst_carried_link = most_carried > 0 ? most_carried : most;
  return absl::OkStatus();
}

}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
// Traffic patterns. The load of the worst link decides the claims, where it is known
// (KnowsWorstLink): above all over networks with one path for each pair.
#include <algorithm>
#include <cmath>

#include "control/measure/packets/conditions.h"
#include "control/measure/packets/packet_claims.h"

namespace bfly::control {
namespace {

constexpr char kOnePath[] = "derived: a link carries one packet a unit of time";

std::string Patterns(const PacketPoint& x) {
  return Unless(!x.pattern.empty(), "destinations are p-flips");
}
std::string KnownLoads(const PacketPoint& x) {
  if (const std::string reason = Patterns(x); !reason.empty()) return reason;
  return Unless(KnowsWorstLink(x),
                x.faults.value_or(0) > 0
                    ? "faults change what links carry"
                    : "what links carry depends on how nodes pick among those of a direction");
}
std::string Uniform(const PacketPoint& x) {
  return Unless(x.pattern == "uniform", "the pattern is not uniform");
}
// The load that the worst link of a trial would have if every packet were accepted: the least over
// the trials.
double LeastUse(const Measurement& m) {
  double least = HUGE_VAL;
  for (const Trial& t : m.trials) least = std::min(least, PointOf(m).load * t.figure("worst_link"));
  return least;
}
// The growth of the number of packets inside, per unit of time, as a multiple of the growth at the
// worst link alone. The worst link is offered more than the one packet a unit that it carries.
double GrowthBesideWorst(const Measurement& m, const Trial& t) {
  const double grows = (t.offered - t.accepted) * PointOf(m).rows();
  return grows / (PointOf(m).load * t.figure("worst_link") - 1);
}
// The mean delay of the trial whose mean delay differs most from d.
Reading MostUnlikeD(const Measurement& m) {
  double delay = PointOf(m).d;
  for (const Trial& t : m.trials) {
    if (std::abs(t.mean_delay - PointOf(m).d) > std::abs(delay - PointOf(m).d))
      delay = t.mean_delay;
  }
  return Exactly(delay, static_cast<int>(m.trials.size()));
}

}  // namespace

std::vector<Claim> PatternClaims() {
  return {
      {.id = "pattern_carried",
       .statement = "where every link is offered less than a packet a unit the network is stable: "
                    "born - delivered, packets per unit and row, is at most 0",
       .source = kOnePath,
       .relation = Relation::kAtMost,
       .not_applicable = KnownLoads,
       .theory = [](const PacketPoint&) { return 0.0; },
       .measured = [](const Measurement& m) { return BySeeds(GrowthOf(m)); },
       .undecided = AllOf(
           [](const Measurement& m) {
             return Unless(MostUseOf(m) < 1, "a link is offered a packet a unit or more");
           },
           WhyStillFilling),
       .stationary = false},
      {.id = "pattern_saturates",
       .statement =
           "where the worst link is offered u > 1 packets a unit the packets inside grow "
           "by u - 1 a unit or more: born - delivered, as a multiple of u - 1, is at least 1",
       .source = kOnePath,
       .relation = Relation::kAtLeast,
       .not_applicable = KnownLoads,
       .theory = [](const PacketPoint&) { return 1.0; },
       .measured =
           [](const Measurement& m) {
             return BySeeds(m.Over([&m](const Trial& t) { return GrowthBesideWorst(m, t); }));
           },
       .undecided =
           [](const Measurement& m) {
             return Unless(LeastUse(m) > 1, "no link is offered more than a packet a unit");
           },
       .stationary = false},
      {.id = "pattern_disjoint",
       .statement =
           "T = d exactly where no two pairs share a link and a row sends at most one packet a "
           "slot of a unit",
       .source = "derived: nobody ever waits",
       .relation = Relation::kEqual,
       .not_applicable =
           AllOf(Patterns, OnButterfly,
                 [](const PacketPoint& x) {
                   return Unless(x.bernoulli && x.slot == 1 && x.pattern != "uniform",
                                 "needs a permutation and bernoulli arrivals in slots of a unit");
                 }),
       .theory = [](const PacketPoint& x) { return x.d; },
       .measured = MostUnlikeD,
       .undecided =
           [](const Measurement& m) {
             return Unless(m.Over("worst_link").mean == 1, "pairs share links");
           }},
      {.id = "kruskal_snir_first_stage",
       .statement =
           "a packet waits load / (4 (1 - load)) at the first stage of 2x2 switches, on average, "
           "under uniform traffic",
       .source = "Kruskal & Snir 1983, The performance of multistage interconnection networks for "
                 "multiprocessors, section 3",
       .relation = Relation::kEqual,
       .not_applicable = AllOf(
           Uniform, OnButterfly, Fifo,
           [](const PacketPoint& x) {
             return Unless(
                 x.bernoulli && x.slot == 1 && x.links == dataplane::LinkModel::kSwitchOutput,
                 "needs shared switch outputs and bernoulli arrivals in slots of a unit");
           },
           [](const PacketPoint& x) { return Unless(x.load < 1, "load >= 1"); }),
       .theory = [](const PacketPoint& x) { return x.load / (4 * (1 - x.load)); },
       .measured =
           [](const Measurement& m) {
             return BySeeds(m.Over([](const Trial& t) {
               return t.stages.empty() ? std::nan("") : t.stages[0].mean - 1;
             }));
           }},
  };
}

}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
// Traffic patterns over networks with one path for each pair: what the worst link carries decides.
#include <algorithm>
#include <cmath>

#include "control/experiment/claim.h"
#include "control/experiment/conditions.h"

namespace bfly::control {
namespace {

constexpr char kOnePath[] = "derived: a link carries one packet a unit of time";

std::string Patterns(const Point& x) {
  return Unless(!x.pattern.empty(), "destinations are p-flips");
}
std::string Uniform(const Point& x) {
  return Unless(x.pattern == "uniform", "the pattern is not uniform");
}
// Load of the worst link of a trial, were everything accepted: least and most of the trials.
double LeastUse(const Measurement& m) {
  double least = HUGE_VAL;
  for (const Trial& t : m.trials) least = std::min(least, m.point.load * t.figure("worst_link"));
  return least;
}
double MostUse(const Measurement& m) {
  double most = 0;
  for (const Trial& t : m.trials) most = std::max(most, m.point.load * t.figure("worst_link"));
  return most;
}
Estimate PatternAcceptedShare(const Measurement& m) {
  return m.Over([](const Trial& t) { return t.accepted / t.offered; });
}

}  // namespace

std::vector<Claim> PatternClaims() {
  return {
      {.id = "pattern_carried",
       .statement =
           "where the worst link is offered at most 0.97 packets a unit, at least 0.97 of what "
           "is offered is accepted",
       .source = kOnePath,
       .relation = Relation::kAtLeast,
       .not_applicable = Patterns,
       .theory = [](const Point&) { return 0.97; },
       .measured = PatternAcceptedShare,
       .undecided =
           [](const Measurement& m) {
             return Unless(MostUse(m) <= 0.97, "a link is offered more than 0.97 packets a unit");
           }},
      {.id = "pattern_saturates",
       .statement =
           "where the worst link is offered 1.02 packets a unit or more, not all that is offered "
           "is accepted",
       .source = kOnePath,
       .relation = Relation::kAtMost,
       .not_applicable = Patterns,
       .theory = [](const Point&) { return 0.9995; },
       .measured = PatternAcceptedShare,
       .undecided =
           [](const Measurement& m) {
             return Unless(LeastUse(m) >= 1.02, "no link is offered more than 1.02 packets a unit");
           }},
      {.id = "pattern_disjoint",
       .statement =
           "T = d exactly where no two pairs share a link and a row sends at most one packet a "
           "slot of a unit",
       .source = "derived: nobody ever waits",
       .relation = Relation::kEqual,
       .not_applicable =
           AllOf(Patterns, OnButterfly,
                 [](const Point& x) {
                   return Unless(x.bernoulli && x.slot == 1 && x.pattern != "uniform",
                                 "needs a permutation and bernoulli arrivals in slots of a unit");
                 }),
       .theory = [](const Point& x) { return x.d; },
       .measured = [](const Measurement& m) { return m.delay(); },
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
           [](const Point& x) {
             return Unless(
                 x.bernoulli && x.slot == 1 && x.links == dataplane::LinkModel::kSwitchOutput,
                 "needs shared switch outputs and bernoulli arrivals in slots of a unit");
           },
           [](const Point& x) { return Unless(x.load < 1, "load >= 1"); }),
       .theory = [](const Point& x) { return x.load / (4 * (1 - x.load)); },
       .measured =
           [](const Measurement& m) {
             return m.Over([](const Trial& t) {
               return t.stages.empty() ? std::nan("") : t.stages[0].mean - 1;
             });
           }},
  };
}

}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
// FIFO against processor sharing, path by path: Stamoulis & Tsitsiklis, section 3.3. Every
// departure of every seed is compared; one that comes too late fails the claim.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "control/measure/packets/conditions.h"
#include "control/measure/packets/packet_claims.h"

namespace bfly::control {
namespace {

std::string WhyNotCompared(const Measurement& m) {
  double compared = 0;
  for (const Trial& trial : m.trials) compared += trial.figure("coupled_links");
  if (std::isnan(compared)) return "the experiment does not say coupled: true";
  return Unless(compared > 0, "no packet of a coupled path crossed a link: measure more packets");
}

double ViolationsIn(const Trial& trial, const std::string& what) {
  if (trial.figure(what) > 0) return trial.figure(what + "_violations");
  // If no packet crossed a link, there is nothing to compare. If packets did and nothing was
  // compared, the comparison is broken.
  return trial.figure("coupled_links") > 0 ? 1 : 0;
}

Claim Counted(const char* id, const char* statement, const char* source, const std::string& what) {
  return {.id = id,
          .statement = absl::StrCat(statement, "; departures that break it"),
          .source = absl::StrCat("Stamoulis & Tsitsiklis, ", source),
          .relation = Relation::kEqual,
          .not_applicable = HasCoupledPath,
          .theory = [](const PacketPoint&) { return 0.0; },
          .measured =
              [what](const Measurement& m) {
                double sum = 0;
                for (const Trial& trial : m.trials) sum += ViolationsIn(trial, what);
                return Exactly(sum, static_cast<int>(m.trials.size()));
              },
          .undecided = WhyNotCompared,
          .stationary = false};
}

}  // namespace

std::vector<Claim> CoupledClaims() {
  return {
      Counted(
          "lemma7_same_arrivals",
          "with the same arrivals the i-th departure from a FIFO link is no later than from one "
          "that shares, at every link, for every i",
          "Lemma 7", "coupled_same_arrivals"),
      Counted(
          "lemma8_earlier_arrivals",
          "a FIFO link whose arrivals are no later has departures that are no later, for every i",
          "Lemma 8", "coupled_earlier_arrivals"),
      Counted(
          "lemma9_links",
          "the i-th departure from each link of the FIFO network is no later than in the sharing "
          "network on the coupled path, for every i",
          "Lemma 9", "coupled_links"),
      Counted(
          "lemma10_departures",
          "B(t) >= B~(t) for all t on the coupled path: the i-th packet to leave the FIFO network "
          "is no later; the arrivals are the same, so it also never holds more packets "
          "(Proposition "
          "11)",
          "Lemma 10", "coupled_departures"),
  };
}

}  // namespace bfly::control

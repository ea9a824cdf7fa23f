// SPDX-License-Identifier: Apache-2.0
#include "control/measure/packets/lateness.h"

#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "control/measure/packets/packet_claims.h"

namespace bfly::control {
namespace {

// True for claims about how many packets were carried in a time, and for Little's law, which holds
// for delays that the sinks saw as for any others.
bool CountsPackets(const std::string& id) {
  for (const char* prefix : {"prop5", "prop15", "stability", "instability", "pattern_carried",
                             "pattern_saturates", "little"}) {
    if (absl::StartsWith(id, prefix)) return true;
  }
  return false;
}

bool LatenessMayHaveMade(const ClaimResult& claim) {
  if (claim.verdict == Verdict::kPass) return claim.relation != Relation::kAtMost;
  return claim.verdict == Verdict::kFail && claim.relation != Relation::kAtLeast;
}

}  // namespace

void WithholdLateVerdicts(const std::vector<Measurement>& series, double unit_us,
                          std::vector<ClaimResult>& claims) {
  for (const Measurement& m : series) {
    // Populations rise by the same ratio as delays (Little's law), so ratios are compared.
    const double late = m.Over("late_mean_us").mean / unit_us / DelayOf(m).mean;
    if (!std::isfinite(late)) continue;
    const std::string point = m.point.ToString();
    for (ClaimResult& claim : claims) {
      if (claim.point.ToString() != point || CountsPackets(claim.id)) continue;
      const double half = (claim.high - claim.low) / 2 / std::fabs(claim.measured);
      if (!LatenessMayHaveMade(claim) || late <= kMostLateness * half) continue;
      claim.verdict = Verdict::kNotApplicable;
      claim.reason = absl::StrFormat(
          "workers were late by %.2g %% of the delay, more than %g of the interval's half-width "
          "(%.2g %%): give them quieter CPUs or a longer unit_us",
          100 * late, kMostLateness, 100 * half);
    }
  }
}

}  // namespace bfly::control

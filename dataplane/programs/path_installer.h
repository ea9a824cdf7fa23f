// SPDX-License-Identifier: Apache-2.0
// The last step of a protocol at the input nodes: installs the paths chosen and, where links have a
// capacity or are down, takes all of them back if one of them has no room or is broken.
#pragma once

#include <optional>
#include <vector>

#include "dataplane/core/route_table.h"
#include "dataplane/programs/message.h"
#include "dataplane/programs/report.h"
#include "topologies/pass_steps.h"

namespace bfly::dataplane {

class PathInstaller {
 public:
  // `routes` gets the circuits as their installing is acknowledged; outlives the object. `limited`:
  // some links have a capacity or are down. For at most `requests` paths: nothing is allocated
  // later.
  PathInstaller(RouteTable& routes, bool limited, size_t requests)
      : routes_(routes), limited_(limited) {
    if (limited) installed_.reserve(requests);
  }

  // The probe that installs a path; `slot` is the place of its request, and requests come in order.
  Probe ProbeFor(Row input, Tag tag, uint32_t slot) const {
    return {.tag = tag,
            .row = input,
            .slot = slot,
            .kind = limited_ ? ProbeKind::kReserve : ProbeKind::kInstall};
  }
  // Probes of ProbeFor, back at their inputs.
  void Acknowledge(const Probe* burst, int count);
  // Whether a path had no room or was broken: what is installed is to be taken back.
  bool refused() const { return refused_.has_value(); }

  // The probes that take everything back, at most `room`; fewer are the last ones.
  int EmitReleases(Probe* burst, int room);
  // These, back at their inputs.
  void AcknowledgeReleases(const Probe* burst, int count);

  // The first request refused; null if all are installed. Its capacity is not filled in.
  std::optional<InBandRefusal> Refusal(const Network& network) const;

 private:
  RouteTable& routes_;
  const bool limited_;
  std::vector<TaggedPath> installed_;  // where limited
  std::optional<Probe> refused_;       // of the first request
  size_t next_ = 0;                    // of installed_
};

}  // namespace bfly::dataplane

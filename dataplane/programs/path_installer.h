// SPDX-License-Identifier: Apache-2.0
// The last step of a protocol at the input nodes: installs the paths chosen and, where links have a
// capacity or are down, takes all of them back if one of them has no room or is broken.
#pragma once

#include <optional>
#include <vector>

#include "dataplane/core/route_table.h"
#include "dataplane/programs/circuit_passes.h"
#include "dataplane/programs/program.h"
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

  // The pass that installs the paths.
  const Pass* pass() const {
    return limited_ ? static_cast<const Pass*>(&kReservePass) : &kInstallPass;
  }
  // Messages of that pass, back at their inputs; the slot of each is the place of its request.
  void Acknowledge(const Message* burst, int count);
  // Whether a path had no room or was broken: what is installed is to be taken back.
  bool refused() const { return refused_.has_value(); }

  // The messages of a kReleasePass that takes everything back, at most `room`; fewer are the last
  // ones.
  int EmitReleases(Message* burst, int room) { return EmitAlong(installed_, next_, burst, room); }
  // These, back at their inputs.
  void AcknowledgeReleases(const Message* burst, int count);

  // The first request refused; null if all are installed. Its capacity is not filled in.
  std::optional<InBandRefusal> Refusal(const Network& network) const;

 private:
  RouteTable& routes_;
  const bool limited_;
  std::vector<TaggedPath> installed_;  // where limited
  std::optional<Message> refused_;     // of the first request
  size_t next_ = 0;                    // of installed_
};

}  // namespace bfly::dataplane

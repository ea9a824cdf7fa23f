// SPDX-License-Identifier: Apache-2.0
// The last step of a protocol at the input nodes. It installs the chosen paths. If links have a
// capacity or are down and one of the paths has no room or is broken, it takes all paths back.
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
  // `routes` gets the circuits as their installs are acknowledged, and must outlive the object.
  // `limited`: some links have a capacity or are down. There are at most `requests` paths, and
  // nothing is allocated later.
  PathInstaller(RouteTable& routes, bool limited, size_t requests)
      : routes_(routes), limited_(limited) {
    if (limited) installed_.reserve(requests);
  }

  // The pass that installs the paths.
  const Pass* pass() const {
    return limited_ ? static_cast<const Pass*>(&kReservePass) : &kInstallPass;
  }
  // Takes messages of that pass that are back at their inputs. The slot of a message is the index
  // of its request.
  void Acknowledge(const Message* burst, int count);
  // Whether a path had no room or was broken, so that the installed paths must be taken back.
  bool refused() const { return refused_.has_value(); }

  // Returns at most `room` messages of a kReleasePass that takes everything back. If it returns
  // fewer, these are the last messages.
  int EmitReleases(Message* burst, int room) { return EmitAlong(installed_, next_, burst, room); }
  // Takes messages of the kReleasePass that are back at their inputs.
  void AcknowledgeReleases(const Message* burst, int count);

  // Returns the first refused request, without the link's capacity, or null if all are installed.
  std::optional<InBandRefusal> Refusal(const Network& network) const;

 private:
  RouteTable& routes_;
  const bool limited_;
  std::vector<TaggedPath> installed_;  // only if limited
  std::optional<Message> refused_;     // a message of the first refused request
  size_t next_ = 0;                    // the next path of installed_
};

}  // namespace bfly::dataplane

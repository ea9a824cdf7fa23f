// SPDX-License-Identifier: Apache-2.0
// Which data plane counts a link.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bfly/v1/fabric.pb.h"
#include "bfly/v1/telemetry.pb.h"
#include "control/topology_file/ranges.h"

namespace bfly::control {

class LinkOwners {
 public:
  // A data plane that does not hold what is loaded counts as not running: its workers may be those
  // of another fabric. A data plane that was lost a moment ago may still be said to run, while its
  // links show 0 or are missing already. If `counters` names it as missing, or its workers moved
  // packets and none of its links has any, it counts as not running.
  LinkOwners(const v1::FabricStatus& fabric, const v1::Counters& counters);
  // The running data plane whose worker owns this row of the stage; null if none is known.
  const std::string* Of(uint32_t stage, uint32_t row) const;
  // An entry for every stage of every running data plane, also where nothing was counted yet.
  template <class Value>
  std::map<std::pair<uint32_t, std::string>, Value> EveryStage() const {
    std::map<std::pair<uint32_t, std::string>, Value> all;
    for (uint32_t stage = 0; stage < stages_.size(); ++stage)
      for (const Owned& owned : stages_[stage]) all[{stage, owned.data_plane}];
    return all;
  }

 private:
  struct Owned {
    Range rows;
    std::string data_plane;
  };
  void RemoveLost(const v1::FabricStatus& fabric, const v1::Counters& counters);

  std::vector<std::vector<Owned>> stages_;  // by stage
};

}  // namespace bfly::control

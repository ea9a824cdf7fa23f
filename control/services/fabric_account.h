// SPDX-License-Identifier: Apache-2.0
// Where every packet of a fabric went, over all its data planes and also those that died.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "control/services/picture.h"

namespace bfly::control {

// That the memory set aside for queued packets ran out, and what to do; empty if it did not.
std::string MemoryProblem(const v1::AgentCounters& counters);

// One for each loaded fabric; not thread-safe.
//
// Of one data plane injected + trunk_in = delivered + dropped + held + trunk_out, so of all
// together injected = delivered + dropped + held + (trunk_out - trunk_in), and what is between the
// brackets is on a trunk. A data plane that restarts counts from zero: its last figures are kept,
// what it held and what was on the way to it is dropped as kLost.
class FabricAccount {
 public:
  static constexpr char kLost[] = "data_plane_lost";

  // Fills in the picture's conservation and drops from its parts, which must have been read
  // receivers first: a packet a receiver counts was counted by its sender before. What does not
  // balance is a problem.
  void Take(Picture& picture);

 private:
  struct Sum {
    uint64_t injected = 0;
    uint64_t delivered = 0;
    uint64_t dropped = 0;
    uint64_t held = 0;
    uint64_t trunk_in = 0;
    uint64_t trunk_out = 0;
    std::map<std::string, uint64_t> drops;  // by reason

    void Add(const v1::AgentCounters& counters);
  };

  std::map<std::string, v1::AgentCounters> last_;  // by data plane, without links
  Sum past_;                                       // of processes that are gone
  uint64_t lost_on_trunks_ = 0;                    // on the way to a process when it went
};

}  // namespace bfly::control

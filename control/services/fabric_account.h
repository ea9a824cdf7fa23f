// SPDX-License-Identifier: Apache-2.0
// Where every packet of a fabric went, over all its data planes, those that died included.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "control/services/picture.h"

namespace bfly::control {

// Says that the memory for queued packets ran out, and what to do. Empty if it did not run out.
std::string MemoryProblem(const v1::AgentCounters& counters);

// One for each loaded fabric; not thread-safe.
//
// What a process counted between the last look at it and its end nobody knows. Sums leave it out,
// and Unknown says so. But what came from it to other data planes is known there, so it took in at
// least as much.
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

  // What a data plane said when it was unloaded, or why it said nothing.
  struct FinalCounters {
    std::string data_plane;
    absl::StatusOr<v1::AgentCounters> counters;
    std::chrono::steady_clock::time_point read;
  };
  // Returns the account at the very end, when nothing is in flight.
  v1::Conservation Close(const std::vector<FinalCounters>& last);
  // Says in words what is missing from the sums. Empty if no process was lost.
  std::vector<std::string> Unknown() const;

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

  // The process behind `before` is gone: its figures become part of the past.
  void AddEndedProcess(const Picture::Part& before,
                       std::chrono::steady_clock::time_point seen_again);

  std::map<std::string, Picture::Part> last_;  // by data plane, without links
  struct Gap {
    int processes = 0;
    std::chrono::steady_clock::duration unseen{};  // from last looks at them to first ones after
  };
  std::map<std::string, Gap> gaps_;      // by data plane
  std::vector<std::string> never_seen_;  // data planes without any figures at the end
  Sum past_;                             // of processes that are gone
  uint64_t lost_on_trunks_ = 0;          // on the way to a process when it went
};

}  // namespace bfly::control

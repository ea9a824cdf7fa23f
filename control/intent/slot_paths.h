// SPDX-License-Identifier: Apache-2.0
// The paths of a schedule's slots. Each slot is routed by itself, as if no other slot existed.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bfly/v1/schedules.pb.h"
#include "control/intent/order.h"
#include "control/protocols/protocol.h"

namespace bfly::control {

class FabricState;
class Links;

struct SlotPaths {
  std::vector<CircuitPath> paths;
  uint32_t congestion = 0;  // circuits on the fullest link, standing ones included
  uint32_t broken = 0;      // paths over a link that is down
};

struct RoutedSchedule {
  v1::Schedule schedule;  // complete
  std::string protocol;   // that was used
  std::vector<SlotPaths> slots;
};

// Chooses paths for all slots. INVALID_ARGUMENT and the errors of the protocol name the first slot
// that is wrong or cannot be routed ("slots[3]"): each path must be whole, and have room beside
// the circuits that stand and the others of its slot. `interrupt` is asked before each slot, and
// its error is returned as it is.
absl::StatusOr<RoutedSchedule> RouteSchedule(const v1::Schedule& schedule, const FabricState& state,
                                             const Interrupt& interrupt = {});
// The same beside the circuits of `load`.
absl::StatusOr<RoutedSchedule> RouteSchedule(const v1::Schedule& schedule, const Links& links,
                                             const LinkLoad& load, const Interrupt& interrupt = {});
// The same on a network without circuits.
absl::StatusOr<RoutedSchedule> RouteSchedule(const v1::Schedule& schedule, const Network& network,
                                             const LinkCapacity& capacity, const FaultSet& faults);

// FailedPrecondition names `late`: frames shall go by an intermediate row (VLB), and cannot. Frames
// that come out of the last stage at such a row go back to stage 0 within one process, so one data
// plane must run both: `first` runs stage 0, and `last` the last stage.
absl::Status CheckWayBack(const v1::Schedule& schedule, const std::string& first,
                          const std::string& last);

// The protocol that the schedule names. If it names none: "greedy" if all paths are the greedy
// ones, else the default of the network.
std::string ProtocolOf(const v1::Schedule& schedule, const std::vector<SlotPaths>& slots,
                       const Network& network);

// Counts anew which paths are broken.
void CountBroken(const FaultSet& faults, RoutedSchedule& routed);

// Routes slots with broken paths again, from the slot `next` on. Slots keep the paths that they
// have where that fails. Ends early once `interrupt` has an error; `next` is then the first slot
// that is left. Returns whether a path changed.
bool RepairBroken(const FabricState& state, const Interrupt& interrupt, size_t& next,
                  RoutedSchedule& routed);

// Routes every slot again. Slots keep the paths that they have where that fails. Returns how many
// slots have other paths than before, or the error of `interrupt`, which is asked before each slot;
// after an error some slots of `routed` may have new paths.
absl::StatusOr<uint32_t> RouteAgain(const FabricState& state, RoutedSchedule& routed,
                                    const Interrupt& interrupt = {});

// The slots with a broken path.
uint32_t BrokenSlots(const RoutedSchedule& routed);

// The paths that each of these pairs of an input and an output has in any slot. A pair without a
// slot is left out.
using RowPair = std::pair<Row, Row>;
std::map<RowPair, std::set<Tag>> TagsOf(const RoutedSchedule& routed,
                                        const std::set<RowPair>& pairs);

// Fills in what is known of the slots without a data plane. What they did stays.
void FillPaths(const RoutedSchedule& routed, uint32_t rows, v1::ScheduleStatus* status);

}  // namespace bfly::control

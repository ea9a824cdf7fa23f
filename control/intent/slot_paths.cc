// SPDX-License-Identifier: Apache-2.0
#include "control/intent/slot_paths.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/intent/fabric_state.h"
#include "control/intent/links.h"
#include "control/status/field_errors.h"
#include "dataplane/slots/intermediate_row_tags.h"
#include "topologies/permutation.h"
#include "topologies/slot_sequence.h"

namespace bfly::control {
namespace {

// Circuits of all slots together.
constexpr uint64_t kMostCircuits = uint64_t{1} << 22;

std::string NameOf(size_t slot) { return absl::StrCat("slots[", slot, "]"); }

std::vector<Request> RequestsOf(const Permutation& permutation) {
  std::vector<Request> requests;
  for (Row row = 0; row < permutation.size(); ++row) requests.push_back({row, permutation[row]});
  return requests;
}

absl::StatusOr<std::vector<Request>> RequestsOf(const v1::ScheduleSlot& slot, uint32_t rows) {
  if (!slot.permutation().empty()) {
    const auto permutation = PermutationByName(slot.permutation(), rows, slot.seed());
    if (!permutation.ok()) return permutation.status();
    return RequestsOf(*permutation);
  }
  if (slot.inputs().empty() && slot.outputs_size() != static_cast<int>(rows)) {
    return absl::InvalidArgumentError(
        absl::StrCat("outputs: has ", slot.outputs_size(), " rows, the network has ", rows,
                     "; name the inputs if only some rows have a circuit"));
  }
  std::vector<Request> requests;
  for (int i = 0; i < slot.outputs_size(); ++i) {
    requests.push_back(
        {slot.inputs().empty() ? static_cast<Row>(i) : slot.inputs(i), slot.outputs(i)});
  }
  return requests;
}

uint64_t SlotsOf(const v1::Schedule& schedule, uint32_t rows) {
  return schedule.sequence() == v1::Schedule::SLOTS ? static_cast<uint64_t>(schedule.slots_size())
                                                    : rows - 1;
}

// The requests of a slot, in the order of the schedule. Protocols may choose by that order.
absl::StatusOr<std::vector<Request>> RequestsOf(const v1::Schedule& schedule, size_t slot,
                                                uint32_t rows) {
  const uint64_t slots = SlotsOf(schedule, rows);
  if (slot >= slots) {
    return absl::InvalidArgumentError(absl::StrCat("the schedule has ", slots, " slots"));
  }
  if (schedule.sequence() == v1::Schedule::ROTOR) {
    return RequestsOf(RotorSlot(rows, static_cast<uint32_t>(slot)));
  }
  if (schedule.sequence() == v1::Schedule::ROUND_ROBIN) {
    return RequestsOf(RoundRobinSlot(rows, static_cast<uint32_t>(slot)));
  }
  return RequestsOf(schedule.slots(static_cast<int>(slot)), rows);
}

// Whether every path is whole and has room.
absl::Status CheckPaths(const std::vector<CircuitPath>& paths, const Links& links, LinkLoad load) {
  for (const CircuitPath& path : paths) {
    absl::Status status = links.CheckPath(path, load, links.faults());
    if (!status.ok()) {
      return absl::Status(status.code(),
                          absl::StrCat(path.input, " -> ", path.output, ": ", status.message()));
    }
    load.Add(path.input, path.tag);
  }
  return absl::OkStatus();
}

absl::StatusOr<SlotPaths> RouteSlotBy(const std::string& protocol, uint64_t seed,
                                      const std::vector<Request>& requests, const Links& links,
                                      const LinkLoad& load) {
  ProtocolOptions options;
  options.seed = seed;
  options.faults = links.faults().empty() ? nullptr : &links.faults();
  options.capacity = &links.capacity();
  absl::StatusOr<RouteResult> result = RoutePermutation(protocol, load, requests, options);
  if (!result.ok()) return result.status();
  if (result->paths.size() < requests.size()) {
    return absl::ResourceExhaustedError(
        absl::StrCat(protocol, " finds no path for ", requests.size() - result->paths.size(),
                     " of its ", requests.size(), " circuits, input ",
                     result->inputs_left.empty() ? 0 : result->inputs_left[0], " among them"));
  }
  if (absl::Status status = CheckPaths(result->paths, links, load); !status.ok()) return status;
  return SlotPaths{.paths = std::move(result->paths), .congestion = result->congestion};
}

std::string DefaultProtocol(const Network& network) {
  return FindProtocol("minimum", network.kind()).ok() ? "minimum" : "greedy";
}

// Without a named protocol the greedy paths are taken where no two of them share a link, as in all
// slots of a rotor and of a round robin: `minimum` would have some of them share links.
absl::StatusOr<SlotPaths> RouteSlot(const v1::Schedule& schedule, size_t slot,
                                    const std::vector<Request>& requests, const Links& links,
                                    const LinkLoad& load) {
  const uint64_t seed = schedule.seed() + slot;
  if (!schedule.protocol().empty()) {
    return RouteSlotBy(schedule.protocol(), seed, requests, links, load);
  }
  const std::string protocol = DefaultProtocol(load.network());
  if (protocol != "greedy") {
    auto paths = RouteSlotBy("greedy", seed, requests, links, load);
    if (paths.ok() && paths->congestion <= 1) return paths;
  }
  return RouteSlotBy(protocol, seed, requests, links, load);
}

// Routes a slot that has paths as it was routed at first: what the protocol chooses depends on the
// order of the requests, and paths that a data plane held are in the order of their rows.
absl::StatusOr<SlotPaths> RouteSlotAgain(const RoutedSchedule& routed, size_t slot,
                                         const FabricState& state) {
  const auto requests = RequestsOf(routed.schedule, slot, state.network().rows());
  if (!requests.ok()) return requests.status();
  return RouteSlot(routed.schedule, slot, *requests, state.links(), state.load());
}

absl::Status Ask(const Interrupt& interrupt) { return interrupt ? interrupt() : absl::OkStatus(); }

bool HaveSameTags(const SlotPaths& a, const SlotPaths& b) {
  std::map<Row, Tag> tags;
  for (const CircuitPath& path : a.paths) tags[path.input] = path.tag;
  return std::all_of(b.paths.begin(), b.paths.end(), [&tags](const CircuitPath& path) {
    const auto found = tags.find(path.input);
    return found != tags.end() && found->second == path.tag;
  });
}

uint32_t BrokenOf(const SlotPaths& slot, const FaultSet& faults) {
  return static_cast<uint32_t>(std::count_if(
      slot.paths.begin(), slot.paths.end(),
      [&faults](const CircuitPath& path) { return !faults.IsWhole(path.input, path.tag); }));
}

}  // namespace

std::string ProtocolOf(const v1::Schedule& schedule, const std::vector<SlotPaths>& slots,
                       const Network& network) {
  if (!schedule.protocol().empty()) return schedule.protocol();
  for (const SlotPaths& slot : slots) {
    for (const CircuitPath& path : slot.paths) {
      if (path.tag != GreedyTag(network, path.input, path.output)) return DefaultProtocol(network);
    }
  }
  return "greedy";
}

absl::StatusOr<RoutedSchedule> RouteSchedule(const v1::Schedule& schedule, const FabricState& state,
                                             const Interrupt& interrupt) {
  return RouteSchedule(schedule, state.links(), state.load(), interrupt);
}

absl::StatusOr<RoutedSchedule> RouteSchedule(const v1::Schedule& schedule, const Links& links,
                                             const LinkLoad& load, const Interrupt& interrupt) {
  const Network& network = load.network();
  const uint64_t slots = SlotsOf(schedule, network.rows());
  if (slots * network.rows() > kMostCircuits) {
    return absl::InvalidArgumentError(absl::StrCat("slots: ", slots, " slots of ", network.rows(),
                                                   " rows are more than ", kMostCircuits,
                                                   " circuits"));
  }
  if (!schedule.protocol().empty()) {
    absl::Status status = FindProtocol(schedule.protocol(), network.kind()).status();
    if (!status.ok()) return status;
  }
  if (schedule.late() == v1::Schedule::VLB) {
    if (absl::Status status = dataplane::CheckIntermediateRows(network); !status.ok()) {
      return status;
    }
  }
  RoutedSchedule routed{.schedule = schedule, .protocol = "", .slots = {}};
  for (size_t slot = 0; slot < slots; ++slot) {
    if (absl::Status status = Ask(interrupt); !status.ok()) return status;
    const auto requests = RequestsOf(schedule, slot, network.rows());
    if (!requests.ok()) return WithPrefix(requests.status(), NameOf(slot));
    auto paths = RouteSlot(schedule, slot, *requests, links, load);
    if (!paths.ok()) {
      return ErrorAtField(paths.status().code(), NameOf(slot), paths.status().message());
    }
    routed.slots.push_back(*std::move(paths));
  }
  routed.protocol = ProtocolOf(schedule, routed.slots, network);
  return routed;
}

absl::StatusOr<RoutedSchedule> RouteSchedule(const v1::Schedule& schedule, const Network& network,
                                             const LinkCapacity& capacity, const FaultSet& faults) {
  Links links(network, capacity);
  for (const Fault& fault : faults.down()) links.SetFault(fault, /*down=*/true);
  return RouteSchedule(schedule, links, LinkLoad(network));
}

absl::Status CheckWayBack(const v1::Schedule& schedule, const std::string& first,
                          const std::string& last) {
  if (schedule.late() != v1::Schedule::VLB || first == last) return absl::OkStatus();
  return ErrorAtField(
      absl::StatusCode::kFailedPrecondition, "late",
      absl::StrCat("frames cannot come back from an intermediate row to ", first,
                   ", which runs stage 0, because another data plane runs the last stage: ", last,
                   "; use wait or drop"));
}

void CountBroken(const FaultSet& faults, RoutedSchedule& routed) {
  for (SlotPaths& slot : routed.slots) slot.broken = BrokenOf(slot, faults);
}

bool RepairBroken(const FabricState& state, const Interrupt& interrupt, size_t& next,
                  RoutedSchedule& routed) {
  bool changed = false;
  for (; next < routed.slots.size(); ++next) {
    SlotPaths& slot = routed.slots[next];
    if (slot.broken == 0) continue;
    if (!Ask(interrupt).ok()) break;
    auto paths = RouteSlotAgain(routed, next, state);
    if (!paths.ok()) continue;
    slot = *std::move(paths);
    changed = true;
  }
  if (changed) routed.protocol = ProtocolOf(routed.schedule, routed.slots, state.network());
  return changed;
}

absl::StatusOr<uint32_t> RouteAgain(const FabricState& state, RoutedSchedule& routed,
                                    const Interrupt& interrupt) {
  uint32_t changed = 0;
  for (size_t i = 0; i < routed.slots.size(); ++i) {
    if (absl::Status status = Ask(interrupt); !status.ok()) return status;
    SlotPaths& slot = routed.slots[i];
    auto paths = RouteSlotAgain(routed, i, state);
    if (!paths.ok()) {
      slot.broken = BrokenOf(slot, state.faults());
      continue;
    }
    if (!HaveSameTags(slot, *paths)) ++changed;
    slot = *std::move(paths);
  }
  routed.protocol = ProtocolOf(routed.schedule, routed.slots, state.network());
  return changed;
}

uint32_t BrokenSlots(const RoutedSchedule& routed) {
  return static_cast<uint32_t>(
      std::count_if(routed.slots.begin(), routed.slots.end(),
                    [](const SlotPaths& slot) { return slot.broken > 0; }));
}

std::map<RowPair, std::set<Tag>> TagsOf(const RoutedSchedule& routed,
                                        const std::set<RowPair>& pairs) {
  std::map<RowPair, std::set<Tag>> tags;
  if (pairs.empty()) return tags;
  for (const SlotPaths& slot : routed.slots) {
    for (const CircuitPath& path : slot.paths) {
      const RowPair pair{path.input, path.output};
      if (pairs.contains(pair)) tags[pair].insert(path.tag);
    }
  }
  return tags;
}

void FillPaths(const RoutedSchedule& routed, uint32_t rows, v1::ScheduleStatus* status) {
  *status->mutable_schedule() = routed.schedule;
  status->mutable_schedule()->set_protocol(routed.protocol);
  status->set_rows(rows);
  for (size_t i = 0; i < routed.slots.size(); ++i) {
    const auto at = static_cast<int>(i);
    v1::SlotStatus* const slot =
        at < status->slots_size() ? status->mutable_slots(at) : status->add_slots();
    slot->set_slot(static_cast<uint32_t>(i));
    slot->set_circuits(static_cast<uint32_t>(routed.slots[i].paths.size()));
    slot->set_congestion(routed.slots[i].congestion);
    slot->set_broken(routed.slots[i].broken);
  }
  status->set_broken_slots(BrokenSlots(routed));
}

}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
#include "control/intent/path_planner.h"

#include <span>
#include <string>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/intent/given_path.h"
#include "control/status/field_errors.h"

namespace bfly::control {
namespace {

// BB_n and the dilated butterfly use the minimum protocol. A network with one path for a request
// has no choice to make.
std::unique_ptr<PathChooser> ChooserFor(const Network& network) {
  auto minimum = MakeChooser("minimum", network);
  if (minimum.ok()) return *std::move(minimum);
  return *MakeChooser("greedy", network);
}

std::optional<CandidatePaths> CandidatesOf(const Network& network) {
  const auto settings = SwitchSettings::Make(network);
  if (!settings.ok()) return std::nullopt;
  return CandidatePaths(*settings);
}

template <typename AnyOrder>
bool NamesPath(const AnyOrder& order) {
  return !order.rows.empty() || !order.ports.empty();
}

template <typename AnyOrder>
absl::Status CheckOneWish(const AnyOrder& order) {
  if (!NamesPath(order) || order.protocol.empty()) return absl::OkStatus();
  return ErrorAtField(absl::StatusCode::kInvalidArgument, "protocol",
                      absl::StrCat("is given and ", order.rows.empty() ? "ports" : "rows",
                                   " too; give one or the other"));
}

std::string At(absl::string_view field, size_t index) {
  return absl::StrCat(field, "[", index, "]");
}

// Adds an error if the row is out of range, or if an earlier request uses it too.
void AddMisuse(absl::string_view field, size_t i, Row row, Row rows,
               std::unordered_map<Row, size_t>& users, FieldErrors& errors) {
  if (row >= rows) {
    errors.Add(OutOfRange(At(field, i), row, 0, rows - 1));
    return;
  }
  const auto [user, is_new] = users.try_emplace(row, i);
  if (is_new) return;
  errors.Add(At(field, i),
             absl::StrCat("row ", row, " is used twice, first by ", At(field, user->second)));
}

}  // namespace

CircuitPath OtherPath(const CandidatePaths& candidates, const CircuitPath& path) {
  const bool second = path.choice != PathChoice::kPPrime;
  return {path.input, path.output, candidates.tag(path.input, path.output, second),
          second ? PathChoice::kPPrime : PathChoice::kP};
}

PathPlanner::PathPlanner(const Network& network, const Links& links, const Circuits& circuits,
                         const Objects& objects)
    : network_(network),
      links_(links),
      circuits_(circuits),
      objects_(objects),
      chooser_(ChooserFor(network)),
      candidates_(CandidatesOf(network)) {}

bool PathPlanner::IsFit(const CircuitPath& path, const FaultSet& faults) const {
  return links_.CheckPath(path, circuits_.load(), faults).ok();
}

CircuitPath PathPlanner::BetterOf(const CircuitPath& chosen, const CircuitPath& other,
                                  const FaultSet& faults) const {
  const auto is_whole = [&](const CircuitPath& path) {
    return faults.IsWhole(path.input, path.tag);
  };
  const bool other_is_better = IsFit(other, faults) || (!is_whole(chosen) && is_whole(other));
  return other_is_better ? other : chosen;
}

absl::StatusOr<CircuitPath> PathPlanner::ChoosePath(const SetUpOrder& order,
                                                    const FaultSet& faults) const {
  if (absl::Status status = CheckOneWish(order); !status.ok()) return status;
  if (NamesPath(order)) {
    return GivenPath(network_, order.input, order.output, order.rows, order.ports);
  }
  if (!order.protocol.empty()) {
    const auto protocol = FindProtocol(order.protocol, network_.kind());
    if (!protocol.ok()) return protocol.status();
    if (order.protocol != "minimum") {
      return ChooseBy(order.protocol, order.seed, faults, order.input, order.output);
    }
  }
  if (network_.multiplicity() > 1) {
    // On these networks the protocol looks at faults and capacities itself.
    return ChooseBy("minimum", 0, faults, order.input, order.output);
  }
  const CircuitPath chosen = chooser_->Choose(circuits_.load(), order.input, order.output);
  if (!candidates_.has_value() || IsFit(chosen, faults)) return chosen;
  // If the protocol's path is blocked or broken and the other path is not, take the other path.
  return BetterOf(chosen, OtherPath(*candidates_, chosen), faults);
}

CircuitPath PathPlanner::ChooseRead(Row user, uint64_t object, const FaultSet& faults) const {
  const ObjectDirectory::Disks& at = *objects_.directory().Find(object);
  const auto to_disk = [&](Row disk, PathChoice choice) {
    return CircuitPath{user, disk, GreedyTag(network_, user, disk), choice};
  };
  if (at.copies != 2) return to_disk(at.disks[0], PathChoice::kGreedy);
  const CircuitPath chosen =
      ChooseCopy(circuits_.load(), circuits_.set().readers(), user, at.disks);
  if (IsFit(chosen, faults)) return chosen;
  // If the protocol's path is blocked or broken and the path to the other copy is not, take the
  // other copy.
  const bool first = chosen.output == at.disks[0];
  const CircuitPath other =
      to_disk(at.disks[first ? 1 : 0], first ? PathChoice::kPPrime : PathChoice::kP);
  return BetterOf(chosen, other, faults);
}

absl::StatusOr<CircuitPath> PathPlanner::ChooseMove(const MoveOrder& order,
                                                    const StandingCircuit& before,
                                                    const FaultSet& faults) const {
  const auto& [input, output, tag, choice] = before.path;
  if (absl::Status status = CheckOneWish(order); !status.ok()) return status;
  if (NamesPath(order)) return GivenPath(network_, input, output, order.rows, order.ports);
  if (before.object.has_value()) {
    if (!order.protocol.empty() && order.protocol != "minimum") {
      return ErrorAtField(absl::StatusCode::kFailedPrecondition, "protocol",
                          absl::StrCat(order.protocol, " moves no read; use minimum"));
    }
    // If the object is not known, its other copy is not known either.
    if (*before.object == kUnknownObject) return before.path;
    return ChooseRead(input, *before.object, faults);
  }
  if (order.protocol.empty() || order.protocol == "minimum") {
    return ChoosePath({.input = input, .output = output, .rows = {}, .protocol = order.protocol},
                      faults);
  }
  return ChooseBy(order.protocol, order.seed, faults, input, output);
}

absl::StatusOr<CircuitPath> PathPlanner::ChooseBy(const std::string& protocol, uint64_t seed,
                                                  const FaultSet& faults, Row input,
                                                  Row output) const {
  const auto chooser =
      MakeChooser(protocol, network_,
                  {.seed = seed,
                   .faults = &faults,
                   .capacity = &links_.capacity(),
                   .candidates = candidates_.has_value() ? &*candidates_ : nullptr});
  if (!chooser.ok()) return chooser.status();
  return (*chooser)->Find(circuits_.load(), input, output);
}

absl::StatusOr<RouteResult> PathPlanner::Route(const PermutationOrder& order,
                                               const Interrupt& interrupt) const {
  if (absl::Status status = links_.CheckAvoid(order.avoid); !status.ok()) return status;
  const Forbidden forbidden(links_, order.avoid);
  const FaultSet& faults = forbidden.faults();
  absl::StatusOr<RouteResult> routed = ChoosePaths(order, faults, interrupt);
  if (!routed.ok()) return routed;
  absl::Status status = links_.CheckInTurn(routed->paths, LoadBeside(order), faults, "paths");
  if (!status.ok()) return status;
  return routed;
}

LinkLoad PathPlanner::LoadBeside(const PermutationOrder& order) const {
  LinkLoad load = circuits_.load();
  if (!order.replace) return load;
  for (const StandingCircuit& circuit : circuits_.HoldersOf(order.requests)) {
    load.Remove(circuit.path.input, circuit.path.tag);
  }
  return load;
}

absl::StatusOr<RouteResult> PathPlanner::ChoosePaths(const PermutationOrder& order,
                                                     const FaultSet& faults,
                                                     const Interrupt& interrupt) const {
  // All mistakes of the request come first, before what stands is looked at.
  FieldErrors wrong;
  const auto protocol = FindProtocol(order.protocol, network_.kind());
  if (absl::IsInvalidArgument(protocol.status())) wrong.Add(protocol.status());
  std::unordered_map<Row, size_t> inputs, outputs;
  for (size_t i = 0; i < order.requests.size(); ++i) {
    AddMisuse("inputs", i, order.requests[i].input, network_.rows(), inputs, wrong);
    AddMisuse("outputs", i, order.requests[i].output, network_.rows(), outputs, wrong);
  }
  if (!wrong.empty()) return wrong.ToStatus();
  absl::Status routing = CheckRouting(order.protocol, network_, order.requests, order.options);
  if (!routing.ok()) return routing;

  if (!order.replace) {
    FieldErrors busy;
    for (size_t i = 0; i < order.requests.size(); ++i) {
      circuits_.AddBusyInput(At("inputs", i), order.requests[i].input, busy);
      circuits_.AddBusyOutput(At("outputs", i), order.requests[i].output, busy);
    }
    if (!busy.empty()) return busy.ToStatus(absl::StatusCode::kFailedPrecondition);
  }
  ProtocolOptions options = order.options;
  if (!faults.empty()) options.faults = &faults;
  if (links_.capacity().limited()) options.capacity = &links_.capacity();
  options.interrupt = interrupt;
  return RoutePermutation(order.protocol, LoadBeside(order), order.requests, options);
}

absl::StatusOr<DataServerResult> PathPlanner::Route(const ReadBatchOrder& order) const {
  if (absl::Status status = links_.CheckAvoid(order.avoid); !status.ok()) return status;
  const Forbidden forbidden(links_, order.avoid);
  const FaultSet& faults = forbidden.faults();
  absl::StatusOr<DataServerResult> routed = ChooseReads(order, faults);
  if (!routed.ok()) return routed;
  // A disk that is held ends the reads where executing them would end.
  const std::span<const CircuitPath> paths(routed->route.paths);
  absl::Status held;
  size_t free = 0;
  while (free < paths.size() && (held = objects_.CheckDisk(paths[free].output)).ok()) ++free;
  absl::Status status = links_.CheckInTurn(paths.first(free), circuits_.load(), faults, "users");
  if (status.ok()) status = WithIndex(held, free);
  if (!status.ok()) return status;
  return routed;
}

absl::StatusOr<DataServerResult> PathPlanner::ChooseReads(const ReadBatchOrder& order,
                                                          const FaultSet& faults) const {
  if (absl::Status status = objects_.CheckReads(order); !status.ok()) return status;
  const StandingReads standing{.links = &circuits_.load(),
                               .disks = &circuits_.set().readers(),
                               .faults = faults.empty() ? nullptr : &faults};
  if (!order.objects.empty() && objects_.directory().Find(order.objects[0])->copies == 1) {
    std::vector<Row> disks;
    for (const uint64_t object : order.objects)
      disks.push_back(objects_.directory().Find(object)->disks[0]);
    return RouteDataServerSingleCopy(network_, order.users, disks, standing);
  }
  std::vector<DataServerRequest> requests;
  for (size_t i = 0; i < order.users.size(); ++i) {
    requests.push_back({order.users[i], objects_.directory().Find(order.objects[i])->disks});
  }
  if (order.protocol == "minimum") return RouteDataServerMinimum(network_, requests, standing);
  return RouteDataServerCollision(network_, requests, order.options, standing);
}

PathChoice PathPlanner::ChoiceOf(const CircuitPath& path, const ObjectDirectory::Disks* at) const {
  if (at != nullptr && at->copies == 2) {
    return path.output == at->disks[0] ? PathChoice::kP : PathChoice::kPPrime;
  }
  if (candidates_.has_value()) {
    if (candidates_->tag(path.input, path.output, 0) == path.tag) return PathChoice::kP;
    if (candidates_->tag(path.input, path.output, 1) == path.tag) return PathChoice::kPPrime;
  } else if (GreedyTag(network_, path.input, path.output) == path.tag) {
    return PathChoice::kGreedy;
  }
  return PathChoice::kGiven;
}

}  // namespace bfly::control

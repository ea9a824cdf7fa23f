// SPDX-License-Identifier: Apache-2.0
#include "control/intent/execute.h"

#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "control/intent/order_text.h"
#include "control/status/field_errors.h"

namespace bfly::control {
namespace {

// How many circuits are set up between two looks at the interrupt.
constexpr size_t kBetweenLooks = 256;

// Executes one order, which has no key or a new one.
struct OnState {
  FabricState& state;

  Outcome operator()(const SetUpOrder& order) const {
    if (absl::Status status = state.links().CheckAvoid(order.avoid); !status.ok()) return status;
    if (absl::Status status = state.standing().CheckFree(order.input, order.output); !status.ok()) {
      return status;
    }
    const Forbidden forbidden(state.links(), order.avoid);
    const auto path = state.planner().ChoosePath(order, forbidden.faults());
    if (!path.ok()) {
      if (absl::IsResourceExhausted(path.status())) state.Count({.asked = 1, .blocked = 1});
      return path.status();
    }
    return state.Put(*path, std::nullopt, forbidden.faults());
  }

  Outcome operator()(const ReleaseOrder& order) const {
    const auto circuit = state.standing().Find(order.id);
    if (!circuit.ok()) return circuit.status();
    return state.Release(circuit->path.input);
  }

  Outcome operator()(const MoveOrder& order) const {
    if (absl::Status status = state.links().CheckAvoid(order.avoid); !status.ok()) return status;
    const auto before = state.standing().Find(order);
    if (!before.ok()) return before.status();
    const Forbidden forbidden(state.links(), order.avoid);
    const size_t mark = state.change().size();
    // The circuit that moves is not in its own way.
    state.Release(before->path.input);
    const auto path = state.planner().ChooseMove(order, *before, forbidden.faults());
    absl::Status status = path.status();
    if (status.ok()) status = state.links().CheckPath(*path, state.load(), forbidden.faults());
    const bool same = status.ok() && path->tag == before->path.tag;
    Outcome moved = *before;
    if (status.ok() && !same) moved = state.Stand(*path, before->object, before->id);
    if (!status.ok()) moved = status;
    if (!moved.ok() || same) state.RollBackTo(mark);
    return moved;
  }

  Outcome operator()(const ReadOrder& order) const {
    const Objects& objects = state.data_server();
    absl::Status status = objects.CheckDataServer();
    if (status.ok()) status = objects.CheckRead(order.user, order.object);
    if (status.ok()) status = state.links().CheckAvoid(order.avoid);
    if (!status.ok()) return status;
    const Forbidden forbidden(state.links(), order.avoid);
    const FaultSet& faults = forbidden.faults();
    return state.Put(state.planner().ChooseRead(order.user, order.object, faults), order.object,
                     faults);
  }

  Outcome operator()(const StopReadingOrder& order) const {
    absl::Status status = state.data_server().CheckStopReading(order.user);
    if (!status.ok()) return status;
    return state.Release(order.user);
  }
};

// If the key was answered before, answers the same again. Otherwise has `execute` do the order and
// keeps its answer.
template <class Result, class MakeText, class ExecuteNew>
absl::StatusOr<Result> ByKey(FabricState& state, const std::string& key, MakeText&& text,
                             ExecuteNew&& execute) {
  if (key.empty()) return execute();
  std::string request = text();
  const auto known = state.keys().Find(key, request);
  if (!known.ok()) return known.status();
  if (*known != nullptr) return std::get<Result>(**known);
  absl::StatusOr<Result> result = execute();
  if (result.ok()) state.Remember(key, std::move(request), *result);
  return result;
}

bool IsOfDataServer(const Order& order) {
  return std::holds_alternative<ReadOrder>(order.what) ||
         std::holds_alternative<StopReadingOrder>(order.what);
}

absl::Status Look(const Interrupt& interrupt) { return interrupt ? interrupt() : absl::OkStatus(); }

absl::StatusOr<std::vector<Outcome>> ExecuteAll(FabricState& state,
                                                const std::vector<Order>& orders,
                                                bool all_or_nothing, const Interrupt& interrupt) {
  const size_t mark = state.change().size();
  std::vector<Outcome> outcomes;
  outcomes.reserve(orders.size());
  absl::Status stop;
  for (size_t i = 0; i < orders.size(); ++i) {
    if (i % kBetweenLooks == 0) stop = Look(interrupt);
    if (!stop.ok() && !all_or_nothing) {
      outcomes.resize(orders.size(), stop);
      return outcomes;
    }
    if (stop.ok()) outcomes.push_back(Execute(state, orders[i]));
    if (stop.ok() && (outcomes.back().ok() || !all_or_nothing)) continue;
    state.RollBackTo(mark);
    if (!stop.ok()) return stop;
    const absl::Status& failed = outcomes.back().status();
    if (IsOfDataServer(orders[i])) return WithIndex(failed, i);
    return WithPrefix(failed, absl::StrCat("requests[", i, "]"));
  }
  if (all_or_nothing) stop = Look(interrupt);
  if (stop.ok()) return outcomes;
  state.RollBackTo(mark);
  return stop;
}

// Puts up all `paths` or none. With `objects` they are reads. An error stands under "field[i]".
absl::Status PutAll(FabricState& state, const std::vector<CircuitPath>& paths,
                    const std::vector<uint64_t>* objects, const FaultSet& faults,
                    absl::string_view field, const Interrupt& interrupt) {
  for (size_t i = 0; i < paths.size(); ++i) {
    std::optional<uint64_t> object;
    if (objects != nullptr) object = (*objects)[i];
    const absl::Status put = state.Put(paths[i], object, faults).status();
    if (!put.ok()) return WithPrefix(put, absl::StrCat(field, "[", i, "]"));
    if (i % kBetweenLooks != 0 && i + 1 != paths.size()) continue;
    if (absl::Status status = Look(interrupt); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<RouteResult> ExecuteNew(FabricState& state, const PermutationOrder& order,
                                       const Interrupt& interrupt) {
  if (absl::Status status = state.links().CheckAvoid(order.avoid); !status.ok()) return status;
  const Forbidden forbidden(state.links(), order.avoid);
  auto routed = state.planner().ChoosePaths(order, forbidden.faults(), interrupt);
  if (!routed.ok()) return routed;
  const size_t mark = state.change().size();
  if (order.replace) {
    for (const StandingCircuit& circuit : state.standing().HoldersOf(order.requests)) {
      state.Release(circuit.path.input);
    }
  }
  const absl::Status status =
      PutAll(state, routed->paths, nullptr, forbidden.faults(), "paths", interrupt);
  if (status.ok()) return routed;
  state.RollBackTo(mark);
  return status;
}

absl::StatusOr<DataServerResult> ExecuteNew(FabricState& state, const ReadBatchOrder& order,
                                            const Interrupt& interrupt) {
  if (absl::Status status = state.links().CheckAvoid(order.avoid); !status.ok()) return status;
  const Forbidden forbidden(state.links(), order.avoid);
  auto routed = state.planner().ChooseReads(order, forbidden.faults());
  if (!routed.ok()) return routed;
  const size_t mark = state.change().size();
  const absl::Status status =
      PutAll(state, routed->route.paths, &order.objects, forbidden.faults(), "users", interrupt);
  if (status.ok()) return routed;
  state.RollBackTo(mark);
  return status;
}

}  // namespace

Outcome Execute(FabricState& state, const Order& order) {
  return ByKey<StandingCircuit>(
      state, order.key, [&] { return TextOf(order); },
      [&] { return std::visit(OnState{state}, order.what); });
}

absl::StatusOr<std::vector<Outcome>> ExecuteBatch(FabricState& state,
                                                  const std::vector<Order>& orders,
                                                  bool all_or_nothing, const std::string& key,
                                                  const Interrupt& interrupt) {
  return ByKey<std::vector<Outcome>>(
      state, key, [&] { return absl::StrCat(all_or_nothing, TextOf(orders)); },
      [&] { return ExecuteAll(state, orders, all_or_nothing, interrupt); });
}

absl::StatusOr<RouteResult> Execute(FabricState& state, const PermutationOrder& order,
                                    const std::string& key, const Interrupt& interrupt) {
  return ByKey<RouteResult>(
      state, key, [&] { return TextOf(order); },
      [&] { return ExecuteNew(state, order, interrupt); });
}

absl::StatusOr<DataServerResult> Execute(FabricState& state, const ReadBatchOrder& order,
                                         const std::string& key, const Interrupt& interrupt) {
  return ByKey<DataServerResult>(
      state, key, [&] { return TextOf(order); },
      [&] { return ExecuteNew(state, order, interrupt); });
}

absl::Status Execute(FabricState& state, const PlaceOrder& order) {
  auto placed = state.data_server().WithPlaced(order);
  if (!placed.ok()) return placed.status();
  state.Place(*std::move(placed), order);
  return absl::OkStatus();
}

}  // namespace bfly::control

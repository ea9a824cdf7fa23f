// SPDX-License-Identifier: Apache-2.0
#include "control/intent/execute.h"

#include <algorithm>
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
      state.CountRefusal(path.status());
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
    if (status.ok() && before->object.has_value()) {
      status = state.data_server().CheckDisk(path->output);
    }
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

// Puts circuits over all `paths` and returns their ids. With `objects` they are reads. After an
// error, which names "paths[i]" or, of a read, "users[i]" or "objects[i]", some of them may have
// been put up.
absl::StatusOr<std::vector<uint64_t>> PutAll(FabricState& state,
                                             const std::vector<CircuitPath>& paths,
                                             const std::vector<uint64_t>* objects,
                                             const FaultSet& faults, const Interrupt& interrupt) {
  std::vector<uint64_t> ids;
  ids.reserve(paths.size());
  for (size_t i = 0; i < paths.size(); ++i) {
    std::optional<uint64_t> object;
    if (objects != nullptr) object = (*objects)[i];
    const auto put = state.Put(paths[i], object, faults);
    if (!put.ok() && object.has_value()) return WithIndex(put.status(), i);
    if (!put.ok()) return WithPrefix(put.status(), absl::StrCat("paths[", i, "]"));
    ids.push_back(put->id);
    if (i % kBetweenLooks != 0 && i + 1 != paths.size()) continue;
    if (absl::Status status = Look(interrupt); !status.ok()) return status;
  }
  return ids;
}

absl::StatusOr<RouteResult> ExecuteNew(FabricState& state, const PermutationOrder& order,
                                       const Interrupt& interrupt) {
  if (absl::Status status = state.links().CheckAvoid(order.avoid); !status.ok()) return status;
  const Forbidden forbidden(state.links(), order.avoid);
  auto routed = state.planner().ChoosePaths(order, forbidden.faults(), interrupt);
  if (!routed.ok()) {
    state.CountRefusal(routed.status());
    return routed;
  }
  const size_t mark = state.change().size();
  if (order.replace) {
    for (const StandingCircuit& circuit : state.standing().HoldersOf(order.requests)) {
      state.Release(circuit.path.input);
    }
  }
  const absl::Status status =
      PutAll(state, routed->paths, nullptr, forbidden.faults(), interrupt).status();
  if (status.ok()) {
    // Requests without a path were lost by the protocol.
    state.Count({.asked = order.requests.size() - routed->paths.size(),
                 .blocked = routed->lost_to_full_links});
    return routed;
  }
  state.RollBackTo(mark);
  return status;
}

absl::StatusOr<ReadBatchOutcome> ExecuteNew(FabricState& state, const ReadBatchOrder& order,
                                            const Interrupt& interrupt) {
  if (absl::Status status = state.links().CheckAvoid(order.avoid); !status.ok()) return status;
  const Forbidden forbidden(state.links(), order.avoid);
  auto routed = state.planner().ChooseReads(order, forbidden.faults());
  if (!routed.ok()) return routed.status();
  const size_t mark = state.change().size();
  auto circuits = PutAll(state, routed->route.paths, &order.objects, forbidden.faults(), interrupt);
  if (circuits.ok()) {
    return ReadBatchOutcome{*std::move(routed), *std::move(circuits),
                            state.data_server().CopiesOf(order)};
  }
  state.RollBackTo(mark);
  return circuits.status();
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

absl::StatusOr<ReadBatchOutcome> Execute(FabricState& state, const ReadBatchOrder& order,
                                         const std::string& key, const Interrupt& interrupt) {
  return ByKey<ReadBatchOutcome>(
      state, key, [&] { return TextOf(order); },
      [&] { return ExecuteNew(state, order, interrupt); });
}

absl::StatusOr<SingleReadsOutcome> ExecuteReads(FabricState& state, const std::vector<Order>& reads,
                                                const std::string& key,
                                                const Interrupt& interrupt) {
  const auto execute = [&]() -> absl::StatusOr<SingleReadsOutcome> {
    auto outcomes = ExecuteAll(state, reads, /*all_or_nothing=*/false, interrupt);
    if (!outcomes.ok()) return outcomes.status();
    const std::vector<uint32_t>& readers = state.circuit_set().readers();
    return SingleReadsOutcome{*std::move(outcomes), state.load().Congestion(),
                              *std::max_element(readers.begin(), readers.end())};
  };
  // An empty batch of another kind must have another text.
  return ByKey<SingleReadsOutcome>(
      state, key, [&] { return absl::StrCat("reads ", TextOf(reads)); }, execute);
}

absl::Status Execute(FabricState& state, PlaceOrder order) { return state.Place(std::move(order)); }

}  // namespace bfly::control

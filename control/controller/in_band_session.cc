// SPDX-License-Identifier: Apache-2.0
#include "control/controller/in_band_session.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "control/controller/agent_answers.h"
#include "control/controller/program_note.h"
#include "control/intent/in_band.h"
#include "control/status/field_errors.h"

namespace bfly::control {
namespace {

PathChoice ChoiceOf(v1::AgentInBandPath::Choice choice) {
  switch (choice) {
    case v1::AgentInBandPath::P:
      return PathChoice::kP;
    case v1::AgentInBandPath::P_PRIME:
      return PathChoice::kPPrime;
    case v1::AgentInBandPath::ONLY:
      return PathChoice::kGreedy;
    default:
      return PathChoice::kArbitrary;
  }
}

// Names the program of the order and its parameters. Each program has a case here.
void SetProgram(const InBandOrder& order, int dimension, v1::AgentInBandRequest& request) {
  const std::string& name = order.reads.has_value() ? order.reads->protocol : order.protocol;
  if (name == "minimum") {
    request.mutable_minimum()->set_other_if_full(order.single);
    return;
  }
  v1::AgentCollisionParameters& collision = *request.mutable_collision();
  if (order.reads.has_value()) {
    const DataServerOptions options = WithThresholds(order.reads->options, dimension);
    collision.set_c(options.c);
    collision.set_c_disk(options.c_disk);
    collision.set_max_rounds(options.max_rounds);
  } else {
    collision.set_c(order.options.c != 0 ? order.options.c : CollisionThreshold(dimension));
    collision.set_max_rounds(order.options.max_rounds);
  }
}

std::string NameOf(const v1::AgentInBandRequest& request) {
  if (request.has_collision()) return "collision";
  return request.has_minimum() ? "minimum" : "release";
}

RouteResult RouteOf(const Network& network, const v1::AgentInBandRequest& request,
                    const v1::AgentInBandResponse& response) {
  RouteResult route;
  for (const v1::AgentInBandPath& path : response.paths()) {
    route.paths.push_back(
        {path.input(), OutputOfTag(network, path.tag()), path.tag(), ChoiceOf(path.choice())});
  }
  route.rounds = response.rounds();
  route.messages = response.report().messages();
  route.c = request.collision().c();
  route.left_per_round.assign(response.left_per_round().begin(), response.left_per_round().end());
  for (const uint32_t left : response.requests_left()) {
    route.requests_left.push_back(left);
    route.inputs_left.push_back(request.inputs(static_cast<int>(left)));
  }
  return route;
}

absl::Status CheckProgram(const FabricState& state, const InBandOrder& order) {
  const bool reads = order.reads.has_value() || order.stop_reading.has_value();
  if (!reads && order.protocol != "collision" && order.protocol != "minimum") {
    return ErrorAtField(
        absl::StatusCode::kFailedPrecondition, "protocol",
        absl::StrCat(order.protocol, " does not run in band; use collision or minimum"));
  }
  const DataServerOptions of_reads =
      order.reads.has_value() ? order.reads->options : DataServerOptions{};
  for (const auto& [field, value] : {std::pair{"c", of_reads.c}, {"c_disk", of_reads.c_disk}}) {
    if (value > kMaxThreshold) return OutOfRange(field, value, 0, kMaxThreshold);
  }
  if (!reads) {
    const auto found = FindProtocol(order.protocol, state.network().kind());
    if (!found.ok()) return found.status();
    absl::Status options = CheckOptions(**found, order.options);
    if (!options.ok()) return options;
  }
  return CheckInBand(state, order);
}

v1::AgentInBandRequest RequestOf(const FabricState& state, const InBandOrder& order) {
  v1::AgentInBandRequest request;
  SetProgram(order, state.network().dimension(), request);
  if (order.reads.has_value()) {
    const ReadBatchOrder& reads = *order.reads;
    request.mutable_inputs()->Add(reads.users.begin(), reads.users.end());
    request.mutable_objects()->Add(reads.objects.begin(), reads.objects.end());
    for (const uint64_t object : reads.objects) {
      const ObjectDirectory::Disks& at = *state.objects().Find(object);
      request.add_outputs(at.disks[0]);
      if (at.copies == 2) request.add_second_outputs(at.disks[1]);
    }
    // Objects in one copy leave nothing to choose, so nothing is below a threshold.
    if (request.has_collision() && request.second_outputs().empty()) {
      request.mutable_collision()->Clear();
    }
  } else {
    for (const Request& wanted : order.requests) {
      request.add_inputs(wanted.input);
      request.add_outputs(wanted.output);
    }
  }
  for (const Row input : ReleasedBy(state, order)) request.add_release(input);
  return request;
}

// The data plane answers: messages were lost on their way to others, and nothing was changed.
bool IsLossOnTrunk(const absl::Status& status) {
  if (!absl::IsUnavailable(status)) return false;
  const std::vector<FieldError> fields = FieldErrorsOf(status);
  return !fields.empty() && fields[0].field == "in_band";
}

absl::Status DidNotAnswer(const DataPlane& plane) {
  return absl::DeadlineExceededError(absl::StrCat(
      "data plane ", plane.name(), " did not answer in time; its circuits are compared anew"));
}

}  // namespace

absl::StatusOr<InBandOutcome> InBandSession::Execute(const Caller& caller,
                                                     const MakeOrder& make_order) {
  const auto programs = LockPatiently(programs_, caller.patience.interrupt);
  if (!programs.ok()) return programs.status();
  const auto change = LockPatiently(intent_.change_lock(), caller.patience.interrupt);
  if (!change.ok()) return change.status();
  absl::Status status = intent_.CheckPermitted(caller.election_id);
  if (status.ok()) status = intent_.CheckLoaded();
  if (status.ok()) status = intent_.CheckUsable();
  if (!status.ok()) return status;
  const FabricState& state = intent_.now().state;
  const absl::StatusOr<InBandOrder> order = make_order(state.network());
  if (!order.ok()) return order.status();
  const auto known = FindInBand(state, *order, caller.key);
  if (!known.ok()) return known.status();
  if (*known != nullptr) return **known;
  status = CheckProgram(state, *order);
  if (!status.ok()) return status;

  v1::AgentInBandRequest request = RequestOf(state, *order);
  ProgramNote note(events_, v1::Event::DEBUG, NameOf(request));
  const absl::StatusOr<v1::AgentInBandResponse> response = Ask(request, caller.patience.deadline);
  note.End(response.status());
  if (!response.ok()) return response.status();
  status = CheckAnswer(*response, request, state.network());
  if (!status.ok()) return OutcomeUnknown(status);
  if (response->has_refusal()) return LearnOfRefusal(*order, response->refusal());
  return LearnOutcome(caller, *order, request, *response);
}

// Asks the data plane of the inputs, which has the others take part over the trunks. If the data
// plane is not as the controller saw it last, looks at it once and asks again.
absl::StatusOr<v1::AgentInBandResponse> InBandSession::Ask(v1::AgentInBandRequest& request,
                                                           Deadline deadline) {
  DataPlane& plane = intent_.now().ingress();
  request.set_base_revision(plane.known().revision);
  absl::StatusOr<v1::AgentInBandResponse> response =
      plane.client().ExchangeInBand(request, UndoDeadline(deadline));
  if (absl::IsAborted(response.status())) {
    if (absl::Status status = reconciler_.Reconcile(plane, UndoDeadline(deadline)); !status.ok()) {
      return IsOver(deadline) ? DidNotAnswer(plane) : absl::UnavailableError(status.message());
    }
    request.set_base_revision(plane.known().revision);
    response = plane.client().ExchangeInBand(request, UndoDeadline(deadline));
  }
  if (response.ok()) {
    plane.Learn([&](DataPlane::Known& known) { known.revision = response->revision(); });
    return response;
  }
  if (!IsUnreachable(response.status()) || IsLossOnTrunk(response.status())) {
    return response.status();
  }
  // Nobody knows whether the data plane did it. The next look compares.
  const std::string problem(response.status().message());
  plane.Learn([&](DataPlane::Known& known) {
    known.reachable = known.reachable && IsLate(response.status());
    known.in_step = false;
    known.problem = problem;
  });
  if (IsOver(deadline)) return DidNotAnswer(plane);
  return absl::UnavailableError(absl::StrCat("data plane ", plane.name(), ": ", problem));
}

absl::Status InBandSession::LearnOfRefusal(const InBandOrder& order,
                                           const v1::AgentInBandRefusal& refusal) {
  const InBandRefusal why{
      .request = refusal.request(),
      .link = {static_cast<int>(refusal.stage()), refusal.row(), static_cast<int>(refusal.port())},
      .down = refusal.down(),
      .circuits = refusal.circuits(),
      .capacity = refusal.capacity()};
  absl::Status status;
  intent_.Change([&](Intent& intent) {
    status = LearnRefusal(intent.state, order, why);
    intent.state.Commit();
  });
  return status;
}

absl::StatusOr<InBandOutcome> InBandSession::LearnOutcome(const Caller& caller,
                                                          const InBandOrder& order,
                                                          const v1::AgentInBandRequest& request,
                                                          const v1::AgentInBandResponse& response) {
  const Network& network = intent_.now().state.network();
  InBandOutcome outcome{.network = intent_.now().state.shared_network(),
                        .route = RouteOf(network, request, response),
                        .circuits = {},
                        .report = response.report(),
                        .disk_contention = 0,
                        .c_disk = request.collision().c_disk(),
                        .copies = request.objects().empty()          ? 0u
                                  : request.second_outputs().empty() ? 1u
                                                                     : 2u};
  CircuitChange change;
  absl::Status status, interrupted;
  intent_.Change([&](Intent& intent) {
    FabricState& state = intent.state;
    status = Learn(state, order, outcome.route, &outcome.circuits);
    const std::vector<Row> inputs = state.change().inputs();
    if (status.ok() && caller.patience.interrupt) interrupted = caller.patience.interrupt();
    if (!interrupted.ok()) state.RollBack();
    change = state.NowAt(inputs);
    if (!status.ok() || !interrupted.ok()) return;
    if (order.reads.has_value()) {
      const std::vector<uint32_t>& readers = state.circuit_set().readers();
      outcome.disk_contention = order.single ? readers[outcome.circuits[0].path.output]
                                             : *std::max_element(readers.begin(), readers.end());
    }
    if (!caller.key.empty()) RememberInBand(state, order, caller.key, outcome);
  });
  // The data plane holds the circuits already. It is told their ids, or is told to remove circuits
  // that nobody waits for.
  if (status.ok()) status = commit_.Push(change, UndoDeadline(caller.patience.deadline));
  if (status.ok() && !interrupted.ok()) return interrupted;
  if (!status.ok()) {
    intent_.Change([](Intent& intent) { intent.state.RollBack(); });
    return OutcomeUnknown(status);
  }
  intent_.ChangeAndTell([&](Intent& intent) -> const CircuitChange& {
    intent.state.Commit();
    return change;
  });
  return outcome;
}

absl::Status InBandSession::OutcomeUnknown(const absl::Status& status) {
  MarkOutOfStep(intent_.now().ingress(), status);
  return absl::UnavailableError(absl::StrCat(status.message(), "; its circuits are compared anew"));
}

}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
#include "control/services/circuit_messages.h"

#include <numeric>

#include "absl/strings/str_cat.h"
#include "control/status/field_errors.h"
#include "topologies/permutation.h"

namespace bfly::control {

absl::Status CheckKey(const std::string& key) {
  if (key.size() <= kMaxKeyBytes) return absl::OkStatus();
  return ErrorAtField(
      absl::StatusCode::kInvalidArgument, "idempotency_key",
      absl::StrCat("has ", key.size(), " bytes, at most ", kMaxKeyBytes, " are allowed"));
}

absl::Status CheckSeed(uint64_t seed, const std::string& protocol) {
  if (seed == 0 || !protocol.empty()) return absl::OkStatus();
  return ErrorAtField(absl::StatusCode::kInvalidArgument, "seed",
                      "is for the choices of a protocol; name the protocol, or leave it out");
}

std::vector<LinkId> ToLinks(const google::protobuf::RepeatedPtrField<v1::LinkRef>& links) {
  std::vector<LinkId> ids;
  for (const v1::LinkRef& link : links) {
    ids.push_back({static_cast<int>(link.stage()), link.row(), static_cast<int>(link.port())});
  }
  return ids;
}

absl::Status CheckBatchSize(Resource& batch, absl::string_view field, int size) {
  if (static_cast<uint64_t>(size) <= batch.limit()) return absl::OkStatus();
  batch.CountRefusal();
  return ErrorAtField(absl::StatusCode::kResourceExhausted, field,
                      absl::StrCat("has ", size, " entries, at most ", batch.limit(),
                                   " are allowed in one message; send several batches"));
}

absl::Status RefuseInBand(bool in_band) {
  if (!in_band) return absl::OkStatus();
  return ErrorAtField(absl::StatusCode::kInvalidArgument, "in_band",
                      "is for a call of its own, not for a batch or a stream");
}

absl::Status RefuseAvoidInBand(int avoided) {
  if (avoided == 0) return absl::OkStatus();
  return ErrorAtField(absl::StatusCode::kInvalidArgument, "avoid",
                      "is given and in_band too; the workers avoid the links that are down");
}

absl::StatusOr<Order> ToOrder(const v1::SetUpRequest& request) {
  if (absl::Status status = RefuseInBand(request.in_band()); !status.ok()) return status;
  if (absl::Status status = CheckKey(request.idempotency_key()); !status.ok()) return status;
  if (absl::Status status = CheckSeed(request.seed(), request.protocol()); !status.ok()) {
    return status;
  }
  return Order{SetUpOrder{request.input(),
                          request.output(),
                          {request.rows().begin(), request.rows().end()},
                          ToLinks(request.avoid()),
                          {request.ports().begin(), request.ports().end()},
                          request.protocol(),
                          request.seed()},
               request.idempotency_key()};
}

absl::StatusOr<Order> ToOrder(const v1::ReleaseRequest& request) {
  if (absl::Status status = RefuseInBand(request.in_band()); !status.ok()) return status;
  if (absl::Status status = CheckKey(request.idempotency_key()); !status.ok()) return status;
  return Order{ReleaseOrder{request.id()}, request.idempotency_key()};
}

absl::StatusOr<Order> ToOrder(const v1::MoveRequest& request) {
  if (absl::Status status = CheckKey(request.idempotency_key()); !status.ok()) return status;
  if (absl::Status status = CheckSeed(request.seed(), request.protocol()); !status.ok()) {
    return status;
  }
  MoveOrder order;
  order.id = request.id();
  if (request.has_input()) order.input = request.input();
  order.rows = {request.rows().begin(), request.rows().end()};
  order.protocol = request.protocol();
  order.seed = request.seed();
  order.avoid = ToLinks(request.avoid());
  order.ports = {request.ports().begin(), request.ports().end()};
  return Order{std::move(order), request.idempotency_key()};
}

absl::StatusOr<std::vector<Order>> ToOrders(const v1::SetUpBatchRequest& request) {
  FieldErrors errors;
  errors.Add(CheckKey(request.idempotency_key()));
  std::vector<Order> orders;
  orders.reserve(request.requests_size());
  for (int i = 0; i < request.requests_size(); ++i) {
    const v1::SetUpRequest& member = request.requests(i);
    for (const absl::Status& wrong :
         {RefuseInBand(member.in_band()), CheckSeed(member.seed(), member.protocol())}) {
      if (!wrong.ok()) errors.Add(WithPrefix(wrong, absl::StrCat("requests[", i, "]")));
    }
    if (!member.idempotency_key().empty()) {
      errors.Add(absl::StrCat("requests[", i, "].idempotency_key"),
                 "a request in a batch has no key of its own; use the batch's");
    }
    if (member.election_id() != 0 && member.election_id() != request.election_id()) {
      errors.Add(absl::StrCat("requests[", i, "].election_id"),
                 "a request in a batch has no election id of its own; use the batch's");
    }
    orders.push_back(Order{SetUpOrder{member.input(),
                                      member.output(),
                                      {member.rows().begin(), member.rows().end()},
                                      ToLinks(member.avoid()),
                                      {member.ports().begin(), member.ports().end()},
                                      member.protocol(),
                                      member.seed()},
                           ""});
  }
  if (absl::Status status = errors.ToStatus(); !status.ok()) return status;
  return orders;
}

absl::StatusOr<PermutationOrder> ToPermutationOrder(const v1::RoutePermutationRequest& request,
                                                    uint32_t rows) {
  if (absl::Status status = CheckKey(request.idempotency_key()); !status.ok()) return status;
  if (request.dry_run() && !request.idempotency_key().empty()) {
    return ErrorAtField(absl::StatusCode::kInvalidArgument, "idempotency_key",
                        "is of no use with dry_run, which changes nothing");
  }
  PermutationOrder order{request.protocol(),
                         {},
                         {.seed = request.seed(),
                          .c = request.c(),
                          .max_rounds = request.max_rounds(),
                          .q = request.q()},
                         request.replace(),
                         ToLinks(request.avoid())};
  Permutation inputs(request.inputs().begin(), request.inputs().end());
  Permutation outputs(request.outputs().begin(), request.outputs().end());
  if (!request.permutation().empty()) {
    if (!inputs.empty() || !outputs.empty()) {
      return ErrorAtField(absl::StatusCode::kInvalidArgument, "permutation",
                          "is given and inputs or outputs too; give one or the other");
    }
    auto named = PermutationByName(request.permutation(), rows, request.seed());
    if (!named.ok()) return named.status();
    outputs = *std::move(named);
  }
  if (outputs.empty()) {
    return ErrorAtField(absl::StatusCode::kInvalidArgument, "permutation",
                        "is missing; name one, such as random, or give inputs and outputs");
  }
  if (inputs.empty() && outputs.size() == rows) {
    inputs.resize(rows);
    std::iota(inputs.begin(), inputs.end(), 0);
  }
  if (inputs.size() != outputs.size()) {
    return ErrorAtField(absl::StatusCode::kInvalidArgument, "outputs",
                        absl::StrCat("has ", outputs.size(), " rows and inputs ", inputs.size(),
                                     "; give as many, or ", rows, " outputs and no inputs"));
  }
  for (size_t i = 0; i < inputs.size(); ++i) order.requests.push_back({inputs[i], outputs[i]});
  return order;
}

void FillCircuit(const Network& network, const StandingCircuit& circuit, v1::Circuit* out) {
  out->set_id(circuit.id);
  out->set_input(circuit.path.input);
  out->set_output(circuit.path.output);
  const std::vector<Row> rows = WalkTag(network, circuit.path.input, circuit.path.tag);
  out->mutable_rows()->Add(rows.begin(), rows.end());
  out->set_tag(TagToString(network, circuit.path.tag));
  if (network.multiplicity() > 1) {
    for (const int port : PortsOfTag(network, circuit.path.tag)) {
      out->add_ports(static_cast<uint32_t>(port));
    }
  }
  out->set_choice(std::string(ChoiceName(circuit.path.choice)));
  out->set_congestion(circuit.congestion);
  for (const LinkId& link : circuit.broken) {
    v1::LinkRef* broken = out->add_broken();
    broken->set_stage(static_cast<uint32_t>(link.stage));
    broken->set_row(link.row);
    broken->set_port(static_cast<uint32_t>(link.port));
  }
}

void FillResult(const Network* network, uint64_t tag, const Outcome& outcome,
                v1::CircuitResult* out) {
  out->set_tag(tag);
  if (outcome.ok() && network != nullptr) {
    FillCircuit(*network, *outcome, out->mutable_circuit());
    return;
  }
  out->set_code(static_cast<int>(outcome.status().code()));
  out->set_message(std::string(outcome.status().message()));
}

}  // namespace bfly::control

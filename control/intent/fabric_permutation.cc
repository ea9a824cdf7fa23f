// SPDX-License-Identifier: Apache-2.0
// Whole permutations of FabricState: all of the circuits or none.
#include <set>
#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/intent/fabric_state.h"
#include "control/status/field_errors.h"
#include "topologies/link_text.h"

namespace bfly::control {
namespace {

// Paths installed between two looks at the interrupt.
constexpr size_t kPathsBetweenLooks = 256;

// What makes two requests the same; begins with a word of its own, so that kinds never meet.
std::string TextOf(const PermutationOrder& order) {
  return absl::StrCat(
      "permutation ", order.protocol, " ", order.options.seed, " ", order.options.c, " ",
      order.options.max_rounds, " ", order.options.q, " ", order.replace, " ",
      LinkText(order.avoid), " ",
      absl::StrJoin(order.requests, ",", [](std::string* out, const Request& request) {
        absl::StrAppend(out, request.input, ">", request.output);
      }));
}

std::string At(absl::string_view field, size_t index) {
  return absl::StrCat(field, "[", index, "]");
}

// A row out of range, or used by an earlier request too.
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

absl::StatusOr<RouteResult> FabricState::Execute(const PermutationOrder& order,
                                                 const std::string& key,
                                                 const Interrupt& interrupt) {
  std::string request;
  if (!key.empty()) {
    request = TextOf(order);
    auto known = keys_.Find(key, request);
    if (!known.ok()) return known.status();
    if (*known != nullptr) return std::get<RouteResult>(**known);
  }
  if (absl::Status status = CheckAvoid(order.avoid); !status.ok()) return status;
  const Forbidden forbidden(faults_, order.avoid);
  absl::StatusOr<RouteResult> routed = ChoosePaths(order, forbidden.faults());
  if (!routed.ok()) return routed.status();
  const size_t mark = log_.size();
  if (order.replace) {
    for (const StandingCircuit& circuit : HoldersOf(order.requests)) {
      Release({circuit.id}).status().IgnoreError();
    }
  }
  for (size_t i = 0; i < routed->paths.size(); ++i) {
    StandingCircuit circuit;
    const absl::Status put = Put(routed->paths[i], std::nullopt, forbidden.faults(), &circuit);
    if (!put.ok()) {
      RollBackTo(mark);
      return WithPrefix(put, At("paths", i));
    }
    const bool look = i % kPathsBetweenLooks == 0 || i + 1 == routed->paths.size();
    if (absl::Status status = look && interrupt ? interrupt() : absl::OkStatus(); !status.ok()) {
      RollBackTo(mark);
      return status;
    }
  }
  if (!key.empty()) Remember(key, request, *routed);
  return routed;
}

absl::StatusOr<RouteResult> FabricState::Route(const PermutationOrder& order) const {
  if (absl::Status status = CheckAvoid(order.avoid); !status.ok()) return status;
  const Forbidden forbidden(faults_, order.avoid);
  const FaultSet& faults = forbidden.faults();
  absl::StatusOr<RouteResult> routed = ChoosePaths(order, faults);
  if (!routed.ok()) return routed;
  for (size_t i = 0; i < routed->paths.size(); ++i) {
    const CircuitPath& path = routed->paths[i];
    if (const auto link = faults.FirstOnPath(path.input, path.tag); link.has_value()) {
      return ErrorAtField(absl::StatusCode::kUnavailable, absl::StrCat(At("paths", i), ".link"),
                          faults.WhyBlocked(*link));
    }
  }
  return routed;
}

absl::StatusOr<RouteResult> FabricState::ChoosePaths(const PermutationOrder& order,
                                                     const FaultSet& faults) const {
  // What is wrong whatever stands, all of it, before what stands is looked at.
  FieldErrors wrong;
  const auto protocol = FindProtocol(order.protocol, network_->kind());
  if (absl::IsInvalidArgument(protocol.status())) wrong.Add(protocol.status());
  std::unordered_map<Row, size_t> inputs, outputs;
  for (size_t i = 0; i < order.requests.size(); ++i) {
    AddMisuse("inputs", i, order.requests[i].input, network_->rows(), inputs, wrong);
    AddMisuse("outputs", i, order.requests[i].output, network_->rows(), outputs, wrong);
  }
  if (!wrong.empty()) return wrong.ToStatus();
  absl::Status routing = CheckRouting(order.protocol, *network_, order.requests, order.options);
  if (!routing.ok()) return routing;

  LinkLoad standing = circuits_.load();
  if (order.replace) {
    for (const StandingCircuit& circuit : HoldersOf(order.requests)) {
      standing.Remove(circuit.path.input, circuit.path.tag);
    }
  } else {
    FieldErrors busy;
    for (size_t i = 0; i < order.requests.size(); ++i) {
      AddBusy(At("inputs", i), circuits_.AtInput(order.requests[i].input), busy);
      AddBusyOutput(At("outputs", i), order.requests[i].output, busy);
    }
    if (!busy.empty()) return busy.ToStatus(absl::StatusCode::kFailedPrecondition);
  }
  ProtocolOptions options = order.options;
  if (!faults.empty()) options.faults = &faults;
  return RoutePermutation(order.protocol, standing, order.requests, options);
}

std::vector<StandingCircuit> FabricState::HoldersOf(const std::vector<Request>& requests) const {
  std::set<Row> inputs;
  for (const Request& request : requests) {
    if (circuits_.AtInput(request.input) != nullptr) inputs.insert(request.input);
    const CircuitPath* at_output = circuits_.AtOutput(request.output);
    if (at_output != nullptr) inputs.insert(at_output->input);
  }
  std::set<Row> disks;
  for (const Request& request : requests) {
    if (circuits_.readers()[request.output] != 0) disks.insert(request.output);
  }
  for (Row input = 0; !disks.empty() && input < network_->rows(); ++input) {
    if (circuits_.IsRead(input) && disks.count(circuits_.AtInput(input)->output) != 0) {
      inputs.insert(input);
    }
  }
  std::vector<StandingCircuit> holders;
  for (Row input : inputs) holders.push_back(*AtInput(input));
  return holders;
}

}  // namespace bfly::control

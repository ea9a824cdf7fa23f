// SPDX-License-Identifier: Apache-2.0
// The data server's part of FabricState: objects on disks, and reads of them, which are circuits
// that may share their output.
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/intent/fabric_state.h"
#include "control/status/field_errors.h"
#include "topologies/link_text.h"

namespace bfly::control {
namespace {

constexpr char kCollision[] = "collision";
constexpr char kMinimum[] = "minimum";

// Reads of a batch between two looks at the interrupt.
constexpr size_t kReadsBetweenLooks = 256;

// What makes two requests the same.
std::string TextOf(const ReadBatchOrder& order) {
  return absl::StrCat("read_batch ", order.protocol, " ", order.options.c, " ",
                      order.options.c_disk, " ", order.options.max_rounds, " ",
                      absl::StrJoin(order.users, ","), " ", absl::StrJoin(order.objects, ","), " ",
                      LinkText(order.avoid));
}

std::string Element(absl::string_view field, size_t index) {
  return absl::StrCat(field, "[", index, "]");
}

}  // namespace

absl::Status AsOneOfMany(const absl::Status& status, size_t i) {
  FieldErrors errors;
  for (const FieldError& error : FieldErrorsOf(status)) {
    const bool is_list = error.field == "user" || error.field == "object";
    errors.Add(is_list ? Element(absl::StrCat(error.field, "s"), i)
                       : absl::StrCat(Element("users", i), ".", error.field),
               error.description);
  }
  return errors.empty() ? status : errors.ToStatus(status.code());
}

absl::Status FabricState::CheckDataServer() const {
  if (network_->kind() == NetworkKind::kRandomlyWiredButterfly) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "the data server needs a network of kind ", KindName(NetworkKind::kRandomlyWiredButterfly),
      "; this one is a ", KindName(network_->kind())));
}

absl::Status FabricState::Execute(const PlaceOrder& order) {
  if (absl::Status status = CheckDataServer(); !status.ok()) return status;
  if (order.replace && !reader_of_.empty()) {
    return ErrorAtField(absl::StatusCode::kFailedPrecondition, "replace",
                        absl::StrCat(reader_of_.size(), " objects are read; release them first"));
  }
  auto placed = order.replace ? std::make_shared<ObjectDirectory>(network_->rows())
                              : std::make_shared<ObjectDirectory>(*objects_);
  if (absl::Status status = placed->Place(order.objects, order.room); !status.ok()) return status;
  Step& step = log_.emplace_back();
  step.kind = Step::Kind::kPlace;
  step.objects = std::exchange(objects_, std::move(placed));
  step.record = order.record;
  step.replaces = order.replace;
  return absl::OkStatus();
}

absl::Status FabricState::CheckRead(Row user, uint64_t object) const {
  const Row last = network_->rows() - 1;
  if (user > last) return OutOfRange("user", user, 0, last);
  if (objects_->Find(object) == nullptr) {
    return ErrorAtField(absl::StatusCode::kNotFound, "object",
                        absl::StrCat("there is no object ", object, "; place it first"));
  }
  FieldErrors busy;
  AddBusy("user", circuits_.AtInput(user), busy);
  if (const auto reader = reader_of_.find(object); reader != reader_of_.end()) {
    busy.Add("object", absl::StrCat(object, " is read by user ", reader->second));
  }
  return busy.ToStatus(absl::StatusCode::kFailedPrecondition);
}

Outcome FabricState::Read(const ReadOrder& order) {
  if (absl::Status status = CheckDataServer(); !status.ok()) return status;
  if (absl::Status status = CheckRead(order.user, order.object); !status.ok()) return status;
  if (absl::Status status = CheckAvoid(order.avoid); !status.ok()) return status;
  const Forbidden forbidden(faults_, order.avoid);
  StandingCircuit circuit;
  const absl::Status status = Put(ChooseRead(order.user, order.object, forbidden.faults()),
                                  order.object, forbidden.faults(), &circuit);
  if (!status.ok()) return status;
  return circuit;
}

absl::Status FabricState::CheckReads(const ReadBatchOrder& order) const {
  if (absl::Status status = CheckDataServer(); !status.ok()) return status;
  if (order.users.size() != order.objects.size()) {
    return ErrorAtField(absl::StatusCode::kInvalidArgument, "objects",
                        absl::StrCat("has ", order.objects.size(), " objects for ",
                                     order.users.size(), " users; give as many"));
  }
  if (order.protocol != kCollision && order.protocol != kMinimum) {
    return ErrorAtField(
        absl::StatusCode::kInvalidArgument, "protocol",
        absl::StrCat("\"", order.protocol, "\" is not known; use ", kCollision, " or ", kMinimum));
  }
  std::unordered_map<Row, size_t> asked_by;
  std::unordered_map<uint64_t, size_t> asked_for;
  for (size_t i = 0; i < order.users.size(); ++i) {
    const absl::Status status = CheckRead(order.users[i], order.objects[i]);
    if (!status.ok()) return AsOneOfMany(status, i);
    const auto [user, new_user] = asked_by.try_emplace(order.users[i], i);
    const auto [object, new_object] = asked_for.try_emplace(order.objects[i], i);
    if (!new_user || !new_object) {
      return ErrorAtField(
          absl::StatusCode::kInvalidArgument, Element(new_user ? "objects" : "users", i),
          absl::StrCat(new_user ? order.objects[i] : order.users[i], " is there twice, first at [",
                       new_user ? object->second : user->second, "]"));
    }
    if (objects_->Find(order.objects[i])->copies != objects_->Find(order.objects[0])->copies) {
      return ErrorAtField(absl::StatusCode::kInvalidArgument, Element("objects", i),
                          "is in another number of copies than the first; ask for objects in one "
                          "and in two copies in batches of their own");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<DataServerResult> FabricState::Route(const ReadBatchOrder& order) const {
  if (absl::Status status = CheckAvoid(order.avoid); !status.ok()) return status;
  const Forbidden forbidden(faults_, order.avoid);
  const FaultSet& faults = forbidden.faults();
  absl::StatusOr<DataServerResult> routed = ChooseReads(order, faults);
  if (!routed.ok()) return routed;
  for (size_t i = 0; i < routed->route.paths.size(); ++i) {
    const CircuitPath& path = routed->route.paths[i];
    if (const auto link = faults.FirstOnPath(path.input, path.tag); link.has_value()) {
      return ErrorAtField(absl::StatusCode::kUnavailable,
                          absl::StrCat(Element("users", i), ".link"), faults.WhyBlocked(*link));
    }
  }
  return routed;
}

absl::StatusOr<DataServerResult> FabricState::ChooseReads(const ReadBatchOrder& order,
                                                          const FaultSet& faults) const {
  if (absl::Status status = CheckReads(order); !status.ok()) return status;
  const StandingReads standing{.links = &circuits_.load(),
                               .disks = &circuits_.readers(),
                               .faults = faults.empty() ? nullptr : &faults};
  if (!order.objects.empty() && objects_->Find(order.objects[0])->copies == 1) {
    std::vector<Row> disks;
    for (const uint64_t object : order.objects) disks.push_back(objects_->Find(object)->disks[0]);
    return RouteDataServerSingleCopy(*network_, order.users, disks, standing);
  }
  std::vector<DataServerRequest> requests;
  for (size_t i = 0; i < order.users.size(); ++i) {
    requests.push_back({order.users[i], objects_->Find(order.objects[i])->disks});
  }
  if (order.protocol == kMinimum) return RouteDataServerMinimum(*network_, requests, standing);
  return RouteDataServerCollision(*network_, requests, order.options, standing);
}

absl::StatusOr<DataServerResult> FabricState::Execute(const ReadBatchOrder& order,
                                                      const std::string& key,
                                                      const Interrupt& interrupt) {
  std::string request;
  if (!key.empty()) {
    request = TextOf(order);
    auto known = keys_.Find(key, request);
    if (!known.ok()) return known.status();
    if (*known != nullptr) return std::get<DataServerResult>(**known);
  }
  if (absl::Status status = CheckAvoid(order.avoid); !status.ok()) return status;
  const Forbidden forbidden(faults_, order.avoid);
  absl::StatusOr<DataServerResult> routed = ChooseReads(order, forbidden.faults());
  if (!routed.ok()) return routed;
  const size_t mark = log_.size();
  for (size_t i = 0; i < order.users.size(); ++i) {
    StandingCircuit circuit;
    absl::Status status =
        Put(routed->route.paths[i], order.objects[i], forbidden.faults(), &circuit);
    if (!status.ok()) status = WithPrefix(status, Element("users", i));
    const bool look = i % kReadsBetweenLooks == 0 || i + 1 == order.users.size();
    if (status.ok() && look && interrupt) status = interrupt();
    if (status.ok()) continue;
    RollBackTo(mark);
    return status;
  }
  if (!key.empty()) Remember(key, request, *routed);
  return routed;
}

absl::Status FabricState::CheckStopReading(Row user) const {
  if (absl::Status status = CheckDataServer(); !status.ok()) return status;
  const Row last = network_->rows() - 1;
  if (user > last) return OutOfRange("user", user, 0, last);
  if (!circuits_.IsRead(user)) {
    return ErrorAtField(absl::StatusCode::kNotFound, "user", absl::StrCat(user, " reads nothing"));
  }
  return absl::OkStatus();
}

std::vector<Row> FabricState::Readers() const {
  std::vector<Row> users;
  for (Row user = 0; user < network_->rows(); ++user) {
    if (circuits_.IsRead(user)) users.push_back(user);
  }
  return users;
}

Outcome FabricState::StopReading(Row user) {
  if (absl::Status status = CheckStopReading(user); !status.ok()) return status;
  return Undo(user);
}

}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
#include "control/intent/objects.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "control/status/field_errors.h"

namespace bfly::control {
namespace {

constexpr char kCollision[] = "collision";
constexpr char kMinimum[] = "minimum";

std::string ElementOf(absl::string_view field, size_t index) {
  return absl::StrCat(field, "[", index, "]");
}

}  // namespace

absl::Status WithIndex(const absl::Status& status, size_t i) {
  FieldErrors errors;
  for (const FieldError& error : FieldErrorsOf(status)) {
    const bool is_list = error.field == "user" || error.field == "object";
    errors.Add(is_list ? ElementOf(absl::StrCat(error.field, "s"), i)
                       : absl::StrCat(ElementOf("users", i), ".", error.field),
               error.description);
  }
  return errors.empty() ? status : errors.ToStatus(status.code());
}

Objects::Objects(const Network& network, const Circuits& circuits)
    : network_(network),
      circuits_(circuits),
      directory_(std::make_shared<ObjectDirectory>(network.rows())) {}

void Objects::NotePutUp(const StandingCircuit& circuit) {
  if (!circuit.object.has_value() || *circuit.object == kUnknownObject) return;
  reader_of_[*circuit.object] = circuit.path.input;
}

void Objects::NoteTakenDown(const StandingCircuit& circuit) {
  if (circuit.object.has_value()) reader_of_.erase(*circuit.object);
}

absl::Status Objects::CheckDataServer() const {
  if (network_.kind() == NetworkKind::kRandomlyWiredButterfly) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("the data server needs a network of kind ",
                                                    KindName(NetworkKind::kRandomlyWiredButterfly),
                                                    "; this one is a ", KindName(network_.kind())));
}

absl::StatusOr<PlaceEdit> Objects::Place(PlaceOrder order) {
  if (absl::Status status = CheckDataServer(); !status.ok()) return status;
  if (order.replace && !reader_of_.empty()) {
    return ErrorAtField(absl::StatusCode::kFailedPrecondition, "replace",
                        absl::StrCat(reader_of_.size(), " objects are read; release them first"));
  }
  PlaceEdit edit{.record = std::move(order.record), .replaces = order.replace};
  const auto directory =
      order.replace ? std::make_shared<ObjectDirectory>(network_.rows()) : directory_;
  absl::Status placed = directory->Place(order.objects, order.room);
  if (!placed.ok()) return placed;
  if (order.replace) {
    edit.before = directory_;
    edit.after = directory;
    directory_ = directory;
  } else {
    edit.objects = std::move(order.objects);
  }
  return edit;
}

void Objects::Undo(const PlaceEdit& edit) {
  if (edit.replaces) {
    directory_ = edit.before;
  } else {
    directory_->Remove(edit.objects);
  }
}

void Objects::Redo(const PlaceEdit& edit) {
  if (edit.replaces) {
    directory_ = edit.after;
  } else {
    directory_->Place(edit.objects, /*room=*/0).IgnoreError();  // they had room
  }
}

absl::Status Objects::CheckRead(Row user, uint64_t object) const {
  const Row last = network_.rows() - 1;
  if (user > last) return OutOfRange("user", user, 0, last);
  if (directory_->Find(object) == nullptr) {
    return ErrorAtField(absl::StatusCode::kNotFound, "object",
                        absl::StrCat("there is no object ", object, "; place it first"));
  }
  FieldErrors busy;
  circuits_.AddBusyInput("user", user, busy);
  if (const auto reader = reader_of_.find(object); reader != reader_of_.end()) {
    busy.Add("object", absl::StrCat(object, " is read by user ", reader->second));
  }
  return busy.ToStatus(absl::StatusCode::kFailedPrecondition);
}

absl::Status Objects::CheckDisk(Row disk) const {
  FieldErrors held;
  circuits_.AddHeldOutput("object", disk, held);
  return held.ToStatus(absl::StatusCode::kFailedPrecondition);
}

absl::Status Objects::CheckReads(const ReadBatchOrder& order) const {
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
    if (!status.ok()) return WithIndex(status, i);
    const auto [user, new_user] = asked_by.try_emplace(order.users[i], i);
    const auto [object, new_object] = asked_for.try_emplace(order.objects[i], i);
    if (!new_user || !new_object) {
      return ErrorAtField(
          absl::StatusCode::kInvalidArgument, ElementOf(new_user ? "objects" : "users", i),
          absl::StrCat(new_user ? order.objects[i] : order.users[i], " is there twice, first at [",
                       new_user ? object->second : user->second, "]"));
    }
    if (directory_->Find(order.objects[i])->copies != directory_->Find(order.objects[0])->copies) {
      return ErrorAtField(absl::StatusCode::kInvalidArgument, ElementOf("objects", i),
                          "is in another number of copies than the first; ask for objects in one "
                          "and in two copies in batches of their own");
    }
  }
  const bool is_choice = order.objects.empty() || directory_->Find(order.objects[0])->copies == 2;
  for (const auto& [field, value] : {std::pair{"c", order.options.c},
                                     {"c_disk", order.options.c_disk},
                                     {"max_rounds", order.options.max_rounds}}) {
    if (value == 0 || is_choice) continue;
    return ErrorAtField(absl::StatusCode::kInvalidArgument, field,
                        "is for a choice between two copies; these objects have one");
  }
  return absl::OkStatus();
}

uint32_t Objects::CopiesOf(const ReadBatchOrder& order) const {
  if (order.objects.empty()) return 0;
  return static_cast<uint32_t>(directory_->Find(order.objects[0])->copies);
}

absl::Status Objects::CheckStopReading(Row user) const {
  if (absl::Status status = CheckDataServer(); !status.ok()) return status;
  const Row last = network_.rows() - 1;
  if (user > last) return OutOfRange("user", user, 0, last);
  if (!circuits_.set().IsRead(user)) {
    return ErrorAtField(absl::StatusCode::kNotFound, "user", absl::StrCat(user, " reads nothing"));
  }
  return absl::OkStatus();
}

}  // namespace bfly::control

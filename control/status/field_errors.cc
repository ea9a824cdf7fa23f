// SPDX-License-Identifier: Apache-2.0
#include "control/status/field_errors.h"

#include <cctype>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/rpc/error_details.pb.h"

namespace bfly::control {
namespace {

constexpr char kBadRequestUrl[] = "type.googleapis.com/google.rpc.BadRequest";

void SetFields(absl::Status& status, const std::vector<FieldError>& errors) {
  google::rpc::BadRequest details;
  for (const FieldError& error : errors) {
    auto* violation = details.add_field_violations();
    violation->set_field(error.field);
    violation->set_description(error.description);
  }
  status.SetPayload(kBadRequestUrl, absl::Cord(details.SerializeAsString()));
}

bool IsPathCharacter(char c) {
  return std::islower(static_cast<unsigned char>(c)) ||
         std::isdigit(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '[' ||
         c == ']';
}

// The length of the field path at the start of a message, or 0.
size_t PathLength(absl::string_view message) {
  const size_t colon = message.find(": ");
  if (colon == absl::string_view::npos || colon == 0) return 0;
  for (char c : message.substr(0, colon)) {
    if (!IsPathCharacter(c)) return 0;
  }
  return colon;
}

}  // namespace

absl::Status ErrorAtField(absl::StatusCode code, absl::string_view field,
                          absl::string_view description) {
  absl::Status status(code, absl::StrCat(field, ": ", description));
  SetFields(status, {{std::string(field), std::string(description)}});
  return status;
}

absl::Status OutOfRange(absl::string_view field, uint64_t value, uint64_t min, uint64_t max) {
  return ErrorAtField(absl::StatusCode::kInvalidArgument, field,
                      absl::StrCat(value, " is outside ", min, "..", max));
}

std::vector<FieldError> FieldErrorsOf(const absl::Status& status) {
  std::vector<FieldError> errors;
  if (auto payload = status.GetPayload(kBadRequestUrl)) {
    google::rpc::BadRequest details;
    if (details.ParseFromString(std::string(*payload))) {
      for (const auto& violation : details.field_violations()) {
        errors.push_back({violation.field(), violation.description()});
      }
    }
    return errors;
  }
  if (const size_t length = PathLength(status.message()); length > 0) {
    errors.push_back({std::string(status.message().substr(0, length)),
                      std::string(status.message().substr(length + 2))});
  }
  return errors;
}

absl::Status WithPrefix(const absl::Status& status, absl::string_view prefix) {
  if (status.ok()) return status;
  std::vector<FieldError> errors = FieldErrorsOf(status);
  const bool named = !errors.empty();
  for (FieldError& error : errors) error.field = absl::StrCat(prefix, ".", error.field);
  if (!named) errors.push_back({std::string(prefix), std::string(status.message())});
  absl::Status prefixed(status.code(), absl::StrCat(prefix, named ? "." : ": ", status.message()));
  SetFields(prefixed, errors);
  return prefixed;
}

void FieldErrors::Add(absl::string_view field, absl::string_view description) {
  errors_.push_back({std::string(field), std::string(description)});
}

void FieldErrors::Add(const absl::Status& status) {
  if (status.ok()) return;
  std::vector<FieldError> named = FieldErrorsOf(status);
  if (named.empty()) named.push_back({"", std::string(status.message())});
  errors_.insert(errors_.end(), named.begin(), named.end());
}

absl::Status FieldErrors::ToStatus(absl::StatusCode code) const {
  if (errors_.empty()) return absl::OkStatus();
  absl::Status status(
      code, absl::StrJoin(errors_, "; ", [](std::string* out, const FieldError& error) {
        absl::StrAppend(out, error.field, error.field.empty() ? "" : ": ", error.description);
      }));
  SetFields(status, errors_);
  return status;
}

}  // namespace bfly::control

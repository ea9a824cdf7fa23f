// SPDX-License-Identifier: Apache-2.0
// Errors that name their field. absl::Status carries the fields as a google.rpc.BadRequest payload,
// whatever the code, so plain code needs no gRPC to report them.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace bfly::control {

struct FieldError {
  std::string field;        // path of the field, such as "requests[3].input"
  std::string description;  // what is wrong and what would be right
  friend bool operator==(const FieldError&, const FieldError&) = default;
};

// A status about one field. Its message is "field: description".
absl::Status ErrorAtField(absl::StatusCode code, absl::string_view field,
                          absl::string_view description);

// "input: 16 is outside 0..15", INVALID_ARGUMENT.
absl::Status OutOfRange(absl::string_view field, uint64_t value, uint64_t min, uint64_t max);

// The fields that a status names. A status without payload names one if its message starts with a
// field path and ": ", which is how topologies/ and dataplane/ write their messages.
std::vector<FieldError> FieldErrorsOf(const absl::Status& status);

// The same status with "prefix." before each of its fields and before its message.
absl::Status WithPrefix(const absl::Status& status, absl::string_view prefix);

// Collects every error of a request, so that a caller gets all of them at once.
class FieldErrors {
 public:
  void Add(absl::string_view field, absl::string_view description);
  // Adds the errors that a status names; OK adds nothing.
  void Add(const absl::Status& status);
  bool empty() const { return errors_.empty(); }
  // OK if there are no errors, otherwise one status that names them all.
  absl::Status ToStatus(absl::StatusCode code = absl::StatusCode::kInvalidArgument) const;

 private:
  std::vector<FieldError> errors_;
};

}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
// What the (field_rule) options of proto/bfly/v1/*.proto say about a field, and whether a value
// obeys them. The topology reader, the check of messages from gRPC clients and the reference page
// share it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "bfly/v1/options.pb.h"
#include "control/topology_file/diagnostic.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace bfly::control {

const v1::FieldRule& RuleOf(const google::protobuf::FieldDescriptor& field);

// The names a file may use for the values of an enum: lower case, without the unspecified one.
std::vector<std::string> EnumNames(const google::protobuf::EnumDescriptor& type);
std::optional<int> EnumNumber(const google::protobuf::EnumDescriptor& type, absl::string_view name);
std::string EnumName(const google::protobuf::EnumValueDescriptor& value);

// The allowed values in words, for messages and the reference: "1 to 64", "one of mac,
// ipv4_prefix". Empty if the type says it all.
std::string Allowed(const google::protobuf::FieldDescriptor& field);

// Returns why a value breaks the field's rule, or nothing. The caller adds the field's path.
std::optional<std::string> Breaks(const google::protobuf::FieldDescriptor& field, uint64_t value);
std::optional<std::string> Breaks(const google::protobuf::FieldDescriptor& field,
                                  absl::string_view value);
std::optional<std::string> Breaks(const google::protobuf::FieldDescriptor& field, double value);
std::optional<std::string> BreaksEnum(const google::protobuf::FieldDescriptor& field, int number);

// "is missing (...)", with the rule's example or allowed values.
std::string MissingMessage(const google::protobuf::FieldDescriptor& field);

// Returns the candidate that `word` was probably meant to be.
std::optional<std::string> Nearest(absl::string_view word,
                                   const std::vector<std::string>& candidates);

// Sets every unset field that has a default, also in absent sub-messages that are not required. An
// empty list gets the default as its only element.
void FillDefaults(google::protobuf::Message* message);

// Reports every field of `message` and its sub-messages that breaks its rule. A number or enum that
// is 0 counts as unset. Defaults must have been filled in.
void CheckRules(const google::protobuf::Message& message, const std::string& path,
                std::vector<Violation>* violations);

}  // namespace bfly::control

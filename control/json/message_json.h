// SPDX-License-Identifier: Apache-2.0
// Protobuf messages as the JSON users see: proto field names in the order of the .proto file,
// numbers as JSON numbers (64-bit too, unlike protobuf's own JSON), enums as lower-case names,
// defaults included.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "google/protobuf/message.h"

namespace bfly::control {

// A repeated field is an array, also when empty. Left out are only: absent sub-messages, unset
// `optional` fields and the unset members of a oneof. Numbers that JSON cannot say (NaN, infinity)
// are null; bytes are base64.
nlohmann::ordered_json ToJson(const google::protobuf::Message& message);

// Appends the text of ToJson(message).dump(2) to `out`, as it stands `depth` levels deep in a
// document. No tree is built: this is for messages that come by the million.
void AppendJson(const google::protobuf::Message& message, int depth, std::string& out);

}  // namespace bfly::control

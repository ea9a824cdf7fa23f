// SPDX-License-Identifier: Apache-2.0
// Protobuf messages as the JSON that users see: proto field names in the order of the .proto file,
// numbers as JSON numbers (also 64-bit numbers, unlike protobuf's own JSON), enums as lower-case
// names, defaults included.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "google/protobuf/message.h"

namespace bfly::control {

// A repeated field is an array, also if it is empty. Only absent sub-messages, unset `optional`
// fields and the unset members of a oneof are left out. Numbers that JSON does not have (NaN,
// infinity) are null; bytes are base64.
nlohmann::ordered_json ToJson(const google::protobuf::Message& message);

// Appends the text of ToJson(message).dump(2) to `out`, indented as at `depth` levels inside a
// document. It builds no tree, so that messages can be written by the million.
void AppendJson(const google::protobuf::Message& message, int depth, std::string& out);

}  // namespace bfly::control

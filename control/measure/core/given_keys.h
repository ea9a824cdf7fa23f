// SPDX-License-Identifier: Apache-2.0
// Keys of a file that no point of the experiment has.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "google/protobuf/message.h"

namespace bfly::control {

// A key of `file` that points may have or not have.
struct PointKey {
  std::string key;
  bool any_point_has_it = false;
  std::string owners;  // what has it: "lock_down and q_limited"
};

// InvalidArgument: the file gives `key` a value other than its default, and no point has it. Then
// the user expects something that is not measured.
absl::Status CheckIsOfAPoint(const google::protobuf::Message& file, const PointKey& key);

}  // namespace bfly::control

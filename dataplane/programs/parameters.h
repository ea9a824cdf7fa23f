// SPDX-License-Identifier: Apache-2.0
// The parameters that a caller gives a program besides the circuits that it wants. Each program has
// a struct, which has the program's name and class.
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>

#include "absl/status/status.h"

namespace bfly::dataplane {

struct CollisionParameters {
  using Program = class Collision;
  static constexpr std::string_view kName = "collision";

  uint32_t c = 0;           // paths and circuits that a link may have, 1..254
  uint32_t c_disk = 0;      // reads: paths and circuits that a disk may have, 1..254
  uint32_t max_rounds = 0;  // 0: until the program is done or cannot select any more paths

  absl::Status Check(bool reads) const;
};

struct MinimumParameters {
  using Program = class Minimum;
  static constexpr std::string_view kName = "minimum";

  // If the chosen path has a link without room, the other path of the request is taken, if it has
  // room.
  bool other_if_full = false;

  absl::Status Check(bool /*reads*/) const { return absl::OkStatus(); }
};

// The registry: it has one alternative for each program, as has `program` of AgentInBandRequest.
using ProgramParameters = std::variant<CollisionParameters, MinimumParameters>;

}  // namespace bfly::dataplane

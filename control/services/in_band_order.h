// SPDX-License-Identifier: Apache-2.0
// What the controller may ask the stage workers to do by themselves.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "control/protocols/protocol.h"

namespace bfly::control {

struct InBandOrder {
  std::string protocol = "minimum";
  std::vector<Request> requests;
  ProtocolOptions options;
  bool replace = false;  // circuits at these inputs and outputs are released first
  bool single = false;   // one request whose fields are "input" and "output"
  // Instead of all this: the circuit to release, by its id.
  std::optional<uint64_t> release;
};

}  // namespace bfly::control

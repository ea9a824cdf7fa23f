// SPDX-License-Identifier: Apache-2.0
// What the controller may ask the stage workers to do by themselves.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "control/intent/read_order.h"
#include "control/protocols/protocol.h"

namespace bfly::control {

struct InBandOrder {
  std::string protocol = "minimum";
  std::vector<Request> requests;
  ProtocolOptions options;
  bool replace = false;  // circuits at these inputs and outputs are released first
  // One request, whose fields are "input" and "output", or "user" and "object".
  bool single = false;
  // Instead of requests: reads of the data server, by their own protocol.
  std::optional<ReadBatchOrder> reads;
  // Instead of all this: the circuit to release, by its id; or the user whose read ends.
  std::optional<uint64_t> release;
  std::optional<Row> stop_reading;
};

}  // namespace bfly::control

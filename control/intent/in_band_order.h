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
  // The order has one request, whose fields are "input" and "output", or "user" and "object".
  bool single = false;
  // If given, these reads of the data server, by their own protocol, take the place of the
  // requests.
  std::optional<ReadBatchOrder> reads;
  // If given, the order only releases: the circuit of this id, or the read of this user.
  std::optional<uint64_t> release;
  std::optional<Row> stop_reading;
};

}  // namespace bfly::control

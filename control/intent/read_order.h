// SPDX-License-Identifier: Apache-2.0
// Reads of the data server that are asked for together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "control/protocols/data_server.h"

namespace bfly::control {

// users[i] wants objects[i].
struct ReadBatchOrder {
  std::vector<Row> users;
  std::vector<uint64_t> objects;
  std::string protocol;  // "collision" or "minimum"
  DataServerOptions options;
  std::vector<LinkId> avoid = {};
};

}  // namespace bfly::control

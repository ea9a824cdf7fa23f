// SPDX-License-Identifier: Apache-2.0
// Reads of the data server that are asked for together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "control/intent/order.h"
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
// The outcome tells what the batch set up, or would set up.
struct ReadBatchOutcome {
  DataServerResult routed;
  std::vector<uint64_t> circuits;  // their ids, in the order of the requests; empty in a dry run
  uint32_t copies = 0;             // of each object; 0 if the batch asks for none
};

// What became of reads that were served one after the other, each by itself.
struct SingleReadsOutcome {
  std::vector<Outcome> reads;
  // The next two count all circuits that stood after the reads.
  uint32_t link_congestion = 0;
  uint32_t disk_contention = 0;
};

}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
// What a protocol found, as the messages of bfly.v1. Shared by the services and by dry runs of the
// command line.
#pragma once

#include <string>

#include "bfly/v1/circuits.pb.h"
#include "bfly/v1/data_server.pb.h"
#include "control/protocols/data_server.h"
#include "control/protocols/protocol.h"

namespace bfly::control {

// Fills in everything but `seconds`. Counts the steps of the set-up too, which can take longer than
// the protocol. With `summary` it leaves out paths and buddies.
void FillRoute(const Network& network, const std::string& protocol, const RouteResult& route,
               bool summary, v1::RoutePermutationResponse* out);

// Fills in everything but `seconds`. objects[i] is what the user of path i reads and circuits[i]
// the id of its circuit; without circuits it is a dry run.
void FillObjectBatch(const Network& network, const DataServerResult& result,
                     const std::vector<uint64_t>& objects, bool summary,
                     v1::ObjectBatchResponse* out, const std::vector<uint64_t>& circuits = {});

}  // namespace bfly::control

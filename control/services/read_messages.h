// SPDX-License-Identifier: Apache-2.0
// Reads of the data server, to and from the messages of bfly.v1.
#pragma once

#include "bfly/v1/data_server.pb.h"
#include "control/services/fabric_state.h"

namespace bfly::control {

ReadBatchOrder ToReadOrder(const v1::ObjectBatchRequest& request);
void FillObjectPath(const Network& network, const StandingCircuit& circuit, v1::ObjectPath* out);

}  // namespace bfly::control

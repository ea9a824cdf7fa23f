// SPDX-License-Identifier: Apache-2.0
// Orders, executed on the state of a fabric. What an order changes is part of the state's change
// and can be undone until the state is committed; after an error the order has changed nothing.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/intent/fabric_state.h"
#include "control/intent/order.h"
#include "control/intent/read_order.h"

namespace bfly::control {

Outcome Execute(FabricState& state, const Order& order);
// In order. All or nothing: an error under "requests[i]" and nothing is done; so it is after an
// interrupt. Otherwise every order has its outcome, and one that fails changes nothing; orders that
// had not begun when the interrupt came have its error.
absl::StatusOr<std::vector<Outcome>> ExecuteBatch(FabricState& state,
                                                  const std::vector<Order>& orders,
                                                  bool all_or_nothing, const std::string& key,
                                                  const Interrupt& interrupt = {});
// All or nothing, also after an interrupt. Errors name "inputs[i]" and "outputs[i]".
absl::StatusOr<RouteResult> Execute(FabricState& state, const PermutationOrder& order,
                                    const std::string& key, const Interrupt& interrupt = {});

// The data server. FAILED_PRECONDITION: the network is no RB_n. Placing is all or none, and so is a
// batch of reads; errors name "objects[i]" and "users[i]".
absl::Status Execute(FabricState& state, const PlaceOrder& order);
absl::StatusOr<DataServerResult> Execute(FabricState& state, const ReadBatchOrder& order,
                                         const std::string& key = "",
                                         const Interrupt& interrupt = {});

}  // namespace bfly::control

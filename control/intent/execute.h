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
// Executes the orders one after the other. With `all_or_nothing` the first error, or the interrupt,
// undoes all of them, and the error stands under "requests[i]". Otherwise every order has its
// outcome: an order that fails changes nothing, and orders that had not begun when the interrupt
// came have its error.
absl::StatusOr<std::vector<Outcome>> ExecuteBatch(FabricState& state,
                                                  const std::vector<Order>& orders,
                                                  bool all_or_nothing, const std::string& key,
                                                  const Interrupt& interrupt = {});
// Sets up all circuits or none; an interrupt undoes them. Errors name "inputs[i]" and "outputs[i]".
absl::StatusOr<RouteResult> Execute(FabricState& state, const PermutationOrder& order,
                                    const std::string& key, const Interrupt& interrupt = {});

// These orders are for the data server. FAILED_PRECONDITION: the network is not an RB_n. An order
// places all objects or none, and a batch of reads sets up all or none. Errors name "objects[i]"
// and "users[i]".
absl::Status Execute(FabricState& state, PlaceOrder order);
absl::StatusOr<ReadBatchOutcome> Execute(FabricState& state, const ReadBatchOrder& order,
                                         const std::string& key = "",
                                         const Interrupt& interrupt = {});
// Executes reads as ExecuteBatch does without `all_or_nothing`.
absl::StatusOr<SingleReadsOutcome> ExecuteReads(FabricState& state, const std::vector<Order>& reads,
                                                const std::string& key,
                                                const Interrupt& interrupt = {});

}  // namespace bfly::control

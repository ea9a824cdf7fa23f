// SPDX-License-Identifier: Apache-2.0
// The text that is equal for two requests if they are the same to an idempotency key. The text of
// each kind begins with a word of its own, so requests of two kinds are never equal.
#pragma once

#include <string>
#include <vector>

#include "control/intent/in_band_order.h"
#include "control/intent/order.h"
#include "control/intent/read_order.h"

namespace bfly::control {

std::string TextOf(const Order& order);
std::string TextOf(const std::vector<Order>& orders);
std::string TextOf(const PermutationOrder& order);
std::string TextOf(const ReadBatchOrder& order);
std::string TextOf(const InBandOrder& order);

}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
// What makes two requests the same to an idempotency key. Each kind begins with a word of its own,
// so that kinds never meet.
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

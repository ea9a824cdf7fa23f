// SPDX-License-Identifier: Apache-2.0
// The fullest links of a picture as text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bfly/v1/telemetry.pb.h"

namespace bfly::control {

// "s3 r4 p1 -> r5: 2 circuits, 12.3k packets/s, 1.2M packets", fullest first. Rates come from the
// packets counted since `before`; without it there are none.
std::vector<std::string> TopLinks(const v1::Counters& now, const v1::Counters* before, uint32_t k);

}  // namespace bfly::control

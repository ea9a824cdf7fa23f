// SPDX-License-Identifier: Apache-2.0
// The fullest links of a picture as text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bfly/v1/telemetry.pb.h"

namespace bfly::control {

// "s3 r4 p1 -> r5: 2 circuits, 12.3k packets/s, 1.2M packets", fullest first. A link has a rate if
// the packets that it had carried at the picture `before` are known: a link that is not in `before`
// had carried none if the pictures have every link that carried something (`every_link`).
std::vector<std::string> TopLinks(const v1::Counters& now, const v1::Counters* before,
                                  bool every_link, uint32_t k);

}  // namespace bfly::control

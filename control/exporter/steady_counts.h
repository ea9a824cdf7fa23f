// SPDX-License-Identifier: Apache-2.0
// Counts that may fall a little while what counts them goes on. Prometheus takes a counter that
// falls for one that began anew at 0. Pure.
#pragma once

#include "control/exporter/metrics.h"

namespace bfly::control {

// Raises the time that a link was sending to that of the scrape before, unless its data plane began
// anew. It is read while the link is given frames, and may fall by that of one frame.
void KeepFromFalling(const Scrape& before, Scrape& now);

}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
// Frames that go round in the rings of net_ring, whose ports receive what they send. So a device
// under test is always busy, and no peer sets the pace.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "dataplane/bench/bench_frames.h"

namespace bfly::dataplane {

// More than the bursts that one worker holds, and fewer than the 1,023 places of a ring.
inline constexpr uint32_t kCirculatingBursts = 8;
inline constexpr uint32_t kCirculatingFrames = kCirculatingBursts * 64;

// Puts the first kCirculatingFrames of `frames` into the ring of one device, such as net_ring0,
// whose port is started and has sent nothing yet. Unavailable: there is no such ring, or no memory.
absl::Status Circulate(const std::string& device, const Frames& frames);

}  // namespace bfly::dataplane

// SPDX-License-Identifier: Apache-2.0
// The load of AF_XDP ports: two pairs of veth interfaces in a network namespace of the bench.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "dataplane/bench/bench_frames.h"
#include "dataplane/bench/load_port.h"

namespace bfly::dataplane {

// Gives the calling process and its later children a network namespace of their own, at the first
// call, and makes new pairs device0 - load0 and device1 - load1 in it. The namespace and all that
// is in it end with these processes. Unavailable: the kernel or the rights of the process do not
// allow it. Logs go to `directory`.
absl::Status MakeVethPairs(const std::string& directory);

// What the load sees between two looks.
struct XdpLook {
  double seconds;
  uint64_t offered;      // frames
  uint64_t returned;     // frames that the device sent
  double longest_pause;  // without an offered frame, in seconds
};

// Returns true if frames certainly waited for the device all the time: its entrance was full, so
// that frames were lost there, and even in the longest pause it emptied at most half of it.
bool FramesWaited(const XdpLook& look);

// The kernel itself sends the frames in turn into load0 (an XDP program on pages of its own, Linux
// 5.18), and counts and drops what arrives at load1 (another XDP program). Where the load is
// `alone`, the second program is at device0, the other end of load0.
absl::StatusOr<LoadPorts> MakeXdpLoad(const Frames& frames, bool alone);

}  // namespace bfly::dataplane

// SPDX-License-Identifier: Apache-2.0
// The kinds of ports of the loaded bench: how the device under test and the load are attached to
// each other.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "dataplane/bench/bench_frames.h"
#include "dataplane/bench/load_port.h"

namespace bfly::dataplane {

struct PortKind {
  std::string_view name;
  std::string_view title;  // what stands at the two ends
  // Makes what the ends of a run need, in place of what the run before had. The process of the
  // bench calls it before it starts others. Logs go to `directory`. Null: nothing is needed.
  absl::Status (*prepare)(const std::string& directory);
  // The device string of the end of `port` (0 or 1) at the device under test, and the socket in
  // `directory` on which it listens, if any.
  std::string (*device)(int port, const std::string& directory);
  std::string (*socket)(int port, const std::string& directory);
  bool sees_taken;  // the load sees how many frames the device took
  // `alone`: for a load that is measured without a device under test.
  absl::StatusOr<LoadPorts> (*load)(const Frames& frames, bool alone);
};

std::span<const PortKind> PortKinds();

// Null if no kind has this name.
const PortKind* FindPortKind(std::string_view name);

}  // namespace bfly::dataplane

// SPDX-License-Identifier: Apache-2.0
// The kinds of ports of the loaded bench: how the device under test and the load are attached to
// each other.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "dataplane/bench/bench_frames.h"
#include "dataplane/bench/load_port.h"

namespace bfly::dataplane {

struct PortKind {
  std::string_view name;
  std::string_view title;  // what stands at the two ends
  // The device string of the end of `port` (0 or 1) at the device under test, and the socket in
  // `directory` on which it listens.
  std::string (*device)(int port, const std::string& directory);
  std::string (*socket)(int port, const std::string& directory);
  absl::StatusOr<std::unique_ptr<LoadPort>> (*load)(const Frames& frames);
};

std::span<const PortKind> PortKinds();

// Null if there is none of this name.
const PortKind* FindPortKind(std::string_view name);

}  // namespace bfly::dataplane

// SPDX-License-Identifier: Apache-2.0
// The kinds of ports of the loaded bench: how the device under test and the generator are attached
// to each other.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace bfly::dataplane {

struct PortKind {
  std::string_view name;
  std::string_view title;  // what stands at the two ends
  // The device string of the end of `port` (0 or 1), with its socket in `directory`. The
  // generator's end costs less than the other: it copies no frame.
  std::string (*device)(int port, const std::string& directory);
  std::string (*generator)(int port, const std::string& directory);
};

std::span<const PortKind> PortKinds();

// Null if there is none of this name.
const PortKind* FindPortKind(std::string_view name);

}  // namespace bfly::dataplane

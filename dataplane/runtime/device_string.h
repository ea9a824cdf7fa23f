// SPDX-License-Identifier: Apache-2.0
// Reads and extends DPDK's device strings: "driver and instance,key=value,...".
#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace bfly::dataplane {

// Returns `device` with the argument that tells its driver how many queue pairs to have: net_af_xdp
// queue_count, net_vhost and net_virtio_user queues, net_af_packet qpairs. Returns it unchanged if
// it has the argument already or its driver does not need one.
std::string WithQueuePairs(const std::string& device, int queue_pairs);

// The value of `key` in "driver,key=value,...", or nothing.
std::optional<std::string> DeviceArgument(absl::string_view device, absl::string_view key);

// Whether a frame that one end sends at a queue pair comes to the same queue pair of the other end.
// Cards and kernel interfaces choose a queue by the contents of the frame.
bool KeepsQueues(absl::string_view device);

// The path of the stream socket that the driver creates and peers connect to, as net_vhost does.
// Empty for drivers that create no socket.
std::string SocketMadeBy(const std::string& device);

}  // namespace bfly::dataplane

// SPDX-License-Identifier: Apache-2.0
// Device strings as DPDK takes them: "driver and instance,key=value,...".
#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace bfly::dataplane {

// `device` with the argument by which its driver is told how many queue pairs to have, unless it
// says so itself or its driver needs no telling: net_af_xdp queue_count, net_vhost and
// net_virtio_user queues, net_af_packet qpairs.
std::string WithQueuePairs(const std::string& device, int queue_pairs);

// The value of `key` in "driver,key=value,...", or nothing.
std::optional<std::string> DeviceArgument(absl::string_view device, absl::string_view key);

// The path of the stream socket that the driver makes and peers connect to, as net_vhost does;
// empty where there is none.
std::string SocketMadeBy(const std::string& device);

}  // namespace bfly::dataplane

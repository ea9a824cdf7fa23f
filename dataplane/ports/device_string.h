// SPDX-License-Identifier: Apache-2.0
// Device strings as DPDK takes them: "driver and instance,key=value,...".
#pragma once

#include <string>

namespace bfly::dataplane {

// `device` with the argument by which its driver is told how many queue pairs to have, unless it
// says so itself or its driver needs no telling: net_af_xdp queue_count, net_vhost and
// net_virtio_user queues, net_af_packet qpairs.
std::string WithQueuePairs(const std::string& device, int queue_pairs);

}  // namespace bfly::dataplane

// SPDX-License-Identifier: Apache-2.0
#include "dataplane/runtime/device_string.h"

#include <gtest/gtest.h>

namespace bfly::dataplane {
namespace {

TEST(DeviceString, ADriverIsToldItsQueuePairsInItsOwnWord) {
  EXPECT_EQ(WithQueuePairs("net_af_xdp,iface=bf0", 4), "net_af_xdp,iface=bf0,queue_count=4");
  EXPECT_EQ(WithQueuePairs("net_vhost0,iface=/tmp/s", 2), "net_vhost0,iface=/tmp/s,queues=2");
  EXPECT_EQ(WithQueuePairs("net_virtio_user0,path=/tmp/s", 2),
            "net_virtio_user0,path=/tmp/s,queues=2");
  EXPECT_EQ(WithQueuePairs("net_af_packet0,iface=e", 3), "net_af_packet0,iface=e,qpairs=3");
}

TEST(DeviceString, WhatTheFileSaysIsKept) {
  EXPECT_EQ(WithQueuePairs("net_af_xdp,iface=bf0,queue_count=8", 4),
            "net_af_xdp,iface=bf0,queue_count=8");
}

TEST(DeviceString, OneQueuePairAndDriversThatTakeAnyNumberNeedNoWord) {
  EXPECT_EQ(WithQueuePairs("net_af_xdp,iface=bf0", 1), "net_af_xdp,iface=bf0");
  EXPECT_EQ(WithQueuePairs("net_memif0,role=server", 4), "net_memif0,role=server");
  EXPECT_EQ(WithQueuePairs("0000:00:04.0", 4), "0000:00:04.0");
}

}  // namespace
}  // namespace bfly::dataplane

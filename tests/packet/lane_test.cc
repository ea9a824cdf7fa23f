// SPDX-License-Identifier: Apache-2.0
// How a lane counts the packets that wait on links.
#include "dataplane/stages/lane.h"

#include <gtest/gtest.h>

#include <vector>

#include "dataplane/core/ring.h"
#include "dataplane/stages/stage.h"
#include "topologies/network.h"

namespace bfly::dataplane {
namespace {

TEST(Lane, TwoThatWaitOnTheSameLinkCountBoth) {
  constexpr int kFirst = 5, kSecond = 10;
  constexpr uint32_t kLink = 1;  // row 0, port 1
  const Network network = *Network::Make({.kind = NetworkKind::kButterfly, .rows = 4});
  Stage stage(network, 0);
  const auto occupancy = [&stage] { return stage.cold(kLink).occupancy.load(); };
  Ring ring(8);
  const std::vector<Descriptor> packets(kSecond);
  const std::vector<uint32_t> links(kSecond, kLink);
  ring.Push(packets.data(), ring.room());
  Ring other_ring(8);
  other_ring.Push(packets.data(), other_ring.room());
  Lane first = Lane::ToRing(&ring, &stage), second = Lane::ToRing(&other_ring, &stage);
  first.Append(packets.data(), links.data(), kFirst);
  second.Append(packets.data(), links.data(), kSecond);
  Account account;
  for (int pass = 0; pass < 3; ++pass) {
    first.Settle(account);
    second.Settle(account);
    EXPECT_EQ(occupancy(), 15u) << "pass " << pass;
    first.HandOver();
    second.HandOver();
  }
  EXPECT_EQ(stage.cold(kLink).peak.load(), 15u);
  Descriptor taken[8];
  EXPECT_EQ(ring.Pop(taken, 8), 7u);
  first.Settle(account);
  second.Settle(account);
  EXPECT_EQ(occupancy(), 10u);
}

}  // namespace
}  // namespace bfly::dataplane

// SPDX-License-Identifier: Apache-2.0
// Addresses of hosts across a crash: the next data plane knows what the one before learned.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "dataplane/ports/known_hosts.h"

namespace bfly::dataplane {
namespace {

constexpr MacAddress kLeftMac = 0x525400123456;
constexpr MacAddress kRightMac = 0xee0b0b0b0b0b;

class KnownHostsTest : public testing::Test {
 protected:
  ~KnownHostsTest() override { std::filesystem::remove(path_); }
  void Write(const std::string& text) { std::ofstream(path_) << text; }
  std::string Text() {
    std::stringstream text;
    text << std::ifstream(path_).rdbuf();
    return text.str();
  }

  const std::string path_ = testing::TempDir() + "bfly-hosts-" + std::to_string(getpid());
};

TEST_F(KnownHostsTest, TheNextOneKnowsWhatOneLearned) {
  {
    KnownHosts hosts(path_);
    LearnedMac alice, bob, silent;
    hosts.Watch("left", 3, &alice);
    hosts.Watch("right", 12, &bob);
    hosts.Watch("silent", 5, &silent);
    alice.Learn(kLeftMac);
    hosts.Save();
    bob.Learn(kRightMac);
    hosts.Save();
  }
  EXPECT_EQ(Text(), "left 3 525400123456\nright 12 ee0b0b0b0b0b\n");

  KnownHosts hosts(path_);
  LearnedMac alice, bob, silent;
  hosts.Watch("left", 3, &alice);
  hosts.Watch("silent", 5, &silent);
  hosts.Watch("right", 12, &bob);
  EXPECT_EQ(alice.Get(), kLeftMac);
  EXPECT_EQ(bob.Get(), kRightMac);
  EXPECT_EQ(silent.Get(), 0u);
}

TEST_F(KnownHostsTest, ANameOrARowThatChangedIsAnotherPort) {
  Write("left 3 525400123456\n");
  KnownHosts hosts(path_);
  LearnedMac renamed, moved;
  hosts.Watch("middle", 3, &renamed);
  hosts.Watch("left", 4, &moved);
  EXPECT_EQ(renamed.Get(), 0u);
  EXPECT_EQ(moved.Get(), 0u);
  hosts.Save();
  EXPECT_EQ(Text(), "");
}

TEST_F(KnownHostsTest, AnUnloadedFabricLeavesNothing) {
  KnownHosts hosts(path_);
  LearnedMac alice;
  hosts.Watch("left", 3, &alice);
  alice.Learn(kLeftMac);
  hosts.Save();
  hosts.Forget();
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(KnownHostsTest, WhatIsNoAddressOfAHostIsNotBelieved) {
  Write("left 3 ffffffffffff\nright 12 1000000000000\nagain x\nleft 3 525400123456\n");
  KnownHosts hosts(path_);
  LearnedMac left, right;
  hosts.Watch("left", 3, &left);
  hosts.Watch("right", 12, &right);
  EXPECT_EQ(left.Get(), 0u);
  EXPECT_EQ(right.Get(), 0u);
}

TEST(LearnedMac, StandsForEverybodyUntilItIsKnown) {
  LearnedMac host{.until_known = kBroadcastMac};
  EXPECT_EQ(host.Get(), kBroadcastMac);
  host.Learn(kLeftMac);
  EXPECT_EQ(host.Get(), kLeftMac);
}

}  // namespace
}  // namespace bfly::dataplane

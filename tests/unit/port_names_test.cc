// SPDX-License-Identifier: Apache-2.0
#include "dataplane/fabric/port_names.h"

#include <gtest/gtest.h>

namespace bfly::dataplane {
namespace {

TEST(PortNames, AKnownNameMayBeUsedAgainWhenThereIsNoRoomForANewOne) {
  PortNames names(2);
  EXPECT_TRUE(names.empty());
  for (const char* name : {"a", "b"}) {
    EXPECT_TRUE(names.MayBeUsed(name));
    names.Add(name);
  }
  EXPECT_TRUE(names.MayBeUsed("a"));
  EXPECT_FALSE(names.MayBeUsed("c"));
  names.Add("a");
  EXPECT_EQ(names.NumberOf("a"), 0u);
  EXPECT_EQ(names.NumberOf("b"), 1u);
  EXPECT_EQ(names.NameOf(1), "b");
  EXPECT_EQ(names.NameOf(2), "");
}

}  // namespace
}  // namespace bfly::dataplane

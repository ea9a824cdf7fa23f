// SPDX-License-Identifier: Apache-2.0
// How late a worker was, against the hand count and against one value after the other.
#include "dataplane/telemetry/lateness.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace bfly::dataplane {
namespace {

TEST(Lateness, OfAThousandValuesEqualsTheHandCount) {
  LatenessMeter meter;
  EXPECT_EQ(meter.Read().packets, 0u);
  for (uint64_t i = 1; i <= 1000; ++i) meter.Add(i * 10);
  const Lateness late = meter.Read();
  EXPECT_EQ(late.packets, 1000u);
  EXPECT_DOUBLE_EQ(late.mean, 5005);
  EXPECT_EQ(late.max, 10000u);
  EXPECT_GE(late.p99, 9900u);
  EXPECT_LE(late.p99, 9900u * 17 / 16);
}

TEST(Lateness, OfPacketsReleasedTogetherIsWhatEachOfThemAdds) {
  std::mt19937 random(5);
  LatenessMeter one_by_one, together, since;
  for (int batch = 0; batch < 200; ++batch) {
    std::vector<uint64_t> late(random() % 30);
    uint64_t value = random() >> (random() % 32);
    for (uint64_t& its : late) its = value -= std::min<uint64_t>(value, random() % 100);
    for (const uint64_t its : late) one_by_one.Add(its);
    together.AddAll(static_cast<int>(late.size()),
                    [&](int i) { return late[static_cast<size_t>(i)]; });
    constexpr uint64_t kNow = uint64_t{1} << 40;
    since.AddSince(kNow, static_cast<int>(late.size()),
                   [&](int i) { return kNow - late[static_cast<size_t>(i)]; });
    const Lateness expected = one_by_one.Read();
    for (const Lateness& found : {together.Read(), since.Read()}) {
      ASSERT_EQ(found.packets, expected.packets);
      ASSERT_DOUBLE_EQ(found.mean, expected.mean);
      ASSERT_EQ(found.p99, expected.p99);
      ASSERT_EQ(found.max, expected.max);
    }
  }
}

}  // namespace
}  // namespace bfly::dataplane

// SPDX-License-Identifier: Apache-2.0
// The parts of the stages of links that are not FIFO: division, one shared link, and where packets
// wait.
#include "dataplane/virtual_clock/sharing_lane.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "dataplane/virtual_clock/line_store.h"
#include "dataplane/virtual_clock/servers.h"
#include "topologies/random.h"

namespace bfly::dataplane {
namespace {

constexpr Ticks kLaneUnit = Ticks{1} << 32;

TEST(Divisors, AreExactBelowTheirLimit) {
  for (uint64_t n = 1; n <= kMostDivisor; ++n) {
    for (uint64_t i = 0; i < 2000; ++i) {
      const uint64_t random = Random64(n, RandomStream::kTest, i);
      const uint64_t quotient = random >> 2 >> (random % 60);
      // Around a multiple of n, where one unit too much or too little shows.
      for (const uint64_t near : {quotient / n * n - 1, quotient / n * n, quotient / n * n + 1}) {
        const uint64_t time = near % (uint64_t{1} << 62);
        const auto product = LinkTime{2 * time} * kDivisors.factor[n];
        ASSERT_EQ(static_cast<uint64_t>(product >> 64) >> kDivisors.shift[n], time / n)
            << time << " / " << n;
      }
    }
  }
}

// One link: each lane against the server, whose times tests compare with what a packet has left.
template <typename Time>
void ExpectLaneIsTheServer(double load, Ticks unit) {
  const auto window = static_cast<Ticks>(7.3 * static_cast<double>(unit));
  SharingServer server(unit, kSharedFractionBits);
  SharingLink link;
  std::vector<Sharer> waiting;
  double at = 0;
  uint64_t number = 0;
  size_t most = 0;
  for (Ticks start = 0; start < 300 * window; start += window) {
    std::vector<Job> arrivals, left;
    std::vector<Sharer> line = waiting;
    for (; at < static_cast<double>(start + window); ++number) {
      const auto time = static_cast<Ticks>(at);
      if (time >= start) {
        arrivals.push_back({time, time, number});
        line.push_back({time, number, 0});
      }
      const double random = static_cast<double>(Random64(5, RandomStream::kTest, number) >> 11);
      at += -std::log(1 - random * 0x1p-53) / load * static_cast<double>(unit);
      if (number % 16 == 0) at += 10 * static_cast<double>(unit);  // it becomes idle at times
    }
    server.Serve(arrivals, start + window, left);
    const size_t present = waiting.size(), all = line.size();
    most = std::max(most, all);
    line.resize(all + 2);
    SharingLane<Time> lane(link, unit, line.data(), line.data() + present, line.data() + all,
                           start + window);
    while (lane.Step()) {
    }
    lane.Close(link);
    const auto departed = static_cast<size_t>(lane.first() - line.data());
    ASSERT_EQ(departed, left.size());
    for (size_t i = 0; i < departed; ++i) {
      ASSERT_EQ(SharingLane<Time>::TickOf(line[i].end, start), left[i].time) << start << ' ' << i;
      ASSERT_EQ(line[i].time, left[i].entered);
    }
    waiting.assign(line.begin() + static_cast<ptrdiff_t>(departed),
                   line.begin() + static_cast<ptrdiff_t>(all));
  }
  EXPECT_GT(most, 12u);
  EXPECT_TRUE(SharingLane<uint64_t>::FitsInWords(window, unit, most));
}

TEST(SharingLane, LetsPacketsLeaveWhenTheServerDoes) {
  for (const double load : {1.5, 3.0}) {
    for (const Ticks unit : {kLaneUnit, kLaneUnit - 1, Ticks{1000}, Ticks{7}}) {
      ExpectLaneIsTheServer<uint64_t>(load, unit);
      ExpectLaneIsTheServer<LinkTime>(load, unit);
    }
  }
}

TEST(LineStore, KeepsLinesThatGrowLongAndShortAgain) {
  constexpr size_t kLines = 3;
  LineStore<uint64_t> store(kLines);
  LineScratch<uint64_t> scratch;
  std::vector<std::vector<uint64_t>> expected(kLines);
  uint64_t number = 0;
  for (uint64_t window = 0; window < 400; ++window) {
    // Tides: a line gets more than leaves for a while, and then less.
    std::vector<size_t> come(kLines);
    size_t arrivals = 0;
    for (size_t line = 0; line < kLines; ++line) {
      const bool rises = window / 40 % 2 == line % 2;
      come[line] = RandomBelow(3, RandomStream::kTest, number + line, rises ? 40 : 12);
      arrivals += come[line];
    }
    scratch.room.resize(kLines * LineStore<uint64_t>::PlacesOf(64));
    store.Begin(arrivals, scratch);
    uint64_t* room = scratch.room.data();
    for (size_t line = 0; line < kLines; ++line) {
      std::vector<uint64_t>& list = expected[line];
      ASSERT_EQ(store.waiting(line), list.size());
      uint64_t* const first = store.Open(line, come[line], room);
      ASSERT_TRUE(std::equal(list.begin(), list.end(), first)) << window << ' ' << line;
      for (size_t i = 0; i < come[line]; ++i) first[list.size()] = number, list.push_back(number++);
      const size_t leave = std::min<size_t>(list.size(), 12);
      store.Close(line, first + leave, first + list.size());
      list.erase(list.begin(), list.begin() + static_cast<ptrdiff_t>(leave));
    }
    store.End(scratch);
    size_t sum = 0;
    for (const auto& list : expected) sum += list.size();
    ASSERT_EQ(store.queued(), sum);
  }
}

}  // namespace
}  // namespace bfly::dataplane

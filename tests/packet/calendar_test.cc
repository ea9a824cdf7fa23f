// SPDX-License-Identifier: Apache-2.0
// The calendar of a stage against a sorted map, and the order of a batch against a stable sort.
#include "dataplane/links/calendar.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "dataplane/links/batch_order.h"

namespace bfly::dataplane {
namespace {

struct Store {
  struct Entry {
    uint64_t key = 0;
    uint32_t right = 0;
  };
  Entry& at(uint32_t entry) { return entries[entry]; }
  std::vector<Entry> entries;
};

// Ticks with the number of the packet: the order in which packets have to come out.
using Sorted = std::map<std::pair<uint64_t, uint32_t>, uint32_t>;

class CalendarRun {
 public:
  explicit CalendarRun(uint32_t seed) : random_(seed) { store_.entries.resize(1); }

  // Most are near, some at one tick, some years away, some late.
  void Add() {
    uint64_t key = now_;
    switch (random_() % 8) {
      case 0:
        key += random_() % (uint64_t{1} << (random_() % 31));
        break;
      case 1:
        key += uint64_t{random_()} << (random_() % 28);
        break;
      case 2:
        key -= std::min<uint64_t>(now_, random_() % 3000);
        break;
      case 3:
        key = last_key_;
        break;
      default:
        key += random_() % 5000;
    }
    last_key_ = key;
    const auto entry = static_cast<uint32_t>(store_.entries.size());
    store_.entries.push_back({.key = key, .right = 77});
    calendar_.Add(entry, store_);
    sorted_.emplace(std::pair(key, entry), entry);
  }

  void Take(uint64_t later, size_t most) {
    now_ += later;
    std::vector<uint32_t> expected, taken;
    while (expected.size() < most && !sorted_.empty() && sorted_.begin()->first.first <= now_) {
      ASSERT_LE(calendar_.NotBefore(), sorted_.begin()->first.first);
      expected.push_back(sorted_.begin()->second);
      sorted_.erase(sorted_.begin());
    }
    while (taken.size() < most) {
      const auto due = calendar_.TakeDue(now_, most - taken.size(), store_);
      if (due.empty()) break;
      for (const auto& [key, entry] : due) {
        EXPECT_EQ(key, store_.at(entry).key);
        taken.push_back(entry);
      }
    }
    ASSERT_EQ(taken, expected) << "at " << now_;
    ASSERT_EQ(calendar_.NotBefore() == UINT64_MAX, sorted_.empty());
    if (taken.size() < most) {
      ASSERT_GT(calendar_.NotBefore(), now_);
    }
  }

  // As a worker does before it adds packets of which it will take most out at once.
  void MoveTo(uint64_t later) { calendar_.MoveTo(now_ + later, store_); }

  void TakeOutEveryThird() {
    size_t seen = 0;
    calendar_.TakeOut(store_, [&](uint32_t entry) {
      ++seen;
      return entry % 3 == 0;
    });
    ASSERT_EQ(seen, sorted_.size());
    std::erase_if(sorted_, [](const auto& packet) { return packet.second % 3 == 0; });
    ASSERT_EQ(calendar_.empty(), sorted_.empty());
  }

  std::mt19937& random() { return random_; }

 private:
  std::mt19937 random_;
  Store store_;
  Calendar<Store> calendar_;
  Sorted sorted_;
  uint64_t now_ = 0;
  uint64_t last_key_ = 0;
};

TEST(Calendar, GivesPacketsByTickAndThenAsTheyCame) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    CalendarRun run(seed);
    for (int step = 0; step < 400; ++step) {
      const uint64_t later = run.random()() % 4 == 0 ? run.random()() % 1'000'000 : 500;
      if (run.random()() % 2 == 0) run.MoveTo(later);
      // A few, or so many that they are not sorted one by one.
      const uint32_t most = run.random()() % 50 == 0 ? 2000 : 20;
      for (uint32_t i = run.random()() % most; i > 0; --i) run.Add();
      run.Take(later, run.random()() % 3 == 0 ? 5 : 1000);
      if (run.random()() % 100 == 0) run.TakeOutEveryThird();
      if (testing::Test::HasFatalFailure()) return;
    }
    run.Take(uint64_t{1} << 62, 1'000'000);
    run.TakeOutEveryThird();
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(BatchOrder, GivesPacketsByTickAndThenAsTheyWereAdded) {
  BatchOrder order;
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    std::mt19937 random(seed);
    const uint64_t first = seed * 1'000'000'007ull;
    const uint64_t ticks = random() % 3 == 0 ? BatchOrder::kMostTicks : 1u << random() % 24;
    std::vector<std::pair<uint64_t, uint32_t>> expected, taken;
    order.Begin(first);
    for (auto i = static_cast<uint32_t>(random() % (BatchOrder::kMost + 1)); i > 0; --i) {
      expected.emplace_back(first + random() % (ticks + 1), i - 1);
      order.Add(expected.back().first, i - 1);
      ASSERT_EQ(order.place(expected.size() - 1), i - 1);
    }
    std::stable_sort(expected.begin(), expected.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (uint64_t until = first; !order.empty(); until += 1 + random() % ticks) {
      const size_t most = 1 + random() % 100, before = taken.size();
      order.TakeUntil(until, most,
                      [&](uint64_t tick, uint32_t place) { taken.emplace_back(tick, place); });
      ASSERT_LE(taken.size() - before, most);
      const bool all = taken.size() == expected.size();
      ASSERT_EQ(order.NotBefore(), all ? UINT64_MAX : expected[taken.size()].first);
      if (taken.size() - before < most) {
        ASSERT_GT(order.NotBefore(), until);
      }
    }
    ASSERT_EQ(taken, expected) << seed;
  }
}

}  // namespace
}  // namespace bfly::dataplane

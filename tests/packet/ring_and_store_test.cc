// SPDX-License-Identifier: Apache-2.0
// Packets of alike links lie in a ring (LaterPackets), and in the store if one link differs. Nobody
// may see which. One tick is a nanosecond here.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "dataplane/stages/stage.h"
#include "dataplane/stages/timed_links.h"

namespace bfly::dataplane {
namespace {

// The links of a stage of five rows.
struct Links {
  static constexpr uint32_t kUsed = 8;         // packets go over them
  static constexpr uint32_t kAll = kUsed + 2;  // and over the others none

  explicit Links(bool alike, size_t store_bytes = size_t{1} << 23)
      : is_alike(alike), store(store_bytes) {}
  void Set(const LinkShape& shape, uint64_t now) {
    LinkPlan plan{.base = shape, .rules = {}};
    if (!is_alike) {
      plan.rules.push_back({.first_stage = 0,
                            .last_stage = 0,
                            .first_row = kUsed / 2,
                            .last_row = kUsed / 2,
                            .bits_per_second = 12'345});
    }
    tables.push_back(std::make_unique<ShapeTable>(plan, 0, kAll / 2, 2, /*tsc_hz=*/1e9));
    links.SetTable(tables.back().get(), now);
  }
  // Packet number `id` comes at once, and nothing is released.
  void Enter(uint32_t id, uint32_t link, uint64_t arrival, uint16_t bytes = 64) {
    links.Enter(Packet(id, arrival, bytes), link, ledger);
  }
  void EnterLast(const std::vector<Descriptor>& packets, const std::vector<uint32_t>& of,
                 uint64_t now) {
    batch = packets;
    links.EnterLast(batch.data(), of.data(), static_cast<int>(batch.size()), now, ledger);
  }
  void Release(uint64_t now, int room = 100) {
    Descriptor out[256];
    while (links.NextRelease() <= now) {
      const int count = links.Release(now, out, room, ledger);
      for (int i = 0; i < count; ++i) arrived.emplace_back(out[i].row, out[i].arrival);
    }
  }
  static Descriptor Packet(uint32_t id, uint64_t arrival, uint16_t bytes) {
    return {.tag = kWireTagDone,
            .mbuf = nullptr,
            .time = arrival,
            .row = id,
            .bytes = bytes,
            .input = 0};
  }

  const bool is_alike;
  PacketStore store;
  LinkCold cold[kAll];
  TimedLinks links{kAll, 0, &store, cold, 7};
  Ledger ledger;
  std::vector<std::unique_ptr<ShapeTable>> tables;
  std::vector<Descriptor> batch;
  std::vector<std::pair<uint32_t, uint64_t>> arrived;  // id and time
};

void ExpectSame(const Links& ring, const Links& store) {
  ASSERT_EQ(ring.arrived, store.arrived);
  ASSERT_EQ(ring.links.held(), store.links.held());
  ASSERT_EQ(ring.store.room(), store.store.room());
  for (uint32_t link = 0; link < Links::kUsed; ++link) {
    ASSERT_EQ(ring.cold[link].occupancy, store.cold[link].occupancy) << "link " << link;
    ASSERT_EQ(ring.cold[link].peak, store.cold[link].peak) << "link " << link;
    ASSERT_EQ(ring.cold[link].queue_full, store.cold[link].queue_full) << "link " << link;
    ASSERT_EQ(ring.links.counters(link).busy, store.links.counters(link).busy) << "link " << link;
    ASSERT_EQ(ring.links.counters(link).busy_until, store.links.counters(link).busy_until)
        << "link " << link;
  }
}

// What packets, readers and whoever changes settings do to both.
class Both {
 public:
  explicit Both(uint32_t seed) : random_(seed), most_(1 + random_() % 256) {
    step_ = 1 + random_() % 60'000;
    one_by_one_ = random_() % 3 == 0;
    crowded_ = random_() % 2 == 0;
    changes_ = random_() % 3 == 0;
    asks_ = random_() % 4 == 0;
    SetSettings();
  }
  void Pass() {
    const uint64_t begin = now_;
    now_ += 1 + random_() % step_ + (random_() % 40 == 0 ? random_() % 20'000'000 : 0);
    for (Links* side : sides_) side->links.ExpectRelease(now_);
    const uint32_t batches = 1 + random_() % 3;
    for (uint32_t i = 0; i < batches; ++i) Enter(begin, i + 1 == batches && random_() % 4 != 0);
    const int room = static_cast<int>(1 + random_() % 256);
    for (Links* side : sides_) side->Release(now_, room);
    ExpectSame(ring_, store_);
    if (changes_ && random_() % 15 == 0) SetSettings();
    if (random_() % 200 == 0) {
      const uint64_t discarded = ring_.links.Discard();
      ASSERT_EQ(discarded, store_.links.Discard());
      ASSERT_EQ(ring_.store.room(), store_.store.room());
    }
  }

 private:
  template <typename T>
  T OneOf(std::initializer_list<T> values) {
    return values.begin()[random_() % values.size()];
  }
  void SetSettings() {
    LinkShape shape;
    shape.bits_per_second =
        OneOf<uint64_t>({8'000'000'000, 1'000'000'000, 700'000'000, 100'000'000, 0});
    shape.delay_ns = OneOf<uint64_t>({0, 0, 10, 1000, 50'000, 3'000'000});
    shape.queue_limit = OneOf<uint32_t>({0, 0, 0, 5, 100});
    if (now_ > kBegin) now_ += random_() % 3000;
    for (Links* side : sides_) side->Set(shape, now_);
  }
  void Enter(uint64_t begin, bool is_last) {
    std::vector<uint64_t> arrivals(random_() % 5 == 0 ? 0 : random_() % (most_ + 1));
    for (uint64_t& arrival : arrivals) {
      arrival = begin + random_() % (now_ - begin + 1);
      if (random_() % 30 == 0) arrival -= random_() % 20'000;  // the sender was late
    }
    std::sort(arrivals.begin(), arrivals.end());
    std::vector<Descriptor> batch;
    std::vector<uint32_t> of;
    for (const uint64_t arrival : arrivals) {
      const auto bytes = static_cast<uint16_t>(random_() % 3 == 0 ? 64 + random_() % 1455 : 64);
      batch.push_back(Links::Packet(id_++, arrival, bytes));
      of.push_back(crowded_ && random_() % 4 != 0 ? 0 : random_() % Links::kUsed);
    }
    if (asks_ && random_() % 5 == 0) Ask(arrivals.empty() ? now_ : arrivals[0]);
    for (Links* side : sides_) {
      if (is_last) {
        side->EnterLast(batch, of, now_);
      } else if (one_by_one_) {
        for (size_t i = 0; i < batch.size(); ++i) side->links.Enter(batch[i], of[i], side->ledger);
      } else {
        side->links.Enter(batch.data(), of.data(), static_cast<int>(batch.size()), side->ledger);
      }
    }
  }
  void Ask(uint64_t arrival) {
    const uint32_t link = random_() % Links::kUsed;
    const LinkStanding ring = ring_.links.At(link, arrival);
    const LinkStanding store = store_.links.At(link, arrival);
    ASSERT_EQ(ring.packets, store.packets);
    ASSERT_EQ(ring.has_room, store.has_room);
    ASSERT_TRUE(ring.free == store.free);
  }

  static constexpr uint64_t kBegin = 10'000'000;
  std::mt19937 random_;
  const uint32_t most_;  // packets of a batch
  uint64_t step_;        // a pass takes so long at most, except for some
  bool one_by_one_, crowded_, changes_, asks_;
  uint64_t now_ = kBegin;
  uint32_t id_ = 0;
  Links ring_{true}, store_{false};
  Links* const sides_[2] = {&ring_, &store_};
};

TEST(RingAndStore, AreTheSameToAllWhoLook) {
  for (uint32_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    Both both(seed);
    for (int pass = 0; pass < 100; ++pass) {
      ASSERT_NO_FATAL_FAILURE(both.Pass()) << "pass " << pass;
    }
  }
}

TEST(RingAndStore, RoomComesBackWhenPacketsAreDiscarded) {
  Links links(true);
  links.Set({.delay_ns = 100'000}, 0);
  const size_t room = links.store.room();
  for (uint32_t id = 0; id < 10; ++id) links.Enter(id, id % Links::kUsed, 1000 + id);
  EXPECT_EQ(links.store.room(), room - 10);
  EXPECT_EQ(links.links.Discard(), 10u);
  EXPECT_EQ(links.store.room(), room);
  EXPECT_EQ(links.links.NextRelease(), UINT64_MAX);
}

TEST(RingAndStore, HaveRoomForAsManyAsTheStore) {
  for (const bool at_once : {false, true}) {
    Links links(true, 11 * sizeof(StoredPacket));
    links.Set({.delay_ns = 100'000}, 0);
    const size_t room = links.store.room();
    if (at_once) {
      links.EnterLast(std::vector<Descriptor>(room + 5, Links::Packet(0, 1000, 64)),
                      std::vector<uint32_t>(room + 5, 0), 1000);
    } else {
      for (uint32_t id = 0; id < room + 5; ++id) links.Enter(id, 0, 1000);
    }
    EXPECT_EQ(links.links.held(), room);
    EXPECT_EQ(links.ledger.dropped[static_cast<int>(DropReason::kQueueMemory)], 5u);
    links.Release(1'000'000);
    EXPECT_EQ(links.arrived.size(), room);
    EXPECT_EQ(links.store.room(), room);
  }
}

TEST(RingAndStore, MoreThanARingHoldsArriveInOrder) {
  constexpr uint32_t kCount = 3 * LaterPackets::kMost + 1000;
  Links links(true);
  links.Set({.delay_ns = 1'000'000}, 0);
  for (uint32_t id = 0; id < kCount; ++id) links.Enter(id, id % Links::kUsed, 1000 + id);
  EXPECT_EQ(links.links.held(), kCount);
  links.Release(2'000'000);
  ASSERT_EQ(links.arrived.size(), kCount);
  for (uint32_t id = 0; id < kCount; ++id) {
    ASSERT_EQ(links.arrived[id], std::pair(id, uint64_t{1'001'000} + id));
  }
}

// 1,500 bytes take 12 ms at 1 Mbit/s, and 64 bytes 0.512 ms.
TEST(RingAndStore, WhoWaitsIsKnownAlsoFarBehind) {
  Links links(true);
  links.Set({.bits_per_second = 1'000'000}, 0);
  links.EnterLast({Links::Packet(0, 1000, 1500), Links::Packet(1, 1000, 1500),
                   Links::Packet(2, 1000, 64), Links::Packet(3, 1000, 1500)},
                  {0, 0, 0, 0}, 1000);
  links.Release(1000);
  // Sent at 12.001, 24.001, 24.513 and 36.513 ms.
  EXPECT_EQ(links.links.At(0, 24'400'000).packets, 2u);
  EXPECT_EQ(links.links.At(0, 24'600'000).packets, 1u);
}

// After settings have changed under traffic that does not pause, later packets are in the ring
// again.
TEST(RingAndStore, TheRingIsInUseAgainAfterAChange) {
  Links links(true);
  links.Set({.delay_ns = 50'000}, 0);
  links.Enter(0, 0, 1000);
  links.Set({.delay_ns = 50'000, .queue_limit = 1000}, 2000);
  EXPECT_EQ(links.store.set_aside(), 0u);
  links.Enter(1, 0, 3000);
  EXPECT_EQ(links.store.set_aside(), 1u);
  links.Release(100'000);
  EXPECT_EQ(links.arrived, (std::vector<std::pair<uint32_t, uint64_t>>{{0, 51'000}, {1, 53'000}}));
}

}  // namespace
}  // namespace bfly::dataplane

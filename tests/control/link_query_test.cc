// SPDX-License-Identifier: Apache-2.0
// The answers of a data plane about its links, against a plain implementation on random counters.
#include "dataplane/fabric/link_query.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "tests/control/fake_fabric.h"

namespace bfly::control {
namespace {

using dataplane::LinkCounters;
using dataplane::LinkFigure;
using dataplane::LinkQuery;
using dataplane::LinkReading;
using testing::HasSubstr;

constexpr LinkFigure kFigures[] = {LinkFigure::kPackets,   LinkFigure::kBytes,
                                   LinkFigure::kOccupancy, LinkFigure::kOccupancyPeak,
                                   LinkFigure::kDrops,     LinkFigure::kBusy};

class LinkQueryTest : public testing::Test {
 protected:
  // Stages 2 to 6 of eight; counters are small, so that many are equal and many are zero.
  LinkQueryTest() {
    dataplane::FabricConfig config;
    config.network = {.kind = NetworkKind::kTwoFoldButterfly, .rows = 16};
    config.placement = {{.first_stage = 2, .last_stage = 6, .lcore = 0}};
    fabric_ = std::make_unique<FakeFabric>(board_, "dp", config);
    first_ = fabric_->network().link_index({.stage = 2});
    std::vector<LinkCounters>& links = board_.figures["dp"].links;
    links.resize(5 * 16 * 2);
    for (LinkCounters& link : links) {
      if (random_() % 2 == 0) continue;
      link.packets = random_() % 5;
      link.bytes = 64 * (random_() % 7);
      link.occupancy = random_() % 3;
      link.occupancy_peak = link.occupancy + random_() % 2;
      link.drops[random_() % dataplane::kDropReasons] = random_() % 3;
      link.busy_ns = random_() % 4;
    }
  }

  uint64_t Behind() const { return first_ + board_.figures.at("dp").links.size(); }

  std::vector<NumberRange> SomeOf(uint32_t limit) {
    std::vector<NumberRange> ranges;
    for (uint32_t number = 0; number < limit; ++number) {
      if (random_() % 2 == 0) ranges.push_back({number, number});
    }
    return random_() % 3 == 0 ? std::vector<NumberRange>() : MergeRanges(std::move(ranges));
  }

  LinkQuery RandomQuery() {
    LinkQuery query;
    const Network& network = fabric_->network();
    query.ranges.stages = SomeOf(8);
    query.ranges.rows = SomeOf(16);
    query.ranges.ports = SomeOf(2);
    if (random_() % 2 == 0) query.begin = random_() % network.link_count();
    if (random_() % 2 == 0) query.end = query.begin + random_() % network.link_count();
    query.used = random_() % 2 == 0;
    if (random_() % 2 == 0) {
      query.top = 1 + random_() % 60;
      query.by = kFigures[random_() % std::size(kFigures)];
      if (random_() % 2 == 0) {
        query.among.resize(1 + random_() % 32);
        for (uint8_t& byte : query.among) byte = static_cast<uint8_t>(random_());
      }
    } else if (random_() % 2 == 0) {
      query.most = 1 + random_() % 60;
    }
    std::set<uint64_t> also;
    for (size_t n = random_() % 4; n > 0; --n) also.insert(random_() % network.link_count());
    query.also.assign(also.begin(), also.end());
    return query;
  }

  // Sorts all links and takes the first ones.
  std::vector<uint64_t> Expected(const LinkQuery& query) {
    const LinkChoice choice(fabric_->network(), query.ranges);
    std::vector<uint64_t> wanted;
    for (uint64_t index = std::max(query.begin, first_); index < std::min(query.end, Behind());
         ++index) {
      if (!choice.Has(fabric_->network().link_at(index))) continue;
      if (query.used && dataplane::FigureOf(fabric_->ReadLink(index), LinkFigure::kUse) == 0) {
        continue;
      }
      if (!query.among.empty()) {
        const uint64_t bit = index - query.begin;
        if (bit >= 8 * query.among.size() || (query.among[bit / 8] >> bit % 8 & 1) == 0) continue;
      }
      wanted.push_back(index);
    }
    if (query.top != 0) {
      std::stable_sort(wanted.begin(), wanted.end(), [&](uint64_t a, uint64_t b) {
        return dataplane::FigureOf(fabric_->ReadLink(a), query.by) >
               dataplane::FigureOf(fabric_->ReadLink(b), query.by);
      });
    }
    const uint64_t most = query.top != 0 ? query.top : query.most;
    if (most != 0 && wanted.size() > most) wanted.resize(most);
    for (const uint64_t index : query.also) {
      if (index >= first_ && index < Behind()) wanted.push_back(index);
    }
    std::sort(wanted.begin(), wanted.end());
    wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
    return wanted;
  }

  LinkReading Read(const LinkQuery& query, uint64_t at_once) {
    dataplane::LinkScan scan(query, *fabric_);
    while (scan.Continue(*fabric_, at_once)) {
    }
    return scan.Take(*fabric_);
  }

  std::mt19937 random_{7};
  FakeBoard board_;
  std::unique_ptr<FakeFabric> fabric_;
  uint64_t first_ = 0;
};

TEST_F(LinkQueryTest, AnswersWhatAPlainImplementationAnswers) {
  for (int trial = 0; trial < 3000; ++trial) {
    const LinkQuery query = RandomQuery();
    ASSERT_TRUE(CheckQuery(query, fabric_->network()).ok());
    const LinkReading reading = Read(query, 1 + random_() % 100);
    std::vector<uint64_t> found;
    for (const LinkReading::Link& link : reading.links) {
      found.push_back(link.index);
      EXPECT_EQ(link.counters.packets, fabric_->ReadLink(link.index).packets);
      EXPECT_EQ(link.counters.busy_ns, fabric_->ReadLink(link.index).busy_ns);
    }
    EXPECT_EQ(found, Expected(query)) << "trial " << trial;
  }
}

TEST_F(LinkQueryTest, GoesOnWhereItEnded) {
  for (int trial = 0; trial < 300; ++trial) {
    LinkQuery query = RandomQuery();
    query.top = 0;
    query.among.clear();
    query.also.clear();
    query.most = 0;
    const std::vector<uint64_t> all = Expected(query);
    query.most = 1 + random_() % 20;
    std::vector<uint64_t> found;
    for (;;) {
      const LinkReading reading = Read(query, 16);
      for (const LinkReading::Link& link : reading.links) found.push_back(link.index);
      if (reading.links.size() < query.most) break;
      query.begin = reading.end;
    }
    EXPECT_EQ(found, all);
  }
}

TEST_F(LinkQueryTest, WrongQueriesAreRefusedByField) {
  const Network& network = fabric_->network();
  const auto message = [&](const LinkQuery& query) {
    return std::string(CheckQuery(query, network).message());
  };
  EXPECT_THAT(message({.ranges = {.stages = {{0, 8}}, .rows = {}, .ports = {}}}),
              HasSubstr("stages[0]: 0-8 is outside 0..7"));
  EXPECT_THAT(message({.ranges = {.stages = {}, .rows = {}, .ports = {{1, 0}}}}),
              HasSubstr("ports[0]: 1-0 ends before it begins"));
  EXPECT_THAT(message({.begin = 5, .end = 4}), HasSubstr("begin: 5 is above end, 4"));
  EXPECT_THAT(message({.also = {3, 3}}), HasSubstr("also[1]: 3 is not above the one before"));
  EXPECT_THAT(message({.also = {256}}), HasSubstr("also[0]: 256 is outside 0..255"));
}

}  // namespace
}  // namespace bfly::control

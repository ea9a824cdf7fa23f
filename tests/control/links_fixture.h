// SPDX-License-Identifier: Apache-2.0
// Two data planes with random counters and random circuits, and a slow reading of all their links.
#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <tuple>
#include <vector>

#include "tests/control/service_fixture.h"
#include "topologies/link_choice.h"

namespace bfly::control {

class LinksFixture : public testing::Test {
 protected:
  static constexpr uint32_t kRows = 16;
  static constexpr uint64_t kLinks = 8 * kRows * 2;

  void Start(int circuits) {
    dp0_ = std::make_unique<TestAgent>(directory_.path(), "dp0", FakeBackend(board_, "dp0"));
    dp1_ = std::make_unique<TestAgent>(directory_.path(), "dp1", FakeBackend(board_, "dp1"));
    controller_ = std::make_unique<TestController>(directory_.path());
    ASSERT_TRUE(Load(*controller_, SmallTopology(/*split=*/true, kRows)).ok());
    for (uint32_t i = 0; i < static_cast<uint32_t>(circuits); ++i) {
      ASSERT_TRUE(SetUpCircuit(*controller_, i, (5 * i + 3) % kRows).ok());
    }
    links_.assign(kLinks, {});
    for (dataplane::LinkCounters& link : links_) {
      if (random_() % 2 == 0) continue;
      link.packets = random_() % 4;
      link.bytes = 64 * (random_() % 5);
      link.occupancy = random_() % 3;
      link.occupancy_peak = link.occupancy;
      link.drops[random_() % dataplane::kDropReasons] = random_() % 3;
      link.busy_ns = random_() % 4;
    }
    const std::lock_guard lock(board_.mutex);
    board_.figures["dp0"].links.assign(links_.begin(), links_.begin() + kLinks / 2);
    board_.figures["dp1"].links.assign(links_.begin() + kLinks / 2, links_.end());
  }

  // Circuits over each link, from the rows of the circuits that are listed.
  std::vector<uint32_t> CircuitsOnLinks() {
    std::vector<uint32_t> counts(kLinks);
    for (const v1::Circuit& circuit : List(*controller_)) {
      for (int stage = 0; stage + 1 < circuit.rows_size(); ++stage) {
        const Row row = circuit.rows(stage), next = circuit.rows(stage + 1);
        const int port = network_.next_row(stage, row, 0) == next ? 0 : 1;
        ++counts[network_.link_index({stage, row, port})];
      }
    }
    return counts;
  }

  std::vector<uint32_t> SomeOf(uint32_t limit) {
    std::vector<uint32_t> numbers;
    for (uint32_t number = 0; number < limit; ++number) {
      if (random_() % 2 == 0) numbers.push_back(number);
    }
    std::shuffle(numbers.begin(), numbers.end(), random_);
    return random_() % 3 == 0 ? std::vector<uint32_t>() : numbers;
  }

  // Some numbers one by one, some as ranges that may overlap.
  v1::CounterFilter RandomFilter() {
    v1::CounterFilter filter;
    for (const uint32_t stage : SomeOf(8)) filter.add_stages(stage);
    for (const uint32_t row : SomeOf(kRows)) {
      if (random_() % 2 == 0) {
        filter.add_rows(row);
      } else {
        filter.add_row_ranges()->set_first(row);
        filter.mutable_row_ranges()->rbegin()->set_last(
            std::min<uint32_t>(kRows - 1, row + random_() % 3));
      }
    }
    for (const uint32_t port : SomeOf(2)) filter.add_ports(port);
    filter.set_nonzero(random_() % 2 == 0);
    return filter;
  }

  // Indexes of the links that the filter lets through, its `top` apart.
  std::vector<uint64_t> Chosen(const v1::CounterFilter& filter,
                               const std::vector<uint32_t>& circuits) const {
    const auto has = [](const auto& numbers, uint32_t number) {
      return std::find(numbers.begin(), numbers.end(), number) != numbers.end();
    };
    std::vector<uint64_t> chosen;
    for (uint64_t index = 0; index < kLinks; ++index) {
      const LinkId link = network_.link_at(index);
      const auto stage = static_cast<uint32_t>(link.stage);
      if (filter.stages_size() > 0 && !has(filter.stages(), stage)) continue;
      bool row = filter.rows_size() + filter.row_ranges_size() == 0 || has(filter.rows(), link.row);
      for (const v1::NumberRange& range : filter.row_ranges()) {
        row = row || (range.first() <= link.row && link.row <= range.last());
      }
      if (!row) continue;
      const auto port = static_cast<uint32_t>(link.port);
      if (filter.ports_size() > 0 && !has(filter.ports(), port)) continue;
      const bool used = dataplane::FigureOf(links_[index], dataplane::LinkFigure::kUse) != 0;
      if (filter.nonzero() && !used && circuits[index] == 0) continue;
      chosen.push_back(index);
    }
    return chosen;
  }

  absl::StatusOr<v1::Counters> Get(const v1::GetCountersRequest& request) {
    return Call(*controller_->telemetry, &v1::Telemetry::Stub::GetCounters, request);
  }

  std::vector<uint64_t> IndexesOf(const v1::Counters& counters) const {
    std::vector<uint64_t> indexes;
    for (const v1::LinkCounters& link : counters.links()) {
      indexes.push_back(network_.link_index(
          {static_cast<int>(link.stage()), link.row(), static_cast<int>(link.port())}));
    }
    return indexes;
  }

  void ExpectFigures(const v1::Counters& counters, const std::vector<uint32_t>& circuits) const {
    const std::vector<uint64_t> indexes = IndexesOf(counters);
    for (size_t i = 0; i < indexes.size(); ++i) {
      const v1::LinkCounters& link = counters.links(static_cast<int>(i));
      const dataplane::LinkCounters& expected = links_[indexes[i]];
      EXPECT_EQ(link.packets(), expected.packets);
      EXPECT_EQ(link.bytes(), expected.bytes);
      EXPECT_EQ(link.occupancy(), expected.occupancy);
      EXPECT_EQ(link.occupancy_peak(), expected.occupancy_peak);
      EXPECT_EQ(link.busy_ns(), expected.busy_ns);
      EXPECT_EQ(link.circuits(), circuits[indexes[i]]);
      uint64_t dropped = 0;
      for (const v1::DropCount& drop : link.drops()) dropped += drop.packets();
      EXPECT_EQ(dropped, dataplane::FigureOf(expected, dataplane::LinkFigure::kDrops));
    }
  }

  std::mt19937 random_{24};
  const Network network_ =
      *Network::Make({.kind = NetworkKind::kTwoFoldButterfly, .rows = kRows, .seed = 7});
  std::vector<dataplane::LinkCounters> links_;
  FakeBoard board_;
  TemporaryFolder directory_;
  std::unique_ptr<TestAgent> dp0_, dp1_;
  std::unique_ptr<TestController> controller_;
};

}  // namespace bfly::control

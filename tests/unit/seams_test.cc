// SPDX-License-Identifier: Apache-2.0
// The interfaces between control and the workers of a data plane, on plain threads: what control
// gives to a running worker, and what readers copy from a worker. ThreadSanitizer cannot observe
// lcores, but it observes these threads. The suite `control` runs this test under it.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "dataplane/core/route_table.h"
#include "dataplane/fabric/worker.h"
#include "dataplane/links/shape_table.h"
#include "dataplane/runtime/grace_period.h"
#include "dataplane/stages/packet_store.h"
#include "dataplane/stages/stage_counters.h"
#include "dataplane/telemetry/published.h"
#include "dataplane/traffic/sources.h"

namespace bfly::dataplane {
namespace {

constexpr double kHz = 1e9;

std::chrono::steady_clock::time_point InAMinute() {
  return std::chrono::steady_clock::now() + std::chrono::minutes(1);
}

TEST(Seams, WhatIsPublishedIsReadWhole) {
  struct Value {
    uint64_t words[9];
  };
  Published<Value> published;
  std::atomic<bool> stop{false};
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      uint64_t last = 0;
      while (!stop.load()) {
        const Value value = published.Read();
        for (const uint64_t word : value.words) ASSERT_EQ(word, value.words[0]);
        ASSERT_GE(value.words[0], last);
        last = value.words[0];
      }
    });
  }
  for (uint64_t n = 1; n <= 20'000; ++n) {
    Value value;
    for (uint64_t& word : value.words) word = n;
    published.Publish(value);
  }
  stop.store(true);
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(published.Read().words[8], 20'000u);
}

// Walks the links that the tag of a frame names, on every kind of network.
TEST(Seams, AFrameWithoutACircuitGoesToItsOutput) {
  const NetworkSpec specs[] = {
      {.kind = NetworkKind::kButterfly, .rows = 16},
      {.kind = NetworkKind::kButterfly, .rows = 16, .extra_stages = 3},
      {.kind = NetworkKind::kButterfly, .rows = 16, .extra_stages = 4},
      {.kind = NetworkKind::kWrappedButterfly, .rows = 16, .passes = 1},
      {.kind = NetworkKind::kWrappedButterfly, .rows = 16, .passes = 2},
      {.kind = NetworkKind::kTwoFoldButterfly, .rows = 16},
      {.kind = NetworkKind::kHypercube, .rows = 16},
      {.kind = NetworkKind::kRandomlyWiredButterfly, .rows = 16, .seed = 5},
      {.kind = NetworkKind::kBenes, .rows = 16},
      {.kind = NetworkKind::kDilatedButterfly, .rows = 16, .multiplicity = 3},
      {.kind = NetworkKind::kMultibutterfly, .rows = 16, .seed = 5, .multiplicity = 2}};
  for (const NetworkSpec& spec : specs) {
    const Network network = *Network::Make(spec);
    const RouteTable routes(network, WithoutCircuit::kBestEffort);
    for (Row input = 0; input < 16; ++input) {
      for (Row output = 0; output < 16; ++output) {
        Route route;
        ASSERT_TRUE(routes.Lookup(input, output, route));
        const Tag tag = FromWire(route.tag, network.tag_layout().bits());
        EXPECT_EQ(route.tag, ToWire(tag, network.tag_layout().bits()));
        const std::vector<Row> path = WalkTag(network, input, tag);
        EXPECT_EQ(path.back(), output)
            << "kind " << static_cast<int>(spec.kind) << ", input " << input;
        if (spec.kind == NetworkKind::kTwoFoldButterfly || spec.kind == NetworkKind::kBenes) {
          EXPECT_EQ(path[4], input) << "it goes straight through the first copy";
        }
      }
    }
  }
}

TEST(Seams, AWorkerSeesTheOldCircuitOrTheNewOne) {
  const Network network = *Network::Make({.kind = NetworkKind::kTwoFoldButterfly, .rows = 8});
  RouteTable routes(network, WithoutCircuit::kDrop);
  // Two paths of input 1 to output 5: by row 0 and by row 7 in the middle.
  const Tag by_0 = 0b000101, by_7 = 0b111101;
  std::atomic<bool> stop{false};
  std::atomic<int> found{0};
  std::thread worker([&] {
    while (!stop.load()) {
      Route route;
      if (!routes.Lookup(1, 5, route)) continue;
      ASSERT_TRUE(route.tag == ToWire(by_0, 6) || route.tag == ToWire(by_7, 6)) << route.tag;
      found.fetch_add(1);
    }
  });
  const auto deadline = InAMinute();
  for (int i = 0; found.load() < 10'000 && std::chrono::steady_clock::now() < deadline; ++i) {
    routes.Install(1, by_0);
    routes.Install(1, by_7);
    if (i % 10 == 0) routes.Remove(1);
  }
  stop.store(true);
  worker.join();
  EXPECT_GE(found.load(), 10'000);
}

// A plain word that its destructor overwrites. If a worker still reads it, that is a race.
struct Fragile {
  explicit Fragile(int* to_free) : freed(to_free) {}
  ~Fragile() {
    word = 0;
    ++*freed;
  }
  uint64_t word = 42;
  int* const freed;
};

TEST(Seams, NothingIsFreedThatAWorkerUses) {
  constexpr int kRounds = 2000;
  int freed = 0;
  std::shared_ptr<Fragile> current = std::make_shared<Fragile>(&freed);
  std::atomic<Fragile*> offered{current.get()};
  PassEpoch epochs[2];
  std::atomic<bool> stop{false};
  std::vector<std::thread> workers;
  for (PassEpoch& epoch : epochs) {
    epoch.Ask();
    workers.emplace_back([&] {
      const Fragile* in_use = nullptr;
      while (!stop.load(std::memory_order_relaxed)) {
        if (const uint64_t asked = epoch.asked(); !epoch.answered(asked)) {
          in_use = offered.load(std::memory_order_acquire);
          epoch.Answer(asked);
        }
        if (in_use != nullptr) {
          ASSERT_EQ(in_use->word, 42u);
        }
      }
      epoch.Leave();
    });
  }
  Retired retired;
  for (int i = 0; i < kRounds; ++i) {
    auto next = std::make_shared<Fragile>(&freed);
    offered.store(next.get(), std::memory_order_release);
    GracePeriod period;
    for (PassEpoch& epoch : epochs) period.Ask(&epoch);
    retired.Add(period, std::exchange(current, std::move(next)));
    // A call that hit its deadline leaves this to a later call.
    if (i % 3 != 0) {
      ASSERT_TRUE(period.Wait(InAMinute()));
    }
    retired.Collect();
  }
  stop.store(true);
  for (std::thread& worker : workers) worker.join();
  retired.Collect();
  EXPECT_EQ(retired.size(), 0u);
  EXPECT_EQ(freed, kRounds);
}

TEST(Seams, AGracePeriodLastsUntilEveryWorkerAnsweredOrLeft) {
  PassEpoch first, second;
  GracePeriod period;
  period.Ask(&first);
  period.Ask(&second);
  EXPECT_FALSE(period.over());
  first.Answer(first.asked());
  EXPECT_FALSE(period.over());
  EXPECT_FALSE(period.Wait(std::chrono::steady_clock::now()));
  second.Leave();
  EXPECT_TRUE(period.over());
  period.Ask(&first);
  EXPECT_FALSE(period.over()) << "a second question";
  int freed = 0;
  Retired retired;
  retired.Add(period, std::make_shared<Fragile>(&freed));
  retired.Collect();
  EXPECT_EQ(freed, 0);
  first.Answer(first.asked());
  retired.Collect();
  EXPECT_EQ(freed, 1);
}

class CountingSink final : public Outlet {
 public:
  int Send(const Descriptor*, int count, Ledger& ledger) override {
    ledger.delivered += static_cast<uint64_t>(count);
    return count;
  }
};

// A butterfly of four rows on a worker that a plain thread runs.
class RunningWorker : public testing::Test {
 protected:
  RunningWorker() {
    std::vector<Stage*> hops;
    for (int s = 0; s < 2; ++s) {
      stages_.push_back(std::make_unique<Stage>(network_, s));
      timed_.push_back(std::make_unique<TimedLinks>(
          stages_[s]->links(), network_.link_index({s, 0, 0}), &store_, &stages_[s]->cold(0), 1));
      hops.push_back(stages_[s].get());
      worker_.AddStage(stages_[s].get());
    }
    tables_.resize(2);
    segment_ = std::make_unique<Segment>(std::move(hops));
    segment_->AddInlet(inlet_, false);
    segment_->AddLane(Lane::ToEgress(&sink_));
    worker_.AddSegment(segment_.get());
    worker_.AddSources(inlet_);
  }
  ~RunningWorker() override {
    stop_.store(true);
    if (thread_.joinable()) thread_.join();
    worker_.DiscardTimed();
  }

  void Run() {
    thread_ = std::thread([this] {
      while (!stop_.load(std::memory_order_relaxed)) worker_.Pass();
      worker_.epoch()->Leave();
    });
  }
  void Offer(double delay_ns, uint32_t queue_limit) {
    LinkPlan plan;
    plan.base.delay_ns = delay_ns;
    plan.base.queue_limit = queue_limit;
    GracePeriod period;
    std::vector<std::shared_ptr<const ShapeTable>> before(2);
    for (int s = 0; s < 2; ++s) {
      auto table = std::make_shared<const ShapeTable>(plan, s, 4, 2, kHz);
      stages_[s]->OfferShapes(table.get(), timed_[s].get());
      before[s] = std::exchange(tables_[s], std::move(table));
    }
    period.Ask(worker_.epoch());
    for (auto& table : before) {
      if (table) retired_.Add(period, std::move(table));
    }
    ASSERT_TRUE(period.Wait(InAMinute()));
    retired_.Collect();
    EXPECT_EQ(retired_.size(), 0u);
  }
  std::vector<SourceConfig> SourcesOf(uint64_t id) const {
    SourceConfig source;
    source.rows = {0, 1, 2, 3};
    source.destination = SourceConfig::Destination::kUniform;
    source.packets = 1000;
    source.id = id;
    return {source};
  }
  Ledger ledger() const {
    uint64_t version;
    return worker_.account(version).ledger;
  }

  const Network network_ = *Network::Make({.kind = NetworkKind::kButterfly, .rows = 4});
  RouteTable routes_{network_, WithoutCircuit::kBestEffort};
  PacketStore store_{1 << 20};
  Sources sources_{network_, routes_};
  std::vector<std::unique_ptr<Stage>> stages_;
  std::vector<std::unique_ptr<TimedLinks>> timed_;
  std::vector<std::shared_ptr<const ShapeTable>> tables_;
  Retired retired_;
  std::unique_ptr<Segment> segment_;
  CountingSink sink_;
  Worker worker_{0, IdleMode::kPoll};
  SourceInlet* const inlet_ = sources_.AddInlet({}, worker_.epoch());
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

TEST_F(RunningWorker, TakesUpShapesAndSourcesWhileItRuns) {
  Run();
  std::vector<uint64_t> told(8);
  for (int i = 0; i < 100; ++i) {
    Offer(i % 3 == 0 ? 0 : 1000 * i, i % 2 == 0 ? 0 : 100);
    ASSERT_TRUE(sources_.Replace(SourcesOf(static_cast<uint64_t>(i / 2)), retired_).ok());
    stages_[0]->SetLinkUp(1, i % 5 != 0);
    const Ledger seen = ledger();
    EXPECT_EQ(seen.injected, seen.delivered + seen.dropped_total() + seen.held);
    EXPECT_EQ(sources_.counters().size(), 1u);
    for (uint32_t link = 0; link < 8; ++link) {
      const uint64_t packets = StageCounters(*stages_[0]).Of(link, 1).packets;
      EXPECT_LE(packets, 400'000u);
      EXPECT_GE(packets, std::exchange(told[link], packets)) << "a counter fell";
    }
  }
  ASSERT_TRUE(sources_.Replace({}, retired_).ok());
  const auto deadline = InAMinute();
  while (ledger().held > 0 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
  EXPECT_GT(ledger().delivered, 0u);
  EXPECT_EQ(ledger().held, 0u);
}

}  // namespace
}  // namespace bfly::dataplane

// SPDX-License-Identifier: Apache-2.0
// Stages in a row whose links take time, carried by a segment in passes at any moments, against a
// plain simulation that knows no passes: one queue of events for the whole network. One tick is a
// nanosecond here.
#include <gtest/gtest.h>
#include <rte_cycles.h>

#include <algorithm>
#include <map>
#include <memory>
#include <queue>
#include <random>
#include <tuple>
#include <vector>

#include "dataplane/core/inlet.h"
#include "dataplane/fabric/worker.h"
#include "dataplane/stages/fused_stages.h"
#include "dataplane/stages/segment.h"
#include "dataplane/stages/stage_counters.h"
#include "topologies/tag.h"

namespace bfly::dataplane {
namespace {

constexpr double kTickHz = 1e9;
constexpr uint32_t kRows = 8;
constexpr uint32_t kLinksOfStage = 2 * kRows;

struct Sent {
  uint64_t time;  // no two packets have the same
  Row input, output;
  uint16_t bytes;
};

class ListInlet final : public Inlet {
 public:
  int Receive(Descriptor* burst, int room, Ledger& ledger) override {
    int count = 0;
    for (; count < room && next < packets.size() && packets[next].time <= until; ++count) {
      burst[count] = packets[next++];
    }
    ledger.injected += static_cast<uint64_t>(count);
    return count;
  }

  uint64_t NextDue() const override { return next < packets.size() ? packets[next].time : ~0ull; }

  std::vector<Descriptor> packets;
  uint64_t until = 0;
  size_t next = 0;
};

class ListSink final : public Outlet {
 public:
  int Send(const Descriptor* burst, int count, Ledger& ledger) override {
    for (int i = 0; i < count; ++i) {
      EXPECT_TRUE(arrived.emplace(uint64_t{burst[i].time}, ArrivalOf(burst[i])).second);
      EXPECT_GE(ArrivalOf(burst[i]), last) << "out of order";
      last = ArrivalOf(burst[i]);
    }
    ledger.delivered += static_cast<uint64_t>(count);
    return count;
  }

  std::map<uint64_t, uint64_t> arrived;  // by birth
  uint64_t last = 0;
};

// A butterfly on one segment, with one or two inlets.
class Line {
 public:
  Line(const Network& network, const LinkPlan& plan, size_t store_bytes = 1 << 20,
       size_t inlets = 2)
      : network_(network), store_(store_bytes), inlets_(inlets) {
    std::vector<Stage*> hops;
    for (int s = 0; s < network.stages(); ++s) {
      Stage* const stage = stages.emplace_back(std::make_unique<Stage>(network, s)).get();
      tables_.push_back(std::make_unique<ShapeTable>(plan, s, network.rows(), 2, kTickHz));
      timed.push_back(std::make_unique<TimedLinks>(stage->links(), network.link_index({s, 0, 0}),
                                                   &store_, &stage->cold(0), 1));
      stage->OfferShapes(tables_.back().get(), timed.back().get());
      stage->AdoptShapes(0);
      hops.push_back(stage);
    }
    segment = std::make_unique<Segment>(std::move(hops));
    for (ListInlet& inlet : inlets_) segment->AddInlet(&inlet, false);
    segment->AddLane(Lane::ToEgress(&sink));
  }

  void Offer(const std::vector<Sent>& packets) {
    for (size_t i = 0; i < packets.size(); ++i) {
      const Sent& sent = packets[i];
      inlets_[i % inlets_.size()].packets.push_back(
          {.tag =
               ToWire(GreedyTag(network_, sent.input, sent.output), network_.tag_layout().bits()),
           .mbuf = nullptr,
           .time = sent.time,
           .row = sent.input,
           .bytes = sent.bytes,
           .input = 0});
    }
  }

  // A pass at `now` that finds what came by `until`.
  void Pass(uint64_t now, uint64_t until, bool early) {
    for (ListInlet& inlet : inlets_) inlet.until = until;
    segment->OpenRoom();
    if (early) segment->TakeInEarly(account);
    segment->RunTimed(now, account, lateness);
    segment->Settle(account);
    const Ledger& ledger = account.ledger;
    EXPECT_EQ(ledger.injected, ledger.delivered + ledger.dropped_total() + held());
    for (size_t s = 0; s < stages.size(); ++s) {
      uint64_t on_links = 0;
      for (uint32_t link = 0; link < kLinksOfStage; ++link) {
        on_links += stages[s]->cold(link).occupancy.load();
      }
      EXPECT_EQ(on_links, timed[s]->held()) << "stage " << s;
    }
  }

  uint64_t held() const {
    uint64_t sum = segment->held();
    for (const auto& links : timed) sum += links->held();
    return sum;
  }

  std::vector<std::unique_ptr<Stage>> stages;
  std::vector<std::unique_ptr<TimedLinks>> timed;
  std::unique_ptr<Segment> segment;
  ListSink sink;
  Account account;
  LatenessMeter lateness;

 private:
  const Network& network_;
  PacketStore store_;
  std::vector<std::unique_ptr<ShapeTable>> tables_;
  std::vector<ListInlet> inlets_;
};

struct Carried {
  std::map<uint64_t, uint64_t> arrived;  // by birth
  // By stage and link: packets that came, bytes that the link took, drops, ns.
  std::vector<std::vector<uint64_t>> came, bytes, full, busy;
};

// Takes one arrival after the other, wherever it is. Arrivals of one moment are taken in the order
// in which they became known.
Carried Simulate(const Network& network, const LinkPlan& plan, const std::vector<Sent>& packets) {
  struct Arrival {
    uint64_t time, known;
    int stage;
    Row row;
    size_t packet;
    bool operator>(const Arrival& other) const {
      return std::tie(time, known) > std::tie(other.time, other.known);
    }
  };
  const auto stages = static_cast<size_t>(network.stages());
  const std::vector<std::vector<uint64_t>> zeros(stages, std::vector<uint64_t>(kLinksOfStage));
  Carried expected{.arrived = {}, .came = zeros, .bytes = zeros, .full = zeros, .busy = zeros};
  // By stage and link: when each packet that the link took begins to be sent, and when all are
  // sent.
  std::vector<std::vector<std::vector<uint64_t>>> begins(
      stages, std::vector<std::vector<uint64_t>>(kLinksOfStage));
  std::vector<std::vector<uint64_t>> free = zeros;
  std::priority_queue<Arrival, std::vector<Arrival>, std::greater<>> arrivals;
  uint64_t known = 0;
  for (size_t i = 0; i < packets.size(); ++i) {
    arrivals.push({packets[i].time, known++, 0, packets[i].input, i});
  }
  for (; !arrivals.empty(); arrivals.pop()) {
    const Arrival arrival = arrivals.top();
    const Sent& packet = packets[arrival.packet];
    if (arrival.stage == network.stages()) {
      expected.arrived[packet.time] = arrival.time;
      continue;
    }
    const auto stage = static_cast<size_t>(arrival.stage);
    const uint32_t mask = network.wiring(arrival.stage).mask;
    const int port = (packet.output & mask) != 0 ? 1 : 0;
    const uint32_t link = arrival.row * 2 + static_cast<uint32_t>(port);
    const LinkShape shape = plan.Of({arrival.stage, arrival.row, port});
    ++expected.came[stage][link];
    const auto waiting = std::count_if(begins[stage][link].begin(), begins[stage][link].end(),
                                       [&](uint64_t begin) { return begin > arrival.time; });
    if (shape.queue_limit != 0 && waiting >= shape.queue_limit) {
      ++expected.full[stage][link];
      continue;
    }
    expected.bytes[stage][link] += packet.bytes;
    const uint64_t begin = std::max(arrival.time, free[stage][link]);
    const uint64_t sending =
        shape.bits_per_second == 0 ? 0 : packet.bytes * 8'000'000'000 / shape.bits_per_second;
    begins[stage][link].push_back(begin);
    free[stage][link] = begin + sending;
    expected.busy[stage][link] += sending;
    arrivals.push({begin + sending + static_cast<uint64_t>(shape.delay_ns), known++,
                   arrival.stage + 1, (arrival.row & ~mask) | (packet.output & mask),
                   arrival.packet});
  }
  return expected;
}

// Stages of equal links, stages where one link differs, and sometimes one that takes no time.
// `long_delay` is that of stage 0 or 1; 0: of neither.
LinkPlan DrawPlan(std::mt19937& random, int stages, uint64_t long_delay) {
  // Whole nanoseconds a byte.
  const uint64_t rates[] = {8'000'000'000, 8'000'000'000, 4'000'000'000, 1'000'000'000, 0};
  const uint64_t delays[] = {0, 0, 64, 1024, 20'480};
  const uint32_t limits[] = {0, 0, 1, 3, 20};
  LinkPlan plan;
  const int slow = static_cast<int>(random() % 2);
  for (int s = 0; s < stages; ++s) {
    LinkRule rule{.first_stage = s, .last_stage = s, .first_row = 0, .last_row = kRows - 1};
    rule.bits_per_second = rates[random() % 5];
    rule.delay_ns = s == slow && long_delay != 0 ? long_delay : delays[random() % 5];
    rule.queue_limit = limits[random() % 5];
    plan.rules.push_back(rule);
    if (random() % 4 != 0) continue;
    rule.first_row = rule.last_row = static_cast<Row>(random() % kRows);
    rule.bits_per_second = 500'000'000;
    plan.rules.push_back(rule);
  }
  return plan;
}

void Compare(const Line& line, const Carried& expected) {
  ASSERT_EQ(line.sink.arrived, expected.arrived);
  EXPECT_EQ(line.held(), 0u);
  for (size_t s = 0; s < line.stages.size(); ++s) {
    for (uint32_t link = 0; link < kLinksOfStage; ++link) {
      SCOPED_TRACE(testing::Message() << "stage " << s << " link " << link);
      const LinkCounters told = StageCounters(*line.stages[s]).Of(link, 1);
      EXPECT_EQ(told.packets, expected.came[s][link] - expected.full[s][link]);
      EXPECT_EQ(told.bytes, expected.bytes[s][link]);
      if (line.stages[s]->timed() == nullptr) continue;
      const LinkCold& cold = line.stages[s]->cold(link);
      EXPECT_EQ(cold.queue_full.load(), expected.full[s][link]);
      EXPECT_EQ(cold.occupancy.load(), 0u);
      EXPECT_LE(cold.peak.load(), expected.came[s][link]);
      EXPECT_EQ(line.timed[s]->counters(link).BusyBy(UINT64_MAX), expected.busy[s][link]);
    }
  }
}

void CompareSeed(uint32_t seed) {
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const Network network = *Network::Make({.kind = NetworkKind::kButterfly, .rows = kRows});
  // Either few packets, or so many that several batches leave a stage in one pass: then the last of
  // them has come before any of them crosses the whole network. A worker that cannot keep up is
  // late, which is not the question here.
  const bool many = seed % 3 == 0;
  const size_t count = many ? 700 : 200;
  // Often packets from several links arrive at one moment.
  const uint64_t grid = seed % 2 == 0 ? 64 : 1;
  std::vector<Sent> packets;
  uint64_t time = 1024;
  for (size_t i = 0; i < count; ++i) {
    time += grid * (1 + (random() % 3 == 0 ? random() % (many ? 50 : 2000) / grid : random() % 5));
    packets.push_back(
        {time, static_cast<Row>(random() % kRows), static_cast<Row>(random() % kRows),
         static_cast<uint16_t>(64 * (1 + random() % 2) +
                               (random() % 2 == 0 ? 0 : grid * (random() % 1400 / grid)))});
  }
  const LinkPlan plan = DrawPlan(random, network.stages(), many ? time / 64 * 64 : 0);
  Line line(network, plan);
  line.Offer(packets);
  for (size_t i = 0; i < count;) {
    // What comes in a pass, at most 200 packets, may come after the clock was read.
    i = std::min(count, i + 1 + random() % 200);
    const uint64_t last = packets[i - 1].time;
    uint64_t now = random() % 4 == 0 ? last - random() % 50 : last + random() % 300;
    if (i == count && random() % 2 == 0) now += 2 * time;
    while (i < count && packets[i].time <= now) ++i;
    line.Pass(now, packets[i - 1].time, random() % 2 == 0);
  }
  time += 2 * time + 300;
  for (int pass = 0; pass < 10; ++pass) line.Pass(time += random() % 30'000, UINT64_MAX, true);
  for (int pass = 0; pass < 10; ++pass) line.Pass(UINT64_MAX / 2, UINT64_MAX, true);

  Compare(line, Simulate(network, plan, packets));
}

TEST(TimedSegment, CarriesPacketsAsTheSimulationDoesWheneverThePassesAre) {
  for (uint32_t seed = 0; seed < 600 && !testing::Test::HasFailure(); ++seed) CompareSeed(seed);
}

// All packets came long before the first pass, which takes in a part of them.
TEST(TimedSegment, ServesPacketsInTimeHoweverFarBehindItsOnlyInletIs) {
  const Network network = *Network::Make({.kind = NetworkKind::kButterfly, .rows = kRows});
  for (uint32_t seed = 0; seed < 100; ++seed) {
    std::mt19937 random(seed);
    std::vector<Sent> packets;
    for (uint64_t time = 1024; packets.size() < 600;) {
      packets.push_back({time += 1 + random() % 100, static_cast<Row>(random() % kRows),
                         static_cast<Row>(random() % kRows),
                         static_cast<uint16_t>(64 + random() % 600)});
    }
    const LinkPlan plan = DrawPlan(random, network.stages(), 0);
    Line line(network, plan, 1 << 20, 1);
    line.Offer(packets);
    for (uint64_t now = 5'000'000; now < 5'000'020; ++now) line.Pass(now, now, seed % 2 == 0);
    Compare(line, Simulate(network, plan, packets));
  }
}

// Packets are put into the packet store if a later pass lets them go on, and only then.
TEST(TimedSegment, NeedsNoMemoryForPacketsThatLeaveWithinTheirPass) {
  const Network network = *Network::Make({.kind = NetworkKind::kButterfly, .rows = kRows});
  const LinkPlan plan{.base = {.bits_per_second = 8'000'000'000}, .rules = {}};
  Line line(network, plan, 2 * sizeof(StoredPacket));  // one packet, as entry 0 is not used
  std::vector<Sent> packets;
  for (uint32_t i = 0; i < 100; ++i) packets.push_back({1000 + i, 0, 7, 100});
  line.Offer(packets);
  line.Pass(50'000, 50'000, true);
  EXPECT_EQ(line.sink.arrived.size(), 100u);
  // All of them were on the first link together, and 100 bytes take 100 ns.
  EXPECT_EQ(line.stages[0]->cold(1).peak.load(), 100u);
  EXPECT_EQ(line.sink.last, 1000u + (100 + 2) * 100);
}

// Three stages may be crossed in one step until the links of one of them take time.
TEST(TimedSegment, NeverCrossesAStageThatTakesTimeInOneStepWithOthers) {
  const Network network = *Network::Make({.kind = NetworkKind::kButterfly, .rows = kRows});
  for (int slow = 0; slow < 3; ++slow) {
    const LinkPlan plan{
        .base = {},
        .rules = {
            {.first_stage = slow, .last_stage = slow, .last_row = kRows - 1, .delay_ns = 700}}};
    Line line(network, plan);
    std::vector<Stage*> all;
    for (const auto& stage : line.stages) all.push_back(stage.get());
    FusedStages fused(network, 0, all, {0, kRows - 1});
    line.segment->Fuse(0, &fused);
    line.Offer({{1000, 2, 5, 100}, {1001, 3, 0, 100}});
    line.Pass(1500, 1500, false);
    EXPECT_EQ(line.held(), 2u) << "stage " << slow << " takes no time";
    line.Pass(2000, 2000, false);
    EXPECT_EQ(line.sink.arrived, (std::map<uint64_t, uint64_t>{{1000, 1700}, {1001, 1701}}));
  }
}

class NowInlet final : public Inlet {
 public:
  int Receive(Descriptor* burst, int, Ledger& ledger) override {
    if (given) return 0;
    given = true;
    *burst = {.tag = kWireTagDone >> 3,
              .mbuf = nullptr,
              .time = rte_rdtsc(),
              .row = 0,
              .bytes = 64,
              .input = 0};
    ++ledger.injected;
    return 1;
  }
  bool given = false;
};

// The worker reads the clock after packets came in. The links take a tick each, which is less than
// it takes to read the clock.
TEST(TimedSegment, LetsAWorkerCarryPacketsInThePassInWhichTheyCome) {
  const Network network = *Network::Make({.kind = NetworkKind::kButterfly, .rows = kRows});
  Line line(network, {.base = {.delay_ns = 1}, .rules = {}});
  Segment segment({line.stages[0].get(), line.stages[1].get(), line.stages[2].get()});
  NowInlet inlet;
  segment.AddInlet(&inlet, false);
  segment.AddLane(Lane::ToEgress(&line.sink));
  Worker worker(0, IdleMode::kPoll);
  for (const auto& stage : line.stages) worker.AddStage(stage.get());
  worker.AddSegment(&segment);
  worker.epoch()->Ask();
  EXPECT_TRUE(worker.Pass());
  EXPECT_EQ(line.sink.arrived.size(), 1u);
  EXPECT_EQ(line.held(), 0u);
}

// A packet that is being sent does not wait, and without a rate sending takes no time.
TEST(TimedSegment, AQueueLimitWithoutARateDropsNothing) {
  const Network network = *Network::Make({.kind = NetworkKind::kButterfly, .rows = kRows});
  const LinkPlan plan{.base = {.delay_ns = 5000, .queue_limit = 1}, .rules = {}};
  for (const bool at_once : {false, true}) {
    Line line(network, plan);
    std::vector<Sent> packets;
    for (uint32_t i = 0; i < 200; ++i) packets.push_back({1000 + i, 4, 1, 1500});
    line.Offer(packets);
    for (uint64_t now = at_once ? 40'000 : 1000; now <= 40'000; now += 100) {
      line.Pass(now, now, false);
    }
    EXPECT_EQ(line.sink.arrived.size(), 200u);
    for (const auto& [birth, arrival] : line.sink.arrived) EXPECT_EQ(arrival, birth + 3 * 5000);
  }
}

}  // namespace
}  // namespace bfly::dataplane

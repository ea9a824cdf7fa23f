// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/top/link_rates.h"
#include "control/top/sample.h"
#include "control/top/sample_json.h"
#include "control/top/stages_text.h"
#include "control/top/view.h"
#include "tests/unit/top_fixture.h"

namespace bfly::control {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST(TopSample, RatesAreWhatGrewOverTheTimeBetweenTheTwo) {
  Answers before = TopAnswers(4, 2, 10), now = TopAnswers(4, 2, 12);
  AddTopLink(before, 1, 3, 0, 100);
  AddTopLink(now, 1, 3, 0, 300);
  AddTopLink(now, 0, 2, 1, 50);  // was not there before: had carried nothing
  const Sample sample = MakeSample(now, &before, {});
  ASSERT_THAT(sample.links, SizeIs(2));
  EXPECT_EQ(sample.links[0].stage, 0u);  // in the order of places
  EXPECT_THAT(sample.links[0].packets_per_second, DoubleEq(25));
  EXPECT_THAT(sample.links[1].packets_per_second, DoubleEq(100));
  EXPECT_THAT(sample.links[1].bits_per_second, DoubleEq(100 * 100 * 8));
  EXPECT_EQ(sample.links[1].packets, 300u);
  // Neither has a rate, so their packets are beside those of the busiest.
  EXPECT_THAT(sample.busiest, DoubleEq(100));
  EXPECT_FLOAT_EQ(sample.links[0].heat, 0.25);
  EXPECT_FLOAT_EQ(sample.links[1].heat, 1);
  EXPECT_FALSE(sample.links[1].utilisation);
}

TEST(TopSample, TheFirstHasCountsAndNoRates) {
  Answers now = TopAnswers(4, 2, 10);
  AddTopLink(now, 0, 0, 0, 300).set_circuits(2);
  const Sample sample = MakeSample(now, nullptr, {});
  ASSERT_THAT(sample.links, SizeIs(1));
  EXPECT_EQ(sample.links[0].packets_per_second, 0);
  EXPECT_EQ(sample.links[0].circuits, 2u);
  EXPECT_EQ(sample.seconds, 0);
}

TEST(TopSample, UtilisationIsTheTimeALinkWithARateWasSending) {
  Answers before = TopAnswers(4, 2, 10), now = TopAnswers(4, 2, 14);
  AddTopRate(now, "1", "2-3", "10Mbps");
  AddTopLink(before, 1, 2, 0, 100).set_busy_ns(kTopSecond);
  AddTopLink(now, 1, 2, 0, 500).set_busy_ns(2 * kTopSecond);  // one second of four
  AddTopLink(now, 1, 3, 1, 500).set_busy_ns(5 * kTopSecond);  // read a second later
  AddTopLink(now, 0, 2, 0, 400);
  const Sample sample = MakeSample(now, &before, {});
  ASSERT_THAT(sample.links, SizeIs(3));
  EXPECT_FALSE(sample.links[0].utilisation);
  EXPECT_EQ(sample.links[0].rate, 0u);
  EXPECT_THAT(*sample.links[1].utilisation, DoubleEq(0.25));
  EXPECT_EQ(sample.links[1].rate, 10'000'000u);
  EXPECT_FLOAT_EQ(sample.links[1].heat, 0.25);
  EXPECT_THAT(*sample.links[2].utilisation, DoubleEq(1));
  EXPECT_THAT(sample.busiest, DoubleEq(100));  // of links without a rate
  EXPECT_TRUE(sample.has_rates);
}

TEST(TopSample, AStageIsTheSumOfItsLinksAndNamesItsHottest) {
  Answers before = TopAnswers(4, 3, 1), now = TopAnswers(4, 3, 2);
  for (const uint32_t row : {0u, 1u, 2u}) {
    v1::LinkCounters& link = AddTopLink(now, 1, row, 1, 10 * (row + 1));
    link.set_occupancy(row);
    link.set_circuits(3 - row);
    link.add_drops()->set_packets(row);
  }
  const Sample sample = MakeSample(now, &before, {});
  ASSERT_THAT(sample.by_stage, SizeIs(3));
  const StageSample& stage = sample.by_stage[1];
  EXPECT_THAT(stage.packets_per_second, DoubleEq(10 + 20 + 30));
  EXPECT_THAT(stage.drops_per_second, DoubleEq(0 + 1 + 2));
  EXPECT_EQ(stage.queued, 3u);
  EXPECT_EQ(stage.circuits, 3u);
  ASSERT_TRUE(stage.hottest);
  EXPECT_EQ(sample.links[*stage.hottest].row, 2u);
  EXPECT_FALSE(sample.by_stage[0].hottest);
}

TEST(TopSample, APartHasItsOwnStagesAndRowsAlone) {
  Answers now = TopAnswers(16, 4, 1);
  AddTopLink(now, 2, 9, 0, 1);
  AddTopLink(now, 2, 8, 1, 1);  // not asked for
  AddTopLink(now, 0, 9, 1, 1);  // not asked for
  const Sample sample =
      MakeSample(now, nullptr, {.stages = {2, 3, 7}, .rows = {4, 9, 99}, .ports = {}});
  ASSERT_THAT(sample.links, SizeIs(1));
  EXPECT_EQ(sample.links[0].row, 9u);
  ASSERT_THAT(sample.by_stage, SizeIs(2));
  EXPECT_EQ(sample.by_stage[1].stage, 3u);
  EXPECT_EQ(sample.shown_rows(), 2u);
  EXPECT_THAT(HeatOf(sample, 2), SizeIs(4));
}

TEST(TopSample, APartHasItsOwnPortsAlone) {
  Answers before = TopAnswers(2, 1, 1), now = TopAnswers(2, 1, 2);
  AddTopLink(now, 0, 0, 0, 90);  // not asked for
  AddTopLink(now, 0, 0, 1, 10);
  AddTopLink(now, 0, 1, 1, 20);
  const Sample sample = MakeSample(now, &before, {.stages = {}, .rows = {}, .ports = {1, 2}});
  EXPECT_THAT(sample.links, SizeIs(2));
  EXPECT_EQ(sample.shown_ports(), 1u);
  EXPECT_DOUBLE_EQ(sample.by_stage[0].packets_per_second, 30);
  EXPECT_THAT(HeatOf(sample, 0), ElementsAre(0.5f, 1.0f));
}

TEST(TopSample, APartIsWhatTheFabricHasOfItAndNeverAllForNone) {
  const v1::FabricStatus fabric = TopAnswers(8, 3, 1).fabric;
  const auto some = PartOf(fabric, {.stages = {2, 3}, .rows = {7, 8, 100}, .ports = {}});
  ASSERT_TRUE(some.ok()) << some.status();
  EXPECT_THAT(some->stages, ElementsAre(2));
  EXPECT_THAT(some->rows, ElementsAre(7));
  EXPECT_THAT(some->ports, IsEmpty());
  const auto none = PartOf(fabric, {.stages = {}, .rows = {100}, .ports = {}});
  EXPECT_EQ(none.status().message(), "the fabric has none of the rows asked for; it has 0 to 7");
}

TEST(TopSample, LinksOutsideTheNetworkAreLeftOut) {
  Answers now = TopAnswers(4, 2, 1);
  AddTopLink(now, 2, 0, 0, 1);
  AddTopLink(now, 0, 4, 0, 1);
  AddTopLink(now, 0, 0, 2, 1);
  EXPECT_THAT(MakeSample(now, nullptr, {}).links, IsEmpty());
}

TEST(TopSample, AnotherFabricAndCountsThatFellBeginAnew) {
  Answers before = TopAnswers(4, 2, 10), now = TopAnswers(4, 2, 12);
  AddTopLink(before, 0, 0, 0, 500);
  AddTopLink(now, 0, 0, 0, 60);
  EXPECT_THAT(MakeSample(now, &before, {}).links[0].packets_per_second, DoubleEq(30));
  before.fabric.set_name("another");
  EXPECT_EQ(MakeSample(now, &before, {}).links[0].packets_per_second, 0);
}

TEST(TopSample, ALinkThatABusiestListDidNotHaveHasNoRateYet) {
  Answers before = TopAnswers(4, 2, 10), now = TopAnswers(4, 2, 12);
  before.every_link = now.every_link = false;
  AddTopLink(now, 0, 0, 0, 500);
  EXPECT_EQ(MakeSample(now, &before, {}).links[0].packets_per_second, 0);
}

v1::WorkerStatus& AddTopWorker(Answers& answers, uint64_t busy, uint64_t hops) {
  if (answers.fabric.data_planes().empty()) answers.fabric.add_data_planes()->set_name("dp0");
  v1::WorkerStatus& worker = *answers.fabric.mutable_data_planes(0)->add_workers();
  worker.set_lcore(3);
  for (const uint32_t stage : {2u, 0u, 1u}) worker.add_stages(stage);
  worker.mutable_cost()->set_tsc_hz(1000);
  worker.mutable_cost()->set_busy_cycles(busy);
  worker.mutable_cost()->set_hops(hops);
  worker.mutable_cost()->set_frames(hops / 2);
  worker.mutable_cost()->set_polls(2 * hops);
  worker.mutable_cost()->set_empty_polls(hops / 2);
  return worker;
}

TEST(TopSample, AWorkerIsBusyForItsCyclesOverTheClocks) {
  Answers before = TopAnswers(4, 3, 10), now = TopAnswers(4, 3, 12);
  AddTopWorker(before, 1000, 400);
  AddTopWorker(now, 1500, 500);  // half a second of two
  const Sample sample = MakeSample(now, &before, {});
  ASSERT_THAT(sample.workers, SizeIs(1));
  EXPECT_EQ(sample.workers[0].stages, "0-2");
  EXPECT_THAT(*sample.workers[0].busy, DoubleEq(0.25));
  EXPECT_THAT(sample.workers[0].cycles_per_hop, DoubleEq(5));
  EXPECT_THAT(sample.workers[0].hops_per_second, DoubleEq(50));
  EXPECT_THAT(*sample.workers[0].empty_polls, DoubleEq(0.25));
}

TEST(TopSample, StagesOfAWorkerAreToldWithTheirRowsIfTheseDiffer) {
  Answers now = TopAnswers(16, 4, 10);
  v1::WorkerStatus& worker = AddTopWorker(now, 0, 0);
  const auto place = [&worker](const char* stages, const char* rows) {
    v1::PlacedStages& placed = *worker.add_placed();
    placed.set_stages(stages);
    placed.set_rows(rows);
  };
  EXPECT_EQ(StagesText(worker), "stages 0-2") << "as a data plane of an older version tells them";
  worker.set_rows("0-7");
  place("0-1", "0-7");
  EXPECT_EQ(StagesText(worker), "stages 0-1 of rows 0-7");
  EXPECT_EQ(MakeSample(now, nullptr, {}).workers[0].rows, "0-7");
  EXPECT_EQ(MakeSample(now, nullptr, {}).workers[0].placed, "");
  place("2", "");
  worker.clear_rows();
  EXPECT_EQ(StagesText(worker), "stages 0-1 of rows 0-7, stages 2");
  EXPECT_EQ(MakeSample(now, nullptr, {}).workers[0].placed, "stages 0-1 of rows 0-7, stages 2");
  worker.clear_stages();
  worker.clear_placed();
  EXPECT_EQ(StagesText(worker), "");
  EXPECT_EQ(MakeSample(now, nullptr, {}).workers[0].rows, "") << "it only polls ports";
}

TEST(TopSample, AWorkerThatWasStartedAnewCountsFromZero) {
  Answers before = TopAnswers(4, 3, 10), now = TopAnswers(4, 3, 12);
  AddTopWorker(before, 1000, 400);
  AddTopWorker(now, 500, 100);
  EXPECT_THAT(*MakeSample(now, &before, {}).workers[0].busy, DoubleEq(0.25));
}

TEST(TopSample, PortsHaveRatesInBitsAndWhatTheirDevicesMissed) {
  Answers before = TopAnswers(4, 3, 10), now = TopAnswers(4, 3, 12);
  for (Answers* const answers : {&before, &now}) {
    v1::PortCounters& port = *answers->counters.add_ports();
    port.set_name("p\x1b[2J");  // what a name may not do to the terminal
    port.set_rx_packets(answers == &now ? 30 : 10);
    port.set_rx_bytes(answers == &now ? 3000 : 1000);
    port.set_rx_missed(answers == &now ? 8 : 2);
  }
  const Sample sample = MakeSample(now, &before, {});
  ASSERT_THAT(sample.host_ports, SizeIs(1));
  EXPECT_EQ(sample.host_ports[0].name, "p?[2J");
  EXPECT_THAT(sample.host_ports[0].rx_per_second, DoubleEq(10));
  EXPECT_THAT(sample.host_ports[0].rx_bits, DoubleEq(8000));
  EXPECT_THAT(sample.missed, DoubleEq(3));
}

TEST(TopSample, AsJsonHasTheSameFiguresAndLeavesOutWhatIsNotKnown) {
  Answers before = TopAnswers(4, 2, 10), now = TopAnswers(4, 2, 12);
  AddTopLink(now, 1, 3, 0, 300);
  now.counters.mutable_conservation()->set_injected(7);
  const nlohmann::ordered_json json = SampleJson(MakeSample(now, &before, {}));
  EXPECT_EQ(json["links"].size(), 1u);
  EXPECT_EQ(json["links"][0]["packets"], 300);
  EXPECT_EQ(json["links"][0]["packets_per_second"], 150);
  EXPECT_FALSE(json["links"][0].contains("utilisation"));
  EXPECT_EQ(json["stages"][1]["hottest"]["row"], 3);
  EXPECT_EQ(json["conservation"]["injected"], 7);
}

TEST(TopSample, AsJsonHasWhatTheViewsShow) {
  Sample sample;
  sample.stages = 4;
  sample.missed = 1.5;
  sample.drops.emplace_back().set_reason("queue_full");
  sample.drops[0].set_packets(7);
  WorkerSample& worker = sample.workers.emplace_back();
  worker.ring = 3;
  worker.ring_peak = 9;
  worker.ring_capacity = 1023;
  worker.costs.emplace_back().set_first_stage(2);
  PortSample& port = sample.host_ports.emplace_back();
  port.missed_per_second = 2.5;
  port.queue_pairs = 6;
  sample.circuit_counts.set_blocked(11);
  sample.sources.emplace_back().set_packets(13);
  sample.latency.mutable_late()->set_p99(17);
  v1::StageLatency& stage = *sample.latency.add_stages();
  stage.set_stage(1);
  stage.mutable_latency()->set_p50(19);
  const nlohmann::ordered_json json = SampleJson(sample);
  EXPECT_EQ(json["stage_count"], 4);
  EXPECT_EQ(json["missed_per_second"], 1.5);
  EXPECT_EQ(json["drops"][0]["reason"], "queue_full");
  EXPECT_EQ(json["drops"][0]["packets"], 7);
  EXPECT_EQ(json["workers"][0]["ring"],
            (nlohmann::ordered_json{{"packets", 3}, {"peak", 9}, {"capacity", 1023}}));
  EXPECT_EQ(json["workers"][0]["costs"][0]["first_stage"], 2);
  EXPECT_EQ(json["ports"][0]["missed_per_second"], 2.5);
  EXPECT_EQ(json["ports"][0]["queue_pairs"], 6);
  EXPECT_EQ(json["circuit_counts"]["blocked"], 11);
  EXPECT_EQ(json["sources"][0]["packets"], 13);
  EXPECT_EQ(json["latency"]["late"]["p99"], 17);
  EXPECT_EQ(json["latency"]["stages"][0]["stage"], 1);
  EXPECT_EQ(json["latency"]["stages"][0]["p50"], 19);
}

TEST(TopSample, SaysWhyItHasNoLatencies) {
  Answers answers = TopAnswers(4, 2, 10);
  const auto foot = [&answers] {
    std::string text;
    for (const Line& line : DrawLatency(MakeSample(answers, nullptr, {}), {}, {}).foot)
      text += PlainText(line);
    return text;
  };
  EXPECT_THAT(foot(), HasSubstr("started with --latency"));
  EXPECT_TRUE(MakeSample(answers, nullptr, {}).problems.empty());
  answers.traffic_problem = "data plane dp0: it does not answer";
  EXPECT_EQ(foot(), "");
  EXPECT_THAT(MakeSample(answers, nullptr, {}).problems,
              ElementsAre("sources and latencies are missing: data plane dp0: it does not answer"));
}

TEST(LinkRates, AreThoseOfTheGroupThatHasTheLink) {
  Answers answers;
  AddTopRate(answers, "0-1", "", "10Mbps").set_ports("1");
  AddTopRate(answers, "", "4-7", "1Gbps");
  AddTopRate(answers, "2", "", "none");
  AddTopRate(answers, "what", "", "1Gbps");  // cannot be read
  const LinkRates rates(answers.links, 3);
  EXPECT_EQ(rates.Of(0, 0, 1), 10'000'000u);
  EXPECT_EQ(rates.Of(0, 0, 0), 0u);
  EXPECT_EQ(rates.Of(2, 5, 0), 1'000'000'000u);
  EXPECT_EQ(rates.Of(2, 3, 0), 0u);
  EXPECT_EQ(rates.Of(3, 5, 0), 0u);
}

}  // namespace
}  // namespace bfly::control

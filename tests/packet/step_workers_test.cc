// SPDX-License-Identifier: Apache-2.0
// Step programs on running workers: the same decisions as in the step clock, and every packet a
// packet of the fabric.
#include <gmock/gmock.h>

#include "dataplane/fabric/loaded_fabric.h"
#include "dataplane/step_workers/step_programs.h"
#include "dataplane/steps/route.h"
#include "tests/packet/cut_placements.h"
#include "tests/packet/fabric_fixture.h"

namespace bfly::dataplane {
namespace {

using testing::HasSubstr;

struct Case {
  const char* program;
  NetworkSpec network;
  RouteRequest request;
};

// Each program on a network of 8 rows, with several packets an input where the program takes them.
std::vector<Case> Cases() {
  const NetworkSpec butterfly{.kind = NetworkKind::kButterfly, .rows = 8};
  const NetworkSpec extra{.kind = NetworkKind::kButterfly, .rows = 8, .extra_stages = 1};
  const NetworkSpec d2{
      .kind = NetworkKind::kMultibutterfly, .rows = 8, .seed = 3, .multiplicity = 2};
  NetworkSpec d4 = d2;
  d4.multiplicity = 4;
  const Relation one = *RelationByName("random", 8, 1, 7);
  const Relation three = *RelationByName("random", 8, 3, 7);
  return {
      {"waves", butterfly, {.relation = one}},
      {"waves", d2, {.relation = one, .waves = 3}},
      {"greedy", butterfly, {.relation = three}},
      {"greedy", d2, {.relation = three, .queue_limit = 2}},
      {"store_and_forward", butterfly, {.relation = three}},
      {"store_and_forward", d2, {.relation = three, .buffer = 1}},
      {"extra_stages", extra, {.relation = three, .seed = 2}},
      {"h_relation", d4, {.relation = three, .h_relation = {.neighbours = 4, .share = 4}}},
  };
}

// What every link carries when the step clock runs the program without a fabric, by link index.
std::vector<uint64_t> ClockCounts(const Case& c, const Network& network, const FaultSet& faults,
                                  RouteReport& report) {
  PacketTraffic traffic(network, {{0, network.hops() + 1, 0, network.rows()}});
  report = *RunRoute(c.program, network, faults, c.request, {.level = 1, .traffic = &traffic});
  std::vector<uint64_t> counts(network.link_count());
  const uint64_t links_of_stage = network.link_count() / static_cast<uint64_t>(network.stages());
  for (const BlockTraffic::Crossing& crossing : traffic.of_block(0).crossings) {
    ++counts[static_cast<uint64_t>(crossing.hop) * links_of_stage + crossing.link];
  }
  return counts;
}

void ExpectSame(const RouteReport& workers, const RouteReport& clock) {
  EXPECT_EQ(workers.packets, clock.packets);
  EXPECT_EQ(workers.delivered, clock.delivered);
  EXPECT_EQ(workers.left_out, clock.left_out);
  EXPECT_EQ(workers.finished, clock.finished);
  EXPECT_EQ(workers.trouble, clock.trouble);
  EXPECT_EQ(workers.steps, clock.steps);
  EXPECT_EQ(workers.steps_not_taken, clock.steps_not_taken);
  EXPECT_EQ(workers.phases, clock.phases);
  EXPECT_EQ(workers.mean_latency, clock.mean_latency);
  EXPECT_EQ(workers.max_latency, clock.max_latency);
  EXPECT_EQ(workers.stage_congestion, clock.stage_congestion);
  EXPECT_EQ(workers.steps_a_sample, clock.steps_a_sample);
  EXPECT_EQ(workers.standing, clock.standing);
  EXPECT_EQ(workers.standing_of_level, clock.standing_of_level);
  ASSERT_EQ(workers.waves.size(), clock.waves.size());
  for (size_t w = 0; w < clock.waves.size(); ++w) {
    EXPECT_EQ(workers.waves[w].steps, clock.waves[w].steps);
    EXPECT_EQ(workers.waves[w].packets, clock.waves[w].packets);
  }
  ASSERT_EQ(workers.levels.size(), clock.levels.size());
  for (size_t l = 0; l < clock.levels.size(); ++l) {
    EXPECT_EQ(workers.levels[l].waited, clock.levels[l].waited);
    EXPECT_EQ(workers.levels[l].waited_steps, clock.levels[l].waited_steps);
    EXPECT_EQ(workers.levels[l].most_steps, clock.levels[l].most_steps);
  }
}

absl::StatusOr<StepRun> RunOn(Fabric& fabric, const Case& c, const FaultSet& faults) {
  return (*fabric.step_programs())->Run(c.program, faults, c.request, {.level = 1}, nullptr);
}
absl::StatusOr<StepRun> RunOn(Fabric& fabric, const Case& c) {
  return RunOn(fabric, c, FaultSet(fabric.network()));
}

// Several workers on a busy CPU take a while to wait for each other a thousand times.
void MeasureFewBarriers(Fabric& fabric) {
  dynamic_cast<LoadedStepPrograms&>(**fabric.step_programs()).crew().set_fewest_barriers(10);
}

void ExpectRunsAsTheClock(const Case& c, const FabricConfig& config, bool again) {
  SCOPED_TRACE(c.program);
  SCOPED_TRACE(Describe(config));
  const std::unique_ptr<Fabric> fabric = MustLoad(config);
  ASSERT_NE(fabric, nullptr);
  MeasureFewBarriers(*fabric);
  RouteReport clock;
  std::vector<uint64_t> counts =
      ClockCounts(c, fabric->network(), FaultSet(fabric->network()), clock);
  const absl::StatusOr<StepRun> run = RunOn(*fabric, c);
  ASSERT_TRUE(run.ok()) << run.status();
  ExpectSame(run->report, clock);
  EXPECT_GT(run->barriers, 0u);
  Snapshot s = fabric->snapshot();
  ExpectConserved(s);
  EXPECT_EQ(s.conservation.injected, clock.packets);
  EXPECT_EQ(s.conservation.delivered, clock.packets);
  EXPECT_EQ(s.conservation.in_flight, 0u);
  EXPECT_EQ(PacketCounts(s), counts);
  for (const LinkCounters& link : s.links) EXPECT_EQ(link.bytes, 64 * link.packets);
  if (!again) return;
  // A worker that is part of two runs owes nothing to the second.
  ASSERT_TRUE(RunOn(*fabric, c).ok());
  s = fabric->snapshot();
  for (uint64_t& count : counts) count *= 2;
  EXPECT_EQ(PacketCounts(s), counts);
  EXPECT_EQ(s.conservation.delivered, 2 * clock.packets);
}

class StepWorkersCut : public testing::TestWithParam<size_t> {};

// The programs share out the ways to cut three stages among each other, and extra_stages takes some
// of the ways to cut four.
TEST_P(StepWorkersCut, TakeTheStepsOfTheClock) {
  const Case c = Cases()[GetParam()];
  FabricConfig config = OneWorker(c.network.kind, 8);
  config.network = c.network;
  const int stages = Network::Make(c.network)->stages();
  config.placement[0].last_stage = stages - 1;
  ExpectRunsAsTheClock(c, config, true);
  const size_t each = stages == 3 ? Cases().size() : 37;
  size_t number = GetParam(), tried = 0;
  for (auto& placement : Placements(stages, 8, kWorkersOfTests)) {
    if (++number % each != 0) continue;
    // Every fifth with two workers in turn, so that a worker has rows that are not neighbours.
    if (++tried % 5 == 0) {
      for (size_t i = 0; i < placement.size(); ++i) placement[i].lcore = LcoreOf(i % 2);
    }
    config.placement = std::move(placement);
    ExpectRunsAsTheClock(c, config, tried % 8 == 0);
    if (HasFailure()) return;
  }
  EXPECT_GT(tried, 10u);
}

INSTANTIATE_TEST_SUITE_P(EveryProgram, StepWorkersCut, testing::Range(size_t{0}, Cases().size()),
                         [](const auto& tested) {
                           return std::string(Cases()[tested.param].program) + "_" +
                                  std::to_string(tested.param);
                         });

// On a butterfly every packet has one path, so a walk tells what each link carries.
TEST(StepWorkers, CountEveryPacketOnTheLinksOfItsPath) {
  const RouteRequest request{.relation = *RelationByName("random", 64, 4, 3)};
  for (const char* program : {"store_and_forward", "extra_stages"}) {
    const std::unique_ptr<Fabric> fabric = MustLoad(Halves(NetworkKind::kButterfly, 64));
    MeasureFewBarriers(*fabric);
    const Network& network = fabric->network();
    std::vector<std::pair<Row, Tag>> packets;
    for (Row row = 0; row < 64; ++row) {
      for (uint32_t p = request.relation.first[row]; p < request.relation.first[row + 1]; ++p) {
        packets.push_back({row, GreedyTag(network, row, request.relation.destinations[p])});
      }
    }
    const auto run =
        (*fabric->step_programs())->Run(program, FaultSet(network), request, {}, nullptr);
    ASSERT_TRUE(run.ok()) << run.status();
    EXPECT_TRUE(run->report.finished);
    EXPECT_EQ(run->workers, 2);
    EXPECT_GT(run->seconds, 0);
    EXPECT_GT(run->barrier_seconds, 0);
    EXPECT_EQ(PacketCounts(fabric->snapshot()), WalkedCounts(network, packets)) << program;
  }
}

TEST(StepWorkers, OfWavesMeetThreeTimesInEveryStepThatTheyTake) {
  const FabricConfig config = Halves(NetworkKind::kButterfly, 8);
  const std::unique_ptr<Fabric> fabric = MustLoad(config);
  MeasureFewBarriers(*fabric);
  uint64_t not_taken = 0;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    const Relation relation = *RelationByName("random", 8, 1, seed);
    const absl::StatusOr<StepRun> run =
        RunOn(*fabric, {"waves", config.network, {.relation = relation, .waves = 4}});
    ASSERT_TRUE(run.ok()) << run.status();
    EXPECT_EQ(run->barriers, 3 * run->report.steps_taken());
    not_taken += run->report.steps_not_taken;
  }
  EXPECT_GT(not_taken, 0u);
}

TEST(StepWorkers, TakeNoMoreMemoryThanTheyMay) {
  const FabricConfig config = Halves(NetworkKind::kButterfly, 8);
  const std::unique_ptr<Fabric> fabric = MustLoad(config);
  MeasureFewBarriers(*fabric);
  const Case c{"greedy", config.network, {.relation = *RelationByName("random", 8, 1, 3)}};
  const absl::Status status =
      (*fabric->step_programs())
          ->Run(c.program, FaultSet(fabric->network()), c.request, {.max_bytes = 100}, nullptr)
          .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_TRUE(RunOn(*fabric, c).ok());
}

TEST(StepWorkers, GoAroundLinksThatAreDown) {
  FabricConfig config = Halves(NetworkKind::kMultibutterfly, 32);
  config.network.multiplicity = 2;
  const std::unique_ptr<Fabric> fabric = MustLoad(config);
  FaultSet faults(fabric->network());
  for (const LinkId link : {LinkId{0, 3, 1}, LinkId{2, 9, 0}, LinkId{2, 9, 2}}) {
    faults.SetLinkUp(link, false);
    ASSERT_TRUE(fabric->SetLinkUp(link, false).ok());
    // One link goes down before the fabric makes its step programs, the others after it.
    ASSERT_TRUE(fabric->step_programs().ok());
  }
  MeasureFewBarriers(*fabric);
  for (const char* program : {"waves", "store_and_forward"}) {
    const std::vector<uint64_t> before = PacketCounts(fabric->snapshot());
    const Case c{program, config.network, {.relation = *RelationByName("random", 32, 1, 3)}};
    RouteReport clock;
    const std::vector<uint64_t> counts = ClockCounts(c, fabric->network(), faults, clock);
    const absl::StatusOr<StepRun> run = RunOn(*fabric, c, faults);
    ASSERT_TRUE(run.ok()) << run.status();
    ExpectSame(run->report, clock);
    std::vector<uint64_t> after = PacketCounts(fabric->snapshot());
    for (size_t link = 0; link < after.size(); ++link) after[link] -= before[link];
    EXPECT_EQ(after, counts) << program;
  }
}

// The report says which switches count as faulty without being down, so the run must know nodes.
TEST(StepWorkers, GoAroundNodesThatAreDown) {
  FabricConfig config = Halves(NetworkKind::kMultibutterfly, 32);
  config.network.multiplicity = 2;
  const std::unique_ptr<Fabric> fabric = MustLoad(config);
  FaultSet faults(fabric->network());
  faults.SetNodeUp({2, 9}, false);
  const Case c{"waves", config.network, {.relation = *RelationByName("random", 32, 1, 3)}};
  // The fabric has not been told yet.
  const absl::Status status = RunOn(*fabric, c, faults).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("came up before the first step"));
  for (const LinkId link : faults.blocked_links()) {
    ASSERT_TRUE(fabric->SetLinkUp(link, false).ok());
  }
  EXPECT_THAT(std::string(RunOn(*fabric, c).status().message()),
              HasSubstr("went down before the first step"));
  RouteReport clock;
  ClockCounts(c, fabric->network(), faults, clock);
  const absl::StatusOr<StepRun> run = RunOn(*fabric, c, faults);
  ASSERT_TRUE(run.ok()) << run.status();
  ExpectSame(run->report, clock);
  EXPECT_EQ(run->report.faulty_switches, clock.faulty_switches);
}

TEST(StepWorkers, DropWhatStandsAtNodesWhenTheStepsAreOver) {
  const std::unique_ptr<Fabric> fabric = MustLoad(Halves(NetworkKind::kButterfly, 32));
  MeasureFewBarriers(*fabric);
  const Case c{
      "store_and_forward", {}, {.relation = *RelationByName("random", 32, 8, 3), .max_steps = 7}};
  const absl::StatusOr<StepRun> run = RunOn(*fabric, c);
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_FALSE(run->report.finished);
  EXPECT_GT(run->report.delivered, 0u);
  EXPECT_LT(run->report.delivered, 256u);
  const Snapshot s = fabric->snapshot();
  ExpectConserved(s);
  EXPECT_EQ(s.conservation.injected, 256u);
  EXPECT_EQ(s.conservation.delivered, run->report.delivered);
  EXPECT_EQ(DroppedBy(s, DropReason::kUnloaded), 256 - run->report.delivered);
  EXPECT_EQ(s.conservation.in_flight, 0u);
}

TEST(StepWorkers, RefuseWhatTheyCannotRun) {
  const std::unique_ptr<Fabric> fabric = MustLoad(OneWorker(NetworkKind::kButterfly, 8));
  StepPrograms& programs = **fabric->step_programs();
  const FaultSet none(fabric->network());
  const Relation relation = *RelationByName("random", 8, 1, 3);
  const auto message = [&](const char* program, const RouteRequest& request) {
    return std::string(programs.Run(program, none, request, {}, nullptr).status().message());
  };
  EXPECT_THAT(message("wave", {.relation = relation}), HasSubstr("program: \"wave\" is none of"));
  EXPECT_THAT(message("h_relation", {.relation = relation}), HasSubstr("multibutterfly"));
  EXPECT_THAT(message("waves", {.relation = relation, .waves = 9}), HasSubstr("waves: 9"));
  EXPECT_THAT(message("waves", {.relation = *RelationByName("random", 16, 1, 3)}),
              HasSubstr("destinations"));
  EXPECT_EQ(fabric->summary().conservation.injected, 0u);
  ASSERT_TRUE(fabric->Unload().ok());
  EXPECT_EQ(programs.Run("waves", none, {.relation = relation}, {}, nullptr).status().message(),
            "the fabric is unloaded");
  EXPECT_EQ(fabric->step_programs().status().code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace bfly::dataplane

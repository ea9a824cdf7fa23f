// SPDX-License-Identifier: Apache-2.0
// Programs on a fabric that trunks split over data planes choose what they choose on one, whatever
// the cut.
#include <gmock/gmock.h>

#include <numeric>
#include <thread>

#include "tests/packet/split_program_fixture.h"

namespace bfly::dataplane {
namespace {

using control::LinkLoad;

FabricConfig FoldOf(uint32_t rows, uint64_t seed, LinkCapacity capacity = {}) {
  FabricConfig config = OneWorker(NetworkKind::kTwoFoldButterfly, rows);
  config.network.seed = seed;
  config.circuit_capacity = std::move(capacity);
  return config;
}

std::vector<Row> InputsOf(const InBandReport& report) {
  std::vector<Row> inputs;
  for (const InBandPath& path : report.paths) inputs.push_back(path.input);
  return inputs;
}

// Everything that is the same every time.
void ExpectSameReport(const InBandReport& split, const InBandReport& whole) {
  ASSERT_EQ(split.paths.size(), whole.paths.size());
  for (size_t i = 0; i < whole.paths.size(); ++i) {
    EXPECT_EQ(split.paths[i].input, whole.paths[i].input);
    EXPECT_EQ(split.paths[i].tag, whole.paths[i].tag);
    EXPECT_EQ(split.paths[i].choice, whole.paths[i].choice);
  }
  EXPECT_EQ(split.rounds, whole.rounds);
  EXPECT_EQ(split.left_per_round, whole.left_per_round);
  EXPECT_EQ(split.requests_left, whole.requests_left);
  EXPECT_EQ(split.messages, whole.messages);
  EXPECT_EQ(split.install_messages, whole.install_messages);
  EXPECT_EQ(split.steps.forward, whole.steps.forward);
  EXPECT_EQ(split.steps.backward, whole.steps.backward);
  EXPECT_EQ(split.install_steps.forward, whole.install_steps.forward);
  ASSERT_EQ(split.refusal.has_value(), whole.refusal.has_value());
  if (!whole.refusal.has_value()) return;
  EXPECT_EQ(split.refusal->request, whole.refusal->request);
  EXPECT_EQ(split.refusal->link, whole.refusal->link);
  EXPECT_EQ(split.refusal->circuits, whole.refusal->circuits);
  EXPECT_EQ(split.refusal->capacity, whole.refusal->capacity);
  EXPECT_EQ(split.refusal->down, whole.refusal->down);
}

// Both protocols, with links that carry at most one circuit or as many as there are: the same
// as by one data plane, and as by the controller's protocols where there is room.
TEST(InBandSplit, EveryCutChoosesAsOneDataPlaneAndTheControllerDo) {
  constexpr uint32_t kRows = 8;
  const std::vector<InBandRequest> requests = WholePermutation(kRows, 5);
  int refused = 0, set_up = 0;
  for (const uint32_t most : {0u, 1u}) {
    const LinkCapacity capacity =
        most == 0 ? LinkCapacity{} : LinkCapacity{.every_link = most, .of_link = {}};
    const FabricConfig config = FoldOf(kRows, 3, capacity);
    for (const std::vector<int>& cuts : AllCuts(6)) {
      const std::unique_ptr<Fabric> one = MustLoad(config);
      ASSERT_NE(one, nullptr);
      std::vector<absl::StatusOr<InBandReport>> expected;
      const auto run_all = [&](InBand& in_band, const auto& check) {
        for (const std::string protocol : {"collision", "minimum"}) {
          const ProgramParameters program = ProgramOf(protocol, 3);
          const std::vector<InBandRequest> half(requests.begin(), requests.begin() + 4);
          const std::vector<InBandRequest> rest(requests.begin() + 4, requests.end());
          std::vector<Row> standing;
          for (const auto& wanted : {half, rest, requests}) {
            const auto report = in_band.SetUp(wanted, program);
            check(protocol, wanted, report);
            if (!report.ok()) continue;
            for (const Row input : InputsOf(*report)) standing.push_back(input);
          }
          ASSERT_TRUE(in_band.Release(standing).ok());
        }
      };
      run_all(**one->in_band(),
              [&](const auto&, const auto&, const auto& report) { expected.push_back(report); });
      ASSERT_TRUE(one->Unload().ok());
      SplitFabric split(config, cuts);
      SCOPED_TRACE(testing::Message()
                   << "capacity " << most << ", cuts " << testing::PrintToString(cuts));
      size_t next = 0;
      run_all(split.in_band(), [&](const auto& protocol, const auto& wanted, const auto& report) {
        const auto& as_one = expected[next++];
        ASSERT_EQ(report.status().code(), as_one.status().code()) << report.status();
        if (!report.ok()) return;
        ExpectSameReport(*report, *as_one);
        ++(report->refusal.has_value() ? refused : set_up);
        if (most == 0 && wanted.size() == 4 && wanted[0].input == 0) {
          ExpectPaths(*report, PathsByController(protocol, LinkLoad(split.network()), wanted));
        }
        LinkLoad load(split.network());
        for (const Fabric::Circuit& c : split.first().circuits()) load.Add(c.input, c.tag);
        EXPECT_EQ(split.circuits_on_links(), load.counts());
      });
      EXPECT_TRUE(split.first().circuits().empty());
      EXPECT_EQ(split.circuits_on_links(), LinkLoad(split.network()).counts());
    }
  }
  EXPECT_GT(refused, 10);
  EXPECT_GT(set_up, 50);
}

// Passes of several frames, parts of two workers, and data that goes on flowing.
TEST(InBandSplit, LargerNetworksOnTwoWorkersAPartChooseAsTheControllerDoes) {
  for (const auto& [cuts, workers] : {std::pair{std::vector<int>{5}, 2}, {{3, 7}, 1}}) {
    SplitFabric split(FoldOf(64, 2), cuts, workers);
    const std::vector<InBandRequest> requests = WholePermutation(64, 9);
    ASSERT_TRUE(split.first()
                    .SetSources({{.rows = AllRows(64),
                                  .packets_per_second = 100,
                                  .destination = SourceConfig::Destination::kUniform,
                                  .seed = 4}})
                    .ok());
    for (const std::string protocol : {"collision", "minimum"}) {
      SCOPED_TRACE(protocol);
      const auto report = split.in_band().SetUp(requests, ProgramOf(protocol, 6));
      ASSERT_TRUE(report.ok()) << report.status();
      ExpectPaths(*report, PathsByController(protocol, LinkLoad(split.network()), requests));
      LinkLoad load(split.network());
      for (const InBandPath& path : report->paths) load.Add(path.input, path.tag);
      EXPECT_EQ(split.circuits_on_links(), load.counts());
      ASSERT_TRUE(split.in_band().Release(InputsOf(*report)).ok());
      EXPECT_EQ(split.circuits_on_links(), LinkLoad(split.network()).counts());
    }
  }
}

TEST(InBandSplit, ReadsOfTheDataServerChooseAsTheControllerDoes) {
  constexpr uint32_t kRows = 8;
  FabricConfig config = OneWorker(NetworkKind::kRandomlyWiredButterfly, kRows);
  const int stages = config.placement[0].last_stage + 1;
  const std::vector<control::Copies> placed = control::PlaceInTwoCopies(kRows, kRows, 4);
  std::vector<InBandRead> reads;
  std::vector<control::DataServerRequest> wanted;
  for (Row user = 0; user < kRows; ++user) {
    reads.push_back({.user = user, .disks = placed[user]});
    wanted.push_back({user, placed[user]});
  }
  for (const std::vector<int>& cuts : AllCuts(stages)) {
    SplitFabric split(config, cuts);
    const Network& network = split.network();
    const control::DataServerOptions in_force = control::WithThresholds({}, network.dimension());
    for (const bool collision : {true, false}) {
      SCOPED_TRACE(testing::Message() << testing::PrintToString(cuts) << collision);
      const auto report =
          collision ? split.in_band().SetUpReads(
                          reads, CollisionParameters{.c = in_force.c, .c_disk = in_force.c_disk})
                    : split.in_band().SetUpReads(reads, MinimumParameters{});
      const auto expected = collision ? control::RouteDataServerCollision(network, wanted, {}, {})
                                      : control::RouteDataServerMinimum(network, wanted, {});
      ASSERT_TRUE(report.ok()) << report.status();
      ASSERT_TRUE(expected.ok()) << expected.status();
      ExpectPaths(*report, expected->route.paths);
      LinkLoad load(network);
      std::vector<uint32_t> disks(kRows);
      for (const InBandPath& path : report->paths) {
        load.Add(path.input, path.tag);
        ++disks[path.output];
      }
      EXPECT_EQ(split.circuits_on_links(), load.counts());
      EXPECT_EQ(split.circuits_at_disks(), disks);
      ASSERT_TRUE(split.in_band().Release(InputsOf(*report)).ok());
      EXPECT_EQ(split.circuits_at_disks(), std::vector<uint32_t>(kRows));
    }
  }
}

// A data plane knows of its own links only which are down.
TEST(InBandSplit, LinksThatAreDownOnAnotherDataPlaneAreAvoided) {
  SplitFabric split(FoldOf(8, 1), {2});
  const Network& network = split.network();
  const auto paths = PathsByController("minimum", LinkLoad(network), {{3, 4}});
  const Row row = WalkTag(network, 3, paths[0].tag)[4];
  const LinkId link = {4, row, PortOfHop(network, paths[0].tag, 4)};
  ASSERT_TRUE(split.part(1).SetLinkUp(link, false).ok());
  const auto report = split.in_band().SetUp({{3, 4}}, MinimumParameters{.other_if_full = true});
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_EQ(report->paths.size(), 1u);
  EXPECT_NE(report->paths[0].tag, paths[0].tag);
  // With the other path broken too, the installing itself is refused.
  ASSERT_TRUE(split.in_band().Release({3}).ok());
  const Tag other = report->paths[0].tag;
  const LinkId second = {4, WalkTag(network, 3, other)[4], PortOfHop(network, other, 4)};
  ASSERT_TRUE(split.part(1).SetLinkUp(second, false).ok());
  const auto none = split.in_band().SetUp({{3, 4}}, MinimumParameters{.other_if_full = true});
  ASSERT_TRUE(none.ok()) << none.status();
  ASSERT_TRUE(none->refusal.has_value());
  EXPECT_TRUE(none->refusal->down);
  EXPECT_EQ(none->refusal->link, link);
  EXPECT_TRUE(split.first().circuits().empty());
}

// Several control threads at once: one program after the other, and no circuit is lost.
TEST(InBandSplit, ProgramsOfSeveralThreadsTakeTurns) {
  SplitFabric split(FoldOf(16, 6), {3});
  InBand& in_band = split.in_band();
  const std::vector<InBandRequest> all = WholePermutation(16, 2);
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      for (uint32_t i = t; i < 16; i += 2) {
        const auto report = in_band.SetUp({all[i]}, MinimumParameters{});
        ASSERT_TRUE(report.ok()) << report.status();
        if (i % 4 == t) {
          ASSERT_TRUE(in_band.Release({all[i].input}).ok());
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  LinkLoad load(split.network());
  for (const Fabric::Circuit& circuit : split.first().circuits())
    load.Add(circuit.input, circuit.tag);
  EXPECT_EQ(load.paths(), 8u);
  EXPECT_EQ(split.circuits_on_links(), load.counts());
}

TEST(InBandSplit, OnlyTheDataPlaneOfTheInputsIsAsked) {
  SplitFabric split(FoldOf(8, 6), {3});
  const auto status = (*split.part(1).in_band())->SetUp({{0, 1}}, MinimumParameters{}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("stage 0"));
}

}  // namespace
}  // namespace bfly::dataplane

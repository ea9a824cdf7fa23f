// SPDX-License-Identifier: Apache-2.0
// Circuits set up by running stage workers. However the stages are placed, they get the paths of
// the controller's protocols, and data goes on flowing.
#include "dataplane/in_band/in_band.h"

#include <numeric>

#include "control/protocols/protocol.h"
#include "tests/packet/fabric_fixture.h"
#include "topologies/permutation.h"

namespace bfly::dataplane {
namespace {

using control::LinkLoad;
using Destination = SourceConfig::Destination;

FabricConfig Fold(uint32_t rows, uint64_t seed) {
  FabricConfig config = OneWorker(NetworkKind::kTwoFoldButterfly, rows);
  config.network.seed = seed;
  return config;
}

std::vector<InBandRequest> Whole(const char* name, uint32_t rows, uint64_t seed) {
  const Permutation permutation = *PermutationByName(name, rows, seed);
  std::vector<InBandRequest> requests;
  for (Row input = 0; input < rows; ++input) requests.push_back({input, permutation[input]});
  return requests;
}

absl::StatusOr<InBandReport> Choose(InBand& in_band, const std::string& protocol,
                                    const std::vector<InBandRequest>& requests, int dimension) {
  if (protocol == "minimum") return in_band.SetUp(requests, MinimumParameters{});
  return in_band.SetUp(requests, CollisionParameters{.c = control::CollisionThreshold(dimension)});
}

control::RouteResult ByController(const std::string& protocol, const LinkLoad& load,
                                  const std::vector<InBandRequest>& requests) {
  std::vector<control::Request> wanted;
  for (const auto& [input, output] : requests) wanted.push_back({input, output});
  return *control::RoutePermutation(protocol, load, wanted);
}

void ExpectSame(const InBandReport& in_band, const control::RouteResult& controller) {
  ASSERT_EQ(in_band.paths.size(), controller.paths.size());
  for (size_t i = 0; i < controller.paths.size(); ++i) {
    ASSERT_EQ(in_band.paths[i].tag, controller.paths[i].tag) << "request " << i;
  }
  EXPECT_EQ(in_band.rounds, controller.rounds);
  EXPECT_EQ(in_band.messages, controller.messages);
  EXPECT_EQ(in_band.left_per_round, controller.left_per_round);
}

void Add(LinkLoad& load, const InBandReport& report) {
  for (const InBandPath& path : report.paths) load.Add(path.input, path.tag);
}

// Chooses, compares, releases and compares, and recounts the circuits on the links each time.
void ChooseAndRelease(Fabric& fabric, const char* permutation, uint64_t seed) {
  const Network& network = fabric.network();
  const std::vector<InBandRequest> requests = Whole(permutation, network.rows(), seed);
  absl::StatusOr<InBand*> in_band = fabric.in_band();
  ASSERT_TRUE(in_band.ok()) << in_band.status();
  for (const char* protocol : {"collision", "minimum"}) {
    SCOPED_TRACE(testing::Message() << network.rows() << " rows, " << permutation << ", seed "
                                    << seed << ", " << protocol);
    const absl::StatusOr<InBandReport> report =
        Choose(**in_band, protocol, requests, network.dimension());
    ASSERT_TRUE(report.ok()) << report.status();
    ExpectSame(*report, ByController(protocol, LinkLoad(network), requests));
    LinkLoad recount(network);
    Add(recount, *report);
    EXPECT_EQ((*in_band)->circuits_on_links(), recount.counts());
    const std::vector<Fabric::Circuit> circuits = fabric.circuits();
    ASSERT_EQ(circuits.size(), requests.size());
    for (Row input = 0; input < network.rows(); ++input) {
      EXPECT_EQ(circuits[input].tag, report->paths[input].tag);
    }
    std::vector<Row> inputs(network.rows());
    std::iota(inputs.begin(), inputs.end(), 0u);
    const absl::StatusOr<InBandReport> released = (*in_band)->Release(inputs);
    ASSERT_TRUE(released.ok()) << released.status();
    EXPECT_EQ((*in_band)->circuits_on_links(), LinkLoad(network).counts());
    EXPECT_TRUE(fabric.circuits().empty());
  }
}

TEST(InBand, OneWorkerChoosesAsTheControllerDoes) {
  for (uint32_t rows = 4; rows <= 1024; rows *= 2) {
    for (uint64_t seed = 0; seed < 3; ++seed) {
      const std::unique_ptr<Fabric> fabric = MustLoad(Fold(rows, seed));
      ASSERT_NE(fabric, nullptr);
      for (const char* name : {"random", "bitrev", "identity"}) {
        ChooseAndRelease(*fabric, name, seed);
      }
    }
  }
}

TEST(InBand, TwoWorkersChooseAsTheControllerDoes) {
  for (const int runs : {2, 5}) {
    for (const uint32_t rows : {8u, 64u, 1024u}) {
      const std::unique_ptr<Fabric> fabric =
          MustLoad(InParts(NetworkKind::kTwoFoldButterfly, rows, rows, runs));
      ASSERT_NE(fabric, nullptr);
      for (const char* name : {"random", "bitrev"}) ChooseAndRelease(*fabric, name, 7);
    }
  }
}

TEST(InBand, WorkersThatShareStagesByRowsChooseAsTheControllerDoes) {
  for (const uint32_t rows : {8u, 64u, 1024u}) {
    const std::unique_ptr<Fabric> fabric = MustLoad(Halves(NetworkKind::kTwoFoldButterfly, rows));
    ASSERT_NE(fabric, nullptr);
    for (const char* name : {"random", "bitrev"}) ChooseAndRelease(*fabric, name, 7);
  }
}

TEST(InBand, DataGoesOnFlowing) {
  // 0: stages are shared by rows.
  for (const int runs : {0, 1, 3}) {
    const std::unique_ptr<Fabric> fabric =
        MustLoad(runs == 0 ? Halves(NetworkKind::kTwoFoldButterfly, 64)
                           : InParts(NetworkKind::kTwoFoldButterfly, 64, 3, runs));
    ASSERT_NE(fabric, nullptr);
    std::vector<Row> all(64);
    std::iota(all.begin(), all.end(), 0u);
    ASSERT_TRUE(
        fabric->SetSources({{.rows = all, .destination = Destination::kUniform, .seed = 4}}).ok());
    for (uint64_t seed = 0; seed < 4; ++seed) {
      const uint64_t before = fabric->summary().conservation.delivered;
      ChooseAndRelease(*fabric, "random", seed);
      WaitUntil(*fabric, [before](const Snapshot& s) { return s.conservation.delivered > before; });
    }
    ASSERT_TRUE(fabric->SetSources({}).ok());
    const Snapshot drained =
        WaitUntil(*fabric, [](const Snapshot& s) { return s.conservation.in_flight == 0; });
    EXPECT_EQ(drained.conservation.injected,
              drained.conservation.delivered + drained.conservation.dropped);
  }
}

TEST(InBand, PacketsFollowTheCircuitsItSetUp) {
  const std::unique_ptr<Fabric> fabric =
      MustLoad(InParts(NetworkKind::kTwoFoldButterfly, 16, 2, 2));
  ASSERT_NE(fabric, nullptr);
  const std::vector<InBandRequest> requests = Whole("random", 16, 5);
  const absl::StatusOr<InBandReport> report =
      (*fabric->in_band())->SetUp(requests, MinimumParameters{});
  ASSERT_TRUE(report.ok()) << report.status();
  std::vector<Row> all(16);
  std::vector<std::pair<Row, Tag>> walks;
  for (const InBandPath& path : report->paths) {
    all[path.input] = path.input;
    walks.emplace_back(path.input, path.tag);
  }
  // Messages are not packets: nothing has been counted yet.
  EXPECT_EQ(fabric->summary().conservation.injected, 0u);
  ASSERT_TRUE(
      fabric->SetSources({{.rows = all, .destination = Destination::kCircuit, .packets = 10}})
          .ok());
  std::vector<uint64_t> expected = WalkedCounts(fabric->network(), walks);
  for (uint64_t& count : expected) count *= 10;
  EXPECT_EQ(PacketCounts(WaitForDeliveries(*fabric, 160)), expected);
}

// Circuits that a controller installs and removes between two programs are counted too.
TEST(InBand, CircuitsInstalledByOthersCount) {
  const std::unique_ptr<Fabric> fabric =
      MustLoad(InParts(NetworkKind::kTwoFoldButterfly, 32, 9, 4));
  ASSERT_NE(fabric, nullptr);
  const Network& network = fabric->network();
  const std::vector<InBandRequest> all = Whole("random", 32, 1);
  LinkLoad load(network);
  const auto install = [&](Row input, Tag tag) {
    ASSERT_TRUE(fabric->InstallCircuit(input, tag).ok());
    load.Add(input, tag);
  };
  const auto remove = [&](Row input, Tag tag) {
    ASSERT_TRUE(fabric->RemoveCircuit(input).ok());
    load.Remove(input, tag);
  };
  // Before the first program, and all over one middle row.
  for (Row input = 0; input < 8; ++input) {
    install(input, TagThrough(network, 3, all[input].output));
  }
  InBand& in_band = **fabric->in_band();
  const std::vector<InBandRequest> some(all.begin() + 8, all.begin() + 20);
  absl::StatusOr<InBandReport> report = in_band.SetUp(some, MinimumParameters{});
  ASSERT_TRUE(report.ok()) << report.status();
  ExpectSame(*report, ByController("minimum", load, some));
  Add(load, *report);
  EXPECT_EQ(in_band.circuits_on_links(), load.counts());
  // After it: one gone, one moved, one set up in band removed.
  remove(0, TagThrough(network, 3, all[0].output));
  remove(1, TagThrough(network, 3, all[1].output));
  install(1, TagThrough(network, 30, all[1].output));
  remove(report->paths[2].input, report->paths[2].tag);
  std::vector<InBandRequest> rest(all.begin() + 20, all.end());
  rest.push_back(all[0]);
  rest.push_back(all[10]);
  const control::RouteResult expected = ByController("collision", load, rest);
  report = Choose(in_band, "collision", rest, network.dimension());
  ASSERT_TRUE(report.ok()) << report.status();
  ExpectSame(*report, expected);
  Add(load, *report);
  EXPECT_EQ(in_band.circuits_on_links(), load.counts());
}

TEST(InBand, RefusesWhatCannotBeAndChangesNothing) {
  const std::unique_ptr<Fabric> fabric = MustLoad(Fold(8, 1));
  ASSERT_NE(fabric, nullptr);
  InBand& in_band = **fabric->in_band();
  ASSERT_TRUE(in_band.SetUp({{3, 4}}, MinimumParameters{}).ok());
  const std::vector<uint32_t> before = in_band.circuits_on_links();
  const auto expect = [&](const absl::Status& status, absl::StatusCode code, const char* message) {
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_EQ(status.message(), message);
    EXPECT_EQ(in_band.circuits_on_links(), before);
    EXPECT_EQ(fabric->circuits().size(), 1u);
  };
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  constexpr auto kPrecondition = absl::StatusCode::kFailedPrecondition;
  expect(in_band.SetUp({{0, 0}, {8, 1}}, MinimumParameters{}).status(), kInvalid,
         "inputs[1]: 8 is outside 0..7");
  expect(in_band.SetUp({{0, 9}}, MinimumParameters{}).status(), kInvalid,
         "outputs[0]: 9 is outside 0..7");
  expect(in_band.SetUp({{0, 1}, {0, 2}}, CollisionParameters{.c = 2}).status(), kInvalid,
         "inputs[1]: 0 is used twice");
  expect(in_band.SetUp({{0, 1}, {1, 1}}, CollisionParameters{.c = 2}).status(), kInvalid,
         "outputs[1]: 1 is used twice");
  expect(in_band.SetUp({{0, 1}}, CollisionParameters{.c = 0}).status(), kInvalid,
         "c: 0 is outside 1..254");
  expect(in_band.SetUp({{0, 1}}, CollisionParameters{.c = 255}).status(), kInvalid,
         "c: 255 is outside 1..254");
  expect(in_band.SetUp({{3, 0}}, MinimumParameters{}).status(), kPrecondition,
         "inputs[0]: 3 is busy with a circuit");
  expect(in_band.SetUp({{0, 4}}, MinimumParameters{}).status(), kPrecondition,
         "outputs[0]: 4 is busy with a circuit");
  expect(in_band.Release({3, 5}).status(), absl::StatusCode::kNotFound,
         "inputs[1]: row 5 has no circuit");
  expect(in_band.Release({3, 3}).status(), kInvalid, "inputs[1]: 3 is used twice");
  expect(in_band.Release({8}).status(), kInvalid, "inputs[0]: 8 is outside 0..7");
  EXPECT_TRUE(in_band.SetUp({}, MinimumParameters{}).ok());
  ASSERT_TRUE(fabric->Unload().ok());
  EXPECT_EQ(in_band.SetUp({{0, 0}}, MinimumParameters{}).status().code(), kPrecondition);
  EXPECT_EQ(fabric->in_band().status().code(), kPrecondition);
}

TEST(InBand, IsOnlyForTwoFoldButterflies) {
  const std::unique_ptr<Fabric> fabric = MustLoad(OneWorker(NetworkKind::kButterfly, 8));
  ASSERT_NE(fabric, nullptr);
  EXPECT_EQ(fabric->in_band().status().code(), absl::StatusCode::kFailedPrecondition);
}

// Several control threads at once: one program after the other, and no circuit is lost.
TEST(InBand, ProgramsOfSeveralThreadsTakeTurns) {
  const std::unique_ptr<Fabric> fabric =
      MustLoad(InParts(NetworkKind::kTwoFoldButterfly, 64, 6, 2));
  ASSERT_NE(fabric, nullptr);
  InBand& in_band = **fabric->in_band();
  const std::vector<InBandRequest> all = Whole("random", 64, 2);
  std::vector<std::thread> threads;
  std::vector<std::vector<InBandPath>> found(4);
  for (uint32_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (uint32_t i = t; i < 64; i += 4) {
        const absl::StatusOr<InBandReport> report = in_band.SetUp({all[i]}, MinimumParameters{});
        ASSERT_TRUE(report.ok()) << report.status();
        found[t].push_back(report->paths[0]);
        if (i % 8 == t) {
          ASSERT_TRUE(in_band.Release({all[i].input}).ok());
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  LinkLoad recount(fabric->network());
  for (uint32_t t = 0; t < 4; ++t) {
    for (const InBandPath& path : found[t]) {
      if (path.input % 8 != t) recount.Add(path.input, path.tag);
    }
  }
  EXPECT_EQ(in_band.circuits_on_links(), recount.counts());
  EXPECT_EQ(fabric->circuits().size(), recount.paths());
}

TEST(InBand, SaysWhereTheTimeWent) {
  const std::unique_ptr<Fabric> fabric = MustLoad(Fold(64, 1));
  ASSERT_NE(fabric, nullptr);
  InBand& in_band = **fabric->in_band();
  const std::vector<InBandRequest> all = Whole("random", 64, 2);
  const absl::StatusOr<InBandReport> report = in_band.SetUp(all, CollisionParameters{.c = 4});
  ASSERT_TRUE(report.ok()) << report.status();
  for (const double part : {report->forward_seconds, report->backward_seconds,
                            report->decide_seconds, report->install_seconds}) {
    EXPECT_GT(part, 0);
  }
  EXPECT_NEAR(report->seconds,
              report->forward_seconds + report->backward_seconds + report->decide_seconds +
                  report->install_seconds,
              1e-9);
  EXPECT_EQ(report->install_messages, 128u);
  const absl::StatusOr<InBand::WalkSeconds> walk = in_band.Walk(all);
  ASSERT_TRUE(walk.ok()) << walk.status();
  EXPECT_GT(walk->forward, 0);
  EXPECT_GT(walk->backward, 0);
}

}  // namespace
}  // namespace bfly::dataplane

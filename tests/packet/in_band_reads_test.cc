// SPDX-License-Identifier: Apache-2.0
// Reads of the data server set up by running stage workers. However the stages are placed, they get
// the copies and paths of the controller's protocols, and data goes on flowing.
#include <numeric>

#include "control/protocols/data_server.h"
#include "dataplane/in_band/in_band.h"
#include "tests/packet/fabric_fixture.h"

namespace bfly::dataplane {
namespace {

using control::LinkLoad;
using Destination = SourceConfig::Destination;

constexpr NetworkKind kKind = NetworkKind::kRandomlyWiredButterfly;

std::vector<InBandRead> EveryUserReads(uint32_t rows, uint64_t seed) {
  const std::vector<control::Copies> placed = control::PlaceInTwoCopies(rows, rows, seed);
  std::vector<InBandRead> reads;
  for (Row user = 0; user < rows; ++user) reads.push_back({.user = user, .disks = placed[user]});
  return reads;
}

std::vector<control::DataServerRequest> ForController(const std::vector<InBandRead>& reads) {
  std::vector<control::DataServerRequest> all;
  for (const InBandRead& read : reads) all.push_back({read.user, read.disks});
  return all;
}

// The standing reads by a controller's books.
struct Books {
  explicit Books(const Network& network) : load(network), disks(network.rows()) {}
  void Add(Row input, Tag tag) {
    load.Add(input, tag);
    ++disks[OutputOfTag(load.network(), tag)];
  }
  void Remove(Row input, Tag tag) {
    load.Remove(input, tag);
    --disks[OutputOfTag(load.network(), tag)];
  }
  void Add(const InBandReport& report) {
    for (const InBandPath& path : report.paths) Add(path.input, path.tag);
  }
  void Expect(const InBand& in_band) const {
    EXPECT_EQ(in_band.circuits_on_links(), load.counts());
    EXPECT_EQ(in_band.circuits_at_disks(), disks);
  }
  control::StandingReads standing() const { return {&load, &disks}; }
  LinkLoad load;
  std::vector<uint32_t> disks;
};

absl::StatusOr<control::DataServerResult> ByController(const std::string& protocol,
                                                       const Books& books,
                                                       const std::vector<InBandRead>& reads) {
  const Network& network = books.load.network();
  if (protocol == "minimum") {
    return control::RouteDataServerMinimum(network, ForController(reads), books.standing());
  }
  return control::RouteDataServerCollision(network, ForController(reads), {}, books.standing());
}

absl::StatusOr<InBandReport> Choose(InBand& in_band, const std::string& protocol,
                                    const std::vector<InBandRead>& reads, int dimension) {
  if (protocol == "minimum") return in_band.SetUpReads(reads, MinimumParameters{});
  const control::DataServerOptions in_force = control::WithThresholds({}, dimension);
  return in_band.SetUpReads(reads, CollisionParameters{.c = in_force.c, .c_disk = in_force.c_disk});
}

void ExpectSameReads(const InBandReport& in_band, const control::RouteResult& controller) {
  ASSERT_EQ(in_band.paths.size(), controller.paths.size());
  for (size_t i = 0; i < controller.paths.size(); ++i) {
    ASSERT_EQ(in_band.paths[i].tag, controller.paths[i].tag) << "request " << i;
  }
  EXPECT_EQ(in_band.rounds, controller.rounds);
  EXPECT_EQ(in_band.messages, controller.messages);
  EXPECT_EQ(in_band.left_per_round, controller.left_per_round);
}

// All users read, on top of the reads of one third of them; then nobody reads.
void ReadAndRelease(Fabric& fabric, uint64_t seed) {
  const Network& network = fabric.network();
  const std::vector<InBandRead> all = EveryUserReads(network.rows(), seed);
  const std::vector<InBandRead> third(all.begin(), all.begin() + all.size() / 3);
  const std::vector<InBandRead> rest(all.begin() + all.size() / 3, all.end());
  const absl::StatusOr<InBand*> in_band = fabric.in_band();
  ASSERT_TRUE(in_band.ok()) << in_band.status();
  for (const auto& [first, second] :
       {std::pair{"collision", "minimum"}, {"minimum", "collision"}}) {
    SCOPED_TRACE(testing::Message() << network.rows() << " rows, seed " << seed << ", " << first);
    Books books(network);
    for (const auto& [protocol, reads] : {std::pair{first, third}, {second, rest}}) {
      const auto expected = ByController(protocol, books, reads);
      ASSERT_TRUE(expected.ok()) << expected.status();
      const auto report = Choose(**in_band, protocol, reads, network.dimension());
      ASSERT_TRUE(report.ok()) << report.status();
      ExpectSameReads(*report, expected->route);
      books.Add(*report);
      books.Expect(**in_band);
    }
    for (const Fabric::Circuit& circuit : fabric.circuits())
      books.Remove(circuit.input, circuit.tag);
    EXPECT_EQ(books.load.paths(), 0u);
    std::vector<Row> users(network.rows());
    std::iota(users.begin(), users.end(), 0u);
    const absl::StatusOr<InBandReport> released = (*in_band)->Release(users);
    ASSERT_TRUE(released.ok()) << released.status();
    books.Expect(**in_band);
    EXPECT_TRUE(fabric.circuits().empty());
  }
}

TEST(InBandReads, AnyNumberOfWorkersReadsAsTheControllerDoes) {
  for (uint32_t rows = 2; rows <= 1024; rows *= 2) {
    for (const int runs : {1, 2, 3}) {
      for (uint64_t seed = 0; seed < (runs == 1 ? 3 : 1); ++seed) {
        const std::unique_ptr<Fabric> fabric = MustLoad(InParts(kKind, rows, seed, runs));
        ASSERT_NE(fabric, nullptr);
        ReadAndRelease(*fabric, seed);
      }
    }
  }
}

TEST(InBandReads, DataGoesOnFlowingAndFollowsThem) {
  const std::unique_ptr<Fabric> fabric = MustLoad(InParts(kKind, 64, 3, 2));
  ASSERT_NE(fabric, nullptr);
  std::vector<Row> all(64);
  std::iota(all.begin(), all.end(), 0u);
  ASSERT_TRUE(
      fabric->SetSources({{.rows = all, .destination = Destination::kUniform, .seed = 4}}).ok());
  for (uint64_t seed = 0; seed < 4; ++seed) {
    const uint64_t before = fabric->summary().conservation.delivered;
    ReadAndRelease(*fabric, seed);
    WaitUntil(*fabric, [before](const Snapshot& s) { return s.conservation.delivered > before; });
  }
  ASSERT_TRUE(fabric->SetSources({}).ok());
  const Snapshot drained =
      WaitUntil(*fabric, [](const Snapshot& s) { return s.conservation.in_flight == 0; });
  EXPECT_EQ(drained.conservation.injected,
            drained.conservation.delivered + drained.conservation.dropped);
}

// Messages are not packets: links that take a minute and lose everything do not matter to them.
TEST(InBandReads, SlowAndLossyLinksDoNotHoldMessages) {
  FabricConfig config = InParts(kKind, 64, 5, 2);
  config.links.base = {.bits_per_second = 1'000'000, .delay_ns = 60'000'000'000, .loss = 1};
  const std::unique_ptr<Fabric> fabric = MustLoad(config);
  ASSERT_NE(fabric, nullptr);
  ReadAndRelease(*fabric, 2);
  const absl::StatusOr<InBandReport> report =
      (*fabric->in_band())->SetUpReads(EveryUserReads(64, 2), MinimumParameters{});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_LT(report->seconds, 60);  // 64 reads, each over the network six times
}

// Circuits that a controller installs and removes between two programs count, on disks too.
TEST(InBandReads, CircuitsInstalledByOthersCount) {
  const std::unique_ptr<Fabric> fabric = MustLoad(InParts(kKind, 32, 9, 2));
  ASSERT_NE(fabric, nullptr);
  const Network& network = fabric->network();
  const std::vector<InBandRead> all = EveryUserReads(32, 1);
  Books books(network);
  const auto install = [&](Row input, Row output) {
    const Tag tag = GreedyTag(network, input, output);
    ASSERT_TRUE(fabric->InstallCircuit(input, tag).ok());
    books.Add(input, tag);
  };
  // Many at one disk, before the first program.
  for (Row user = 0; user < 8; ++user) install(user, all[9].disks[0]);
  InBand& in_band = **fabric->in_band();
  const std::vector<InBandRead> some(all.begin() + 8, all.begin() + 20);
  auto expected = ByController("minimum", books, some);
  absl::StatusOr<InBandReport> report = in_band.SetUpReads(some, MinimumParameters{});
  ASSERT_TRUE(report.ok()) << report.status();
  ExpectSameReads(*report, expected->route);
  EXPECT_EQ(report->paths[1].output, all[9].disks[1]);  // the other is full of readers
  books.Add(*report);
  books.Expect(in_band);
  const Tag first = GreedyTag(network, 0, all[9].disks[0]);
  ASSERT_TRUE(fabric->RemoveCircuit(0).ok());
  books.Remove(0, first);
  const std::vector<InBandRead> rest(all.begin() + 20, all.end());
  expected = ByController("collision", books, rest);
  report = Choose(in_band, "collision", rest, network.dimension());
  ASSERT_TRUE(report.ok()) << report.status();
  ExpectSameReads(*report, expected->route);
  books.Add(*report);
  books.Expect(in_band);
}

TEST(InBandReads, RefusesWhatCannotBeAndChangesNothing) {
  const std::unique_ptr<Fabric> fabric = MustLoad(InParts(kKind, 8, 1, 1));
  ASSERT_NE(fabric, nullptr);
  InBand& in_band = **fabric->in_band();
  ASSERT_TRUE(in_band.SetUpReads({{.user = 3, .disks = {1, 6}}}, MinimumParameters{}).ok());
  const std::vector<uint32_t> before = in_band.circuits_on_links();
  const auto expect = [&](const absl::Status& status, absl::StatusCode code, const char* message) {
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_EQ(status.message(), message);
    EXPECT_EQ(in_band.circuits_on_links(), before);
    EXPECT_EQ(fabric->circuits().size(), 1u);
  };
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  const auto read = [&](const std::vector<InBandRead>& reads) {
    return in_band.SetUpReads(reads, MinimumParameters{}).status();
  };
  expect(read({{0, {0, 4}}, {8, {0, 4}}}), kInvalid, "users[1]: 8 is outside 0..7");
  expect(read({{0, {0, 4}}, {0, {1, 5}}}), kInvalid, "users[1]: 0 is used twice");
  expect(read({{0, {4, 4}}}), kInvalid, "disks[0]: 4 is outside 0..3");
  expect(read({{0, {0, 3}}}), kInvalid, "second_disks[0]: 3 is outside 4..7");
  expect(read({{0, {8, 0}, 1}}), kInvalid, "disks[0]: 8 is outside 0..7");
  expect(read({{0, {0, 4}}, {1, {0, 4}, 1}}), kInvalid,
         "users[1]: 1 reads an object in 1 copies, the first one 2");
  expect(read({{3, {0, 4}}}), absl::StatusCode::kFailedPrecondition,
         "users[0]: 3 is busy with a circuit");
  expect(in_band.SetUpReads({{0, {0, 4}}}, CollisionParameters{.c = 0, .c_disk = 5}).status(),
         kInvalid, "c: 0 is outside 1..254");
  expect(in_band.SetUpReads({{0, {0, 4}}}, CollisionParameters{.c = 5, .c_disk = 255}).status(),
         kInvalid, "c_disk: 255 is outside 1..254");
  expect(in_band.SetUp({{0, 1}}, MinimumParameters{}).status(),
         absl::StatusCode::kFailedPrecondition,
         "in_band: the inputs choose among the two paths of a two_fold_butterfly; on a "
         "randomly_wired_butterfly only reads of the data server are set up in band");
  EXPECT_TRUE(read({}).ok());
}

}  // namespace
}  // namespace bfly::dataplane

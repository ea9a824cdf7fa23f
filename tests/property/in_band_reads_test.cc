// SPDX-License-Identifier: Apache-2.0
// Reads of the data server in band: what the paper's rules, written down slowly, and the controller
// choose, whatever the order in which workers get to run.
#include <algorithm>
#include <numeric>

#include "control/protocols/data_server.h"
#include "dataplane/programs/collision.h"
#include "dataplane/programs/given_paths.h"
#include "dataplane/programs/minimum.h"
#include "dataplane/programs/single_paths.h"
#include "tests/property/in_band_model.h"
#include "tests/property/slow_data_server.h"

namespace bfly::dataplane {
namespace {

using control::LinkLoad;
using control::PathChoice;

Network Make(uint32_t rows, uint64_t seed) {
  return *Network::Make({.kind = NetworkKind::kRandomlyWiredButterfly, .rows = rows, .seed = seed});
}

// User u reads object u, in two copies.
std::vector<InBandRead> EveryUserReads(uint32_t rows, uint64_t seed) {
  const std::vector<control::Copies> placed = control::PlaceInTwoCopies(rows, rows, seed);
  std::vector<InBandRead> reads;
  for (Row user = 0; user < rows; ++user) reads.push_back({.user = user, .disks = placed[user]});
  return reads;
}

std::vector<paper::Read> ForPaper(const std::vector<InBandRead>& reads) {
  std::vector<paper::Read> all;
  for (const InBandRead& read : reads) all.push_back({read.user, read.disks});
  return all;
}

std::vector<control::DataServerRequest> ForController(const std::vector<InBandRead>& reads) {
  std::vector<control::DataServerRequest> all;
  for (const InBandRead& read : reads) all.push_back({read.user, read.disks});
  return all;
}

// What stands, counted link by link and disk by disk.
struct Recount {
  explicit Recount(const Network& network) : load(network), disks(network.rows()) {}
  void Add(const InBandPath& path) {
    load.Add(path.input, path.tag);
    ++disks[path.output];
  }
  void Remove(const InBandPath& path) {
    load.Remove(path.input, path.tag);
    --disks[path.output];
  }
  void Expect(const InBandModel& model) const {
    EXPECT_EQ(model.circuits(), load.counts());
    EXPECT_EQ(model.at_disks(), disks);
  }
  LinkLoad load;
  std::vector<uint32_t> disks;
};

void ExpectSame(const InBandReport& in_band, const control::DataServerResult& controller) {
  const control::RouteResult& route = controller.route;
  ASSERT_EQ(in_band.paths.size(), route.paths.size());
  for (size_t i = 0; i < route.paths.size(); ++i) {
    ASSERT_EQ(in_band.paths[i].tag, route.paths[i].tag) << "request " << i;
    ASSERT_EQ(in_band.paths[i].output, route.paths[i].output) << "request " << i;
  }
  EXPECT_EQ(in_band.rounds, route.rounds);
  EXPECT_EQ(in_band.messages, route.messages);
  EXPECT_EQ(in_band.left_per_round, route.left_per_round);
  EXPECT_EQ(in_band.requests_left, route.requests_left);
}

// Active plus selected paths are what the paper counts; in band only active ones are.
TEST(InBandReads, CollisionSelectsRoundByRoundWhatThePaperAndTheControllerDo) {
  for (uint32_t rows : {2u, 4u, 8u, 32u, 128u, 512u}) {
    for (uint64_t seed = 1; seed <= (rows <= 32 ? 8 : 3); ++seed) {
      const Network rb = Make(rows, seed);
      const std::vector<InBandRead> reads = EveryUserReads(rows, seed);
      for (const auto& [c, c_disk] : {std::pair{5u, 5u}, {2u, 3u}, {4u, 2u}, {1u, 1u}}) {
        SCOPED_TRACE(testing::Message()
                     << rows << " rows, seed " << seed << ", c " << c << ", c_disk " << c_disk);
        RouteTable routes(rb, WithoutCircuit::kDrop);
        InBandModel model(rb, static_cast<uint32_t>(seed) + rows + c);
        Collision run(CandidatesOf(rb, reads), {.c = c, .c_disk = c_disk}, routes);
        model.Run(run);
        const InBandReport report = run.Report(rb, 1);
        const paper::SlowReads slow = paper::RunSlowly(rb, ForPaper(reads), static_cast<int>(c),
                                                       static_cast<int>(c_disk), true);
        EXPECT_EQ(report.left_per_round, slow.left_per_round);
        Recount recount(rb);
        for (Row user = 0; user < rows; ++user) {
          const InBandPath& path = report.paths[user];
          const int copy = slow.choice[user];
          ASSERT_EQ(path.choice, copy < 0    ? InBandChoice::kArbitrary
                                 : copy == 0 ? InBandChoice::kP
                                             : InBandChoice::kPPrime);
          ASSERT_EQ(WalkTag(rb, user, path.tag),
                    paper::PathTo(rb, user, reads[user].disks[std::max(copy, 0)]));
          ASSERT_EQ(routes.circuit(user), ToWire(path.tag, rb.hops()));
          recount.Add(path);
        }
        recount.Expect(model);
        ExpectSame(report, *control::RouteDataServerCollision(rb, ForController(reads),
                                                              {.c = c, .c_disk = c_disk}));
        if (report.requests_left.empty()) {
          EXPECT_LE(recount.load.Congestion(), c);
          EXPECT_LE(*std::max_element(recount.disks.begin(), recount.disks.end()), c_disk);
        }
      }
    }
  }
}

TEST(InBandReads, MinimumTakesTheCopyThatThePaperAndTheControllerTake) {
  for (uint32_t rows : {2u, 4u, 16u, 64u, 256u}) {
    for (uint64_t seed = 1; seed <= 4; ++seed) {
      SCOPED_TRACE(testing::Message() << rows << " rows, seed " << seed);
      const Network rb = Make(rows, seed);
      const std::vector<InBandRead> reads = EveryUserReads(rows, seed);
      RouteTable routes(rb, WithoutCircuit::kDrop);
      InBandModel model(rb, static_cast<uint32_t>(seed) + rows);
      Minimum run(CandidatesOf(rb, reads), {}, routes);
      model.Run(run);
      const InBandReport report = run.Report(rb, 1);
      paper::ServerLoad load;
      Recount recount(rb);
      for (Row user = 0; user < rows; ++user) {
        const auto first = paper::PathTo(rb, user, reads[user].disks[0]);
        const auto second = paper::PathTo(rb, user, reads[user].disks[1]);
        const bool is_second = load.Cost(second) < load.Cost(first);
        ASSERT_EQ(WalkTag(rb, user, report.paths[user].tag), is_second ? second : first);
        load.Count(is_second ? second : first);
        recount.Add(report.paths[user]);
      }
      recount.Expect(model);
      control::DataServerResult controller =
          *control::RouteDataServerMinimum(rb, ForController(reads));
      ExpectSame(report, controller);
    }
  }
}

// A third one by one, half of those end, the rest at once: on top of what stands every link and
// every disk counts.
TEST(InBandReads, OnTopOfStandingReadsToo) {
  for (uint64_t seed = 0; seed < 24; ++seed) {
    SCOPED_TRACE(seed);
    const uint32_t rows = 8u << (seed % 5);
    const Network rb = Make(rows, seed);
    // All on a few disks, so that disks matter.
    std::vector<InBandRead> all = EveryUserReads(rows, seed);
    for (InBandRead& read : all) {
      read.disks = {read.disks[0] % 3, rows / 2 + read.disks[1] % 3};
    }
    RouteTable routes(rb, WithoutCircuit::kDrop);
    InBandModel model(rb, static_cast<uint32_t>(seed));
    Recount recount(rb);
    const std::vector<InBandRead> third(all.begin(), all.begin() + rows / 3);
    Minimum minimum(CandidatesOf(rb, third), {}, routes);
    model.Run(minimum);
    const InBandReport first = minimum.Report(rb, 1);
    ExpectSame(first, *control::RouteDataServerMinimum(rb, ForController(third)));
    for (const InBandPath& path : first.paths) recount.Add(path);
    recount.Expect(model);

    std::vector<TaggedPath> ended;
    std::vector<InBandRead> rest(all.begin() + rows / 3, all.end());
    for (size_t i = 0; i < first.paths.size(); i += 2) {
      ended.push_back({first.paths[i].input, first.paths[i].tag});
      recount.Remove(first.paths[i]);
      rest.push_back(third[i]);
    }
    SetGivenCircuits release({.release = ended, .install = {}}, &routes);
    model.Run(release);
    recount.Expect(model);
    for (const TaggedPath& path : ended) EXPECT_EQ(routes.circuit(path.input), 0u);

    paper::ServerLoad load;
    for (size_t i = 1; i < first.paths.size(); i += 2) {
      load.Count(WalkTag(rb, first.paths[i].input, first.paths[i].tag));
    }
    for (const uint32_t c_disk : {2u, 1 + rows / 6}) {
      Collision collision(CandidatesOf(rb, rest), {.c = rows, .c_disk = c_disk}, routes);
      model.Run(collision);
      const InBandReport second = collision.Report(rb, 1);
      EXPECT_EQ(second.left_per_round, paper::RunSlowly(rb, ForPaper(rest), static_cast<int>(rows),
                                                        static_cast<int>(c_disk), true, load)
                                           .left_per_round);
      ExpectSame(second, *control::RouteDataServerCollision(
                             rb, ForController(rest), {.c = std::min(rows, 254u), .c_disk = c_disk},
                             {.links = &recount.load, .disks = &recount.disks}));
      ended.clear();
      for (const InBandPath& path : second.paths) {
        ended.push_back({path.input, path.tag});
        recount.Add(path);
      }
      recount.Expect(model);
      for (const InBandPath& path : second.paths) recount.Remove(path);
      SetGivenCircuits again({.release = ended, .install = {}}, &routes);
      model.Run(again);
      recount.Expect(model);
    }
  }
}

TEST(InBandReads, OfObjectsInOneCopyNothingIsChosen) {
  const uint32_t rows = 64;
  const Network rb = Make(rows, 3);
  const std::vector<Row> disks = control::PlaceInOneCopy(rows, rows, 3);
  std::vector<InBandRead> reads;
  std::vector<Row> users(rows);
  std::iota(users.begin(), users.end(), 0u);
  for (const Row user : users) reads.push_back({user, {disks[user], 0}, 1});
  RouteTable routes(rb, WithoutCircuit::kDrop);
  InBandModel model(rb, 1);
  SinglePaths run(CandidatesOf(rb, reads), routes);
  model.Run(run);
  const InBandReport report = run.Report(rb, 1);
  const control::DataServerResult controller =
      *control::RouteDataServerSingleCopy(rb, users, disks);
  Recount recount(rb);
  for (const Row user : users) {
    EXPECT_EQ(report.paths[user].tag, controller.route.paths[user].tag);
    EXPECT_EQ(report.paths[user].choice, InBandChoice::kOnly);
    recount.Add(report.paths[user]);
  }
  recount.Expect(model);
  EXPECT_EQ(report.left_per_round, controller.route.left_per_round);
  EXPECT_EQ(report.messages, 0u);
  EXPECT_EQ(report.steps, PassSteps{});
  EXPECT_EQ(report.install_messages, 2u * rows);
}

}  // namespace
}  // namespace bfly::dataplane

// SPDX-License-Identifier: Apache-2.0
// The data server on RB_n (Cole et al. 1998, section 3), compared with a slow implementation of the
// paper's rules.
#include "control/protocols/data_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/property/slow_data_server.h"
#include "topologies/random.h"

namespace bfly::control {
namespace {

using ::testing::HasSubstr;

Network Make(uint32_t rows, uint64_t seed) {
  return Network::Make({.kind = NetworkKind::kRandomlyWiredButterfly, .rows = rows, .seed = seed})
      .value();
}

std::vector<DataServerRequest> EveryUserAsks(uint32_t rows, uint64_t seed) {
  const std::vector<Copies> placed = PlaceInTwoCopies(rows, rows, seed);
  std::vector<DataServerRequest> requests;
  for (Row user = 0; user < rows; ++user) requests.push_back({user, placed[user]});
  return requests;
}

TEST(DataServer, CollisionSelectsRoundByRoundWhatThePaperSays) {
  for (uint32_t rows : {2u, 4u, 16u, 64u, 256u}) {
    for (uint64_t seed = 1; seed <= 6; ++seed) {
      const Network rb = Make(rows, seed);
      const auto requests = EveryUserAsks(rows, seed);
      std::vector<paper::Read> asked;
      for (const auto& [user, copies] : requests) asked.push_back({user, copies});
      for (const auto& [c, c_disk] : {std::pair{5u, 5u}, {2u, 3u}, {4u, 2u}, {1u, 1u}}) {
        const DataServerResult result =
            RouteDataServerCollision(rb, requests, {.c = c, .c_disk = c_disk}).value();
        const paper::SlowReads slow =
            paper::RunSlowly(rb, asked, c, c_disk, /*count_selected=*/false);
        // THEORY.md 2.6: both ways to count select exactly the same.
        const paper::SlowReads with_selected =
            paper::RunSlowly(rb, asked, c, c_disk, /*count_selected=*/true);
        ASSERT_EQ(slow.choice, with_selected.choice);
        ASSERT_EQ(slow.left_per_round, with_selected.left_per_round);
        ASSERT_EQ(result.route.left_per_round, slow.left_per_round);
        std::map<Row, uint32_t> readers;
        paper::EdgeLoad load;
        uint32_t contention = 0, congestion = 0;
        for (Row user = 0; user < rows; ++user) {
          const CircuitPath& path = result.route.paths[user];
          const int choice = slow.choice[user];
          ASSERT_EQ(path.choice, choice < 0    ? PathChoice::kArbitrary
                                 : choice == 0 ? PathChoice::kP
                                               : PathChoice::kPPrime);
          ASSERT_EQ(path.output, requests[user].copies[std::max(choice, 0)]);
          const std::vector<Row> rows_of_path = WalkTag(rb, user, path.tag);
          ASSERT_EQ(rows_of_path, paper::PathTo(rb, user, path.output));
          paper::Count(load, rows_of_path);
          contention = std::max(contention, ++readers[path.output]);
        }
        for (const auto& [edge, n] : load) congestion = std::max<uint32_t>(congestion, n);
        EXPECT_EQ(result.disk_contention, contention);
        EXPECT_EQ(result.route.congestion, congestion);
        if (result.route.requests_left.empty()) {
          EXPECT_LE(congestion, c);
          EXPECT_LE(contention, c_disk);
        }
      }
    }
  }
}

// THEORY.md 2.6: with c = c_disk = 5 it ends within 3 rounds, with congestion and contention at
// most 5.
TEST(DataServer, CollisionEndsInThreeRoundsWithTheTheoremsThresholds) {
  for (uint32_t rows : {64u, 256u, 1024u, 4096u, 16384u}) {
    for (uint64_t seed = 1; seed <= 5; ++seed) {
      const Network rb = Make(rows, seed);
      const DataServerResult result =
          RouteDataServerCollision(rb, EveryUserAsks(rows, seed)).value();
      EXPECT_TRUE(result.route.requests_left.empty());
      EXPECT_LE(result.route.rounds, 3u);
      EXPECT_LE(result.route.congestion, 5u);
      EXPECT_LE(result.disk_contention, 5u);
    }
  }
}

TEST(DataServer, MinimumChoosesAsThePaperSaysUnderRandomArrivalsAndDepartures) {
  for (uint32_t rows : {2u, 8u, 64u}) {
    const Network rb = Make(rows, rows);
    DataServer server = DataServer::Make(rb).value();
    paper::EdgeLoad load;
    std::map<Row, int> readers;
    std::map<Row, std::vector<Row>> reads;
    const auto cost = [&](const std::vector<Row>& path) {
      int most = readers[path.back()];
      for (size_t level = 0; level + 1 < path.size(); ++level) {
        most = std::max(most, load[{static_cast<Row>(level), path[level], path[level + 1]}]);
      }
      return most;
    };
    uint64_t counter = 0;
    const auto draw = [&](uint32_t n) {
      return RandomBelow(rows, RandomStream::kTest, counter++, n);
    };
    for (int step = 0; step < 2000; ++step) {
      const Row user = draw(rows);
      const Copies copies = {draw(rows / 2), rows / 2 + draw(rows / 2)};
      if (reads.contains(user)) {
        ASSERT_EQ(server.SetUp(user, copies).status().code(),
                  absl::StatusCode::kFailedPrecondition);
        ASSERT_EQ(server.Release(user)->output, reads[user].back());
        paper::Count(load, reads[user], -1);
        --readers[reads[user].back()];
        reads.erase(user);
        continue;
      }
      ASSERT_EQ(server.Release(user).status().code(), absl::StatusCode::kNotFound);
      const auto first = paper::PathTo(rb, user, copies[0]),
                 second = paper::PathTo(rb, user, copies[1]);
      reads[user] = cost(first) <= cost(second) ? first : second;
      const CircuitPath path = server.SetUp(user, copies).value();
      ASSERT_EQ(path.output, reads[user].back());
      paper::Count(load, reads[user]);
      ++readers[path.output];
      ASSERT_EQ(server.disk_load()[path.output], static_cast<uint32_t>(readers[path.output]));
    }
    for (const auto& [edge, n] : load) {
      const int port = rb.next_row(edge[0], edge[1], 1) == edge[2];
      ASSERT_EQ(server.load().on({static_cast<int>(edge[0]), edge[1], port}),
                static_cast<uint32_t>(n));
    }
  }
}

TEST(DataServer, TwoCopiesAreUniformOverTheHalvesOfTheDisks) {
  std::vector<int> seen(16);
  for (const Copies& copies : PlaceInTwoCopies(16, 16000, 3)) {
    ASSERT_LT(copies[0], 8u);
    ASSERT_GE(copies[1], 8u);
    ++seen[copies[0]];
    ++seen[copies[1]];
  }
  for (int count : seen) EXPECT_NEAR(count, 2000, 5 * 42);  // sd = sqrt(16000 * 1/8 * 7/8)
}

// The reason for two copies: on average over seeds, one copy is worse on both counts.
TEST(DataServer, OneCopyIsFullerThanTwo) {
  uint32_t one_contention = 0, two_contention = 0, one_congestion = 0, two_congestion = 0;
  const uint32_t rows = 1024;
  std::vector<Row> users(rows);
  for (Row user = 0; user < rows; ++user) users[user] = user;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const Network rb = Make(rows, seed);
    const auto one = RouteDataServerSingleCopy(rb, users, PlaceInOneCopy(rows, rows, seed)).value();
    const auto two = RouteDataServerMinimum(rb, EveryUserAsks(rows, seed)).value();
    one_contention += one.disk_contention;
    two_contention += two.disk_contention;
    one_congestion += one.route.congestion;
    two_congestion += two.route.congestion;
  }
  EXPECT_GT(one_contention, two_contention);
  EXPECT_GT(one_congestion, two_congestion);
}

TEST(DataServer, RefusesWhatIsWrongNamingIt) {
  const Network rb = Make(8, 1);
  const auto error = [&](const std::vector<DataServerRequest>& requests) {
    return std::string(RouteDataServerCollision(rb, requests).status().message());
  };
  EXPECT_EQ(error({{0, {0, 4}}, {8, {0, 4}}}), "requests[1].user: 8 is outside 0..7");
  EXPECT_EQ(error({{0, {4, 4}}}), "requests[0].first copy: disk 4 is outside the first half, 0..3");
  EXPECT_EQ(error({{0, {0, 3}}}),
            "requests[0].second copy: disk 3 is outside the second half, 4..7");
  EXPECT_EQ(error({{0, {0, 4}}, {0, {1, 5}}}), "requests[1].user: 0 asks twice");
  EXPECT_THAT(std::string(RouteDataServerCollision(rb, {}, {.c = 255}).status().message()),
              HasSubstr("c: 255 is outside 1..254"));
  const Network b = Network::Make({.kind = NetworkKind::kButterfly, .rows = 8}).value();
  EXPECT_EQ(RouteDataServerCollision(b, {}).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(DataServer::Make(b).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(RouteDataServerSingleCopy(rb, {0, 0}, {1, 2}).status().message(),
            "users[1]: user 0 asks twice");
  EXPECT_EQ(RouteDataServerSingleCopy(rb, {0}, {}).status().message(),
            "disks: 0 given for 1 users");
}

}  // namespace
}  // namespace bfly::control

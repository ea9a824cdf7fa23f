// SPDX-License-Identifier: Apache-2.0
// The rounds of collision on several threads select what they select on one thread. route_test.cc
// and data_server_test.cc show that one thread selects what the paper says.
#include <gtest/gtest.h>

#include <algorithm>

#include "control/protocols/circuit_set.h"
#include "control/protocols/data_server.h"
#include "tests/property/same_route.h"
#include "tests/sanitized.h"
#include "topologies/random.h"

namespace bfly::control {
namespace {

Network Make(NetworkKind kind, uint32_t rows, uint64_t seed) {
  return Network::Make({.kind = kind, .rows = rows, .seed = seed}).value();
}

std::vector<Request> RequestsOf(uint64_t seed, uint32_t rows, uint32_t count) {
  const Permutation pi = RandomPermutation(seed, RandomStream::kTest, rows);
  std::vector<Request> requests;
  for (Row input = 0; input < count; ++input) requests.push_back({input, pi[input]});
  return requests;
}

TEST(ParallelCollision, SelectsTheSameForAnyNumberOfWorkers) {
  for (const uint32_t rows : {2u, 8u, 64u, 1024u, 65536u}) {
    const Network bb = Make(NetworkKind::kTwoFoldButterfly, rows, 3);
    const LinkLoad empty(bb);
    // Some inputs ask for nothing.
    const std::vector<Request> requests = RequestsOf(rows, rows, rows - rows / 8);
    // c = 1 stops with most requests left, c = 2 takes many rounds, the last of few requests.
    for (const uint32_t c : {1u, 2u, 4u}) {
      const RouteResult one = RoutePermutation("collision", empty, requests, {.c = c}).value();
      for (const uint32_t workers : {2u, 3u, 8u, 64u}) {
        if (workers == 64 && rows != 1024) continue;
        if (kSanitized && rows > 1024 && workers != 3) continue;
        SCOPED_TRACE(testing::Message() << rows << " rows, c " << c << ", " << workers);
        ExpectSameRoute(
            one,
            RoutePermutation("collision", empty, requests, {.c = c, .workers = workers}).value());
      }
    }
  }
}

// This shows that the comparison above compares something.
TEST(ParallelCollision, LeavesRequestsAndTakesRounds) {
  const Network bb = Make(NetworkKind::kTwoFoldButterfly, 65536, 3);
  const std::vector<Request> requests = RequestsOf(65536, 65536, 65536);
  const auto run = [&](uint32_t c, uint32_t rounds) {
    return RoutePermutation("collision", LinkLoad(bb), requests,
                            {.c = c, .max_rounds = rounds, .workers = 2})
        .value();
  };
  EXPECT_GT(run(1, 0).requests_left.size(), 40000u);
  EXPECT_GE(run(2, 0).rounds, 3u);
  EXPECT_EQ(run(2, 1).rounds, 1u);
  const RouteResult ended = run(4, 0);
  EXPECT_TRUE(ended.requests_left.empty());
  EXPECT_LE(ended.congestion, 4u);
}

TEST(ParallelCollision, CountsStandingCircuitsTheSame) {
  const Network bb = Make(NetworkKind::kTwoFoldButterfly, 1024, 5);
  const auto valiant = MakeChooser("valiant", bb, {.seed = 1}).value();
  const std::vector<Request> requests = RequestsOf(7, 1024, 1024);
  CircuitSet circuits(bb);
  for (size_t i = 0; i < 512; ++i) {
    ASSERT_TRUE(circuits.SetUp(*valiant, requests[i].input, requests[i].output).ok());
  }
  const std::vector<Request> rest(requests.begin() + 512, requests.end());
  for (const uint32_t c : {2u, 4u}) {
    const RouteResult one = RoutePermutation("collision", circuits.load(), rest, {.c = c}).value();
    for (const uint32_t workers : {2u, 3u, 8u}) {
      ExpectSameRoute(
          one, RoutePermutation("collision", circuits.load(), rest, {.c = c, .workers = workers})
                   .value());
    }
  }
}

TEST(ParallelCollision, ServesTheSameCopiesForAnyNumberOfWorkers) {
  for (const uint32_t rows : {4u, 256u, 16384u}) {
    const Network rb = Make(NetworkKind::kRandomlyWiredButterfly, rows, 2);
    const std::vector<Copies> placed = PlaceInTwoCopies(rows, rows, 9);
    std::vector<DataServerRequest> requests;
    for (Row user = 0; user < rows; ++user) requests.push_back({user, placed[user]});
    for (const uint32_t c : {2u, 5u}) {
      const auto run = [&](uint32_t workers) {
        return RouteDataServerCollision(rb, requests, {.c = c, .c_disk = c, .workers = workers})
            .value();
      };
      const DataServerResult one = run(1);
      for (const uint32_t workers : {2u, 3u, 8u}) {
        const DataServerResult several = run(workers);
        ExpectSameRoute(one.route, several.route);
        EXPECT_EQ(one.disk_contention, several.disk_contention);
      }
    }
  }
}

TEST(ParallelCollision, RefusesMoreWorkersThanThereMayBe) {
  const Network rb = Make(NetworkKind::kRandomlyWiredButterfly, 4, 2);
  EXPECT_EQ(RouteDataServerCollision(rb, {}, {.workers = 65}).status().message(),
            "workers: 65 is outside 1..64 (0: 1)");
}

}  // namespace
}  // namespace bfly::control

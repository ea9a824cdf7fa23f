// SPDX-License-Identifier: Apache-2.0
// What RunRoute refuses, and files of destinations.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "dataplane/steps/route.h"
#include "tests/unit/route_fixture.h"
#include "topologies/relation_file.h"

namespace bfly::dataplane {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(RouteInput, RefusesToRunWhereEveryNodeOfALevelIsDown) {
  const Network network = Multibutterfly(16, 2);
  FaultSet faults(network);
  for (Row row = 0; row < 16; ++row) faults.SetNodeUp({2, row}, false);
  const RouteRequest request{.relation = *RelationByName("identity", 16, 1, 1)};
  for (const char* program : {"waves", "store_and_forward"}) {
    const absl::Status status = RunRoute(program, network, faults, request, {}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("none of the 16 packets can be delivered, because every node of level 2 "
                          "is down"));
  }
}

TEST(RouteInput, RefusesFaultsWhereTheAlgorithmDoesNotKnowThem) {
  const Network network = Multibutterfly(16, 2);
  FaultSet faults(network);
  faults.SetNodeUp({0, 3}, false);
  const RouteRequest request{.relation = *RelationByName("identity", 16, 1, 1),
                             .h_relation = {.neighbours = 2, .share = 1}};
  const absl::Status status = RunRoute("h_relation", network, faults, request, {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("h_relation chooses paths without looking for faults"));
}

TEST(RouteInput, NamesTheNetworksOnWhichAnAlgorithmIsDefined) {
  const Network hypercube = *Network::Make({.kind = NetworkKind::kHypercube, .rows = 16});
  const RouteRequest request{.relation = *RelationByName("identity", 16, 1, 1)};
  EXPECT_THAT(ErrorOf("waves", hypercube, request),
              AllOf(HasSubstr("hypercube"), HasSubstr("waves runs on: butterfly without extra")));
  EXPECT_THAT(ErrorOf("h_relation", Butterfly(16), request),
              AllOf(HasSubstr("not on a butterfly"), HasSubstr("runs on: multibutterfly")));
  EXPECT_THAT(ErrorOf("greedy", hypercube, request),
              HasSubstr("greedy runs on: butterfly without"));
  EXPECT_THAT(ErrorOf("extra_stages", hypercube, request), HasSubstr("runs on: butterfly, with"));
  EXPECT_THAT(ErrorOf("store_and_forward", hypercube, request), HasSubstr("multibutterfly"));
  EXPECT_THAT(ErrorOf("flood", hypercube, request),
              HasSubstr("\"flood\" is none of waves, greedy, h_relation"));
}

TEST(RouteInput, SaysWhichRowMakesThePacketsNoHRelation) {
  const Network network = Multibutterfly(4, 2);
  RouteRequest request{.relation = RelationOf({{0, 1}, {0}, {0}, {3}}), .h = 2};
  EXPECT_THAT(ErrorOf("h_relation", network, request),
              HasSubstr("row 0 receives 3 messages, more than h = 2"));
  request.h = 0;
  EXPECT_THAT(ErrorOf("waves", network, request), HasSubstr("row 0 sends 2 messages"));
  EXPECT_THAT(ErrorOf("extra_stages", Butterfly(4), request),
              HasSubstr("row 1 sends 1 packets and row 0 sends 2"));
  request.relation = RelationOf({{}, {0}, {1}, {2}});
  EXPECT_THAT(ErrorOf("extra_stages", Butterfly(4), request),
              HasSubstr("row 1 sends 1 packets and row 0 sends 0"));
  request.relation = RelationOf({{0}, {0}, {2}, {3}});
  EXPECT_THAT(ErrorOf("extra_stages", Butterfly(4), request), HasSubstr("packet 0 of the inputs"));
  request.relation = RelationOf({{}, {}, {}, {}});
  EXPECT_THAT(ErrorOf("waves", network, request), HasSubstr("no input sends a packet"));
}

TEST(RouteInput, RefusesFieldsOutOfRange) {
  const Network network = Multibutterfly(4, 2);
  const RouteRequest request{.relation = *RelationByName("identity", 4, 1, 1), .waves = 5};
  // The network is not at fault, so the message does not speak of networks.
  EXPECT_THAT(ErrorOf("waves", network, request),
              AllOf(HasSubstr("waves: 5 is outside 1..4"), Not(HasSubstr("runs on"))));
  RouteRequest good = request;
  good.waves = 1;
  EXPECT_THAT(std::string(Try("waves", network, good, {.workers = 0}).status().message()),
              HasSubstr("workers: 0 is outside 1..256"));
  EXPECT_THAT(std::string(Try("waves", network, good, {.level = 3}).status().message()),
              HasSubstr("level: 3 is outside 0..2"));
}

TEST(RouteInput, NamesTheBytesThatTooManyPacketsWouldTake) {
  const Network network = Butterfly(1024);
  // 2^14 packets of 1,024 inputs over 10 links: 2^24 * (10 * 8 + 4) bytes. 2^30 / 1,024 / 84 is
  // 12483.05.
  const RouteRequest request{.relation = *RelationByName("identity", 1024, 1 << 14, 1)};
  const absl::Status status = Try("store_and_forward", network, request).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("1409286144 bytes"), HasSubstr("use a smaller h (12483 fits)")));
}

// A packet takes 20 * 8 + 4 bytes, and a node 32 bytes and 4 for each of its two links:
// 2^20 * (164 + 21 * 40) bytes are 1,004 MiB.
TEST(RouteInput, CountsTheMemoryOfNodes) {
  const Network large = Butterfly(1 << 20);
  RouteRequest request{.relation = *RelationByName("identity", 1 << 20, 1, 1), .queue_limit = 4};
  const absl::Status status = Try("greedy", large, request, {.max_bytes = 512 << 20}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("greedy takes 1004 MiB for 1048576 packets and the nodes of 1048576 rows, "
                        "and 512 MiB are left"));
  request.relation = *RelationByName("identity", 4, 1, 1);
  const uint64_t need = 4 * (2 * 8 + 4) + 3 * 4 * 40;
  EXPECT_EQ(Try("greedy", Butterfly(4), request, {.max_bytes = need - 1}).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(Try("greedy", Butterfly(4), request, {.max_bytes = need}).ok());
}

TEST(RouteInput, TakesAnyLimitOfSteps) {
  const Network network = Multibutterfly(16, 2);
  RouteRequest request{.relation = *RelationByName("random", 16, 1, 5)};
  for (const char* program : {"waves", "greedy", "store_and_forward"}) {
    request.max_steps = 0;
    const RouteReport free = *Try(program, network, request);
    for (request.max_steps = UINT64_MAX; request.max_steps > 1ull << 61; request.max_steps /= 2) {
      const RouteReport limited = *Try(program, network, request);
      EXPECT_TRUE(limited.finished) << program << " " << request.max_steps;
      EXPECT_EQ(limited.steps, free.steps) << program;
    }
    request.max_steps = 1ull << 63;
    EXPECT_EQ(Try(program, network, request)->steps, free.steps) << program;
  }
}

TEST(RelationFile, HasALineForEachInput) {
  const Relation relation = *RelationFromText("3 1 # two\n-\n\n0,2\n1\n", 4, "r");
  EXPECT_THAT(relation.first, ElementsAre(0u, 2u, 2u, 4u, 5u));
  EXPECT_THAT(relation.destinations, ElementsAre(3u, 1u, 0u, 2u, 1u));
}

TEST(RelationFile, ErrorsNameTheirLine) {
  EXPECT_EQ(RelationFromText("0\n4\nx 1\n3 -1\n", 4, "r").status().message(),
            "r:2: \"4\" is not an output row, 0..3; - is an input that sends nothing\n"
            "r:3: \"x\" is not an output row, 0..3; - is an input that sends nothing\n"
            "r:4: \"-1\" is not an output row, 0..3; - is an input that sends nothing");
  EXPECT_EQ(RelationFromText("0\n1\n", 4, "r").status().message(),
            "r: 2 lines of inputs given, the network has 4 rows");
  EXPECT_THAT(std::string(ReadRelationFile("/nowhere", 4).status().message()),
              HasSubstr("destinations: cannot open /nowhere"));
}

}  // namespace
}  // namespace bfly::dataplane

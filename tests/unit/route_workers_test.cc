// SPDX-License-Identifier: Apache-2.0
// RunRoute by a crew whose workers own nodes of the network.
#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <vector>

#include "dataplane/steps/packet_traffic.h"
#include "tests/unit/route_fixture.h"

namespace bfly::dataplane {
namespace {

// Workers that own nodes: the inputs' level, and the upper and the lower rows of the others. This
// thread does the work of all of them.
class OwningCrew final : public Crew {
 public:
  explicit OwningCrew(const Network& network)
      : Crew(1, {{0, 1, 0, network.rows()},
                 {1, network.hops() + 1, 0, network.rows() / 2},
                 {1, network.hops() + 1, network.rows() / 2, network.rows()}}) {}
  int led = 0;
  int calls_left = INT_MAX;  // then the crew gives up

 private:
  void Do(size_t count, const Call& call) override {
    if (calls_left-- <= 0) set_given_up(true);
    if (given_up()) return;
    while (count-- > 0) call(0, count);
  }
  void DoLead(const Call& call) override {
    ++led;
    call(0, 0);
  }
};

// Every crossing of the traffic is one that a walk over the network allows, and there are as many
// as the report says. Every packet begins once, at its input, and its crossings are a path to its
// output.
void ExpectTraffic(const Network& network, const Relation& relation, const RouteReport& report,
                   PacketTraffic& traffic) {
  uint64_t begun = 0, delivered = 0;
  std::vector<int> beginnings(report.packets);
  std::vector<std::vector<Row>> tails(
      report.packets, std::vector<Row>(static_cast<size_t>(network.hops()), UINT32_MAX));
  std::vector<std::vector<Row>> heads = tails;
  std::vector<uint32_t> carried(network.link_count());
  for (size_t block = 0; block < traffic.map().blocks().size(); ++block) {
    const NodeBlock& nodes = traffic.map().blocks()[block];
    begun += traffic.of_block(block).begun;
    for (const BlockTraffic::Beginning& beginning : traffic.of_block(block).beginnings) {
      EXPECT_TRUE(nodes.first_level == 0 && beginning.input >= nodes.first_row &&
                  beginning.input < nodes.end_row);
      ++beginnings.at(beginning.packet);
      EXPECT_GE(beginning.packet, relation.first[beginning.input]);
      EXPECT_LT(beginning.packet, relation.first[beginning.input + 1]);
      tails[beginning.packet].push_back(beginning.input);
    }
    for (const BlockTraffic::Crossing& crossing : traffic.of_block(block).crossings) {
      const Row tail = crossing.link / static_cast<uint32_t>(network.ports());
      const int port = static_cast<int>(crossing.link % static_cast<uint32_t>(network.ports()));
      EXPECT_TRUE(crossing.hop >= nodes.first_level && crossing.hop < nodes.end_level);
      EXPECT_TRUE(tail >= nodes.first_row && tail < nodes.end_row);
      EXPECT_EQ(crossing.head, network.next_row(network.stage_of_hop(crossing.hop), tail, port));
      ++carried[network.link_index({network.stage_of_hop(crossing.hop), tail, port})];
      delivered += crossing.hop + 1 == network.hops();
      Row& of_packet = tails.at(crossing.packet)[static_cast<size_t>(crossing.hop)];
      EXPECT_EQ(of_packet, UINT32_MAX) << "packet " << crossing.packet << " crosses a hop twice";
      of_packet = tail;
      heads[crossing.packet][static_cast<size_t>(crossing.hop)] = crossing.head;
    }
  }
  for (size_t packet = 0; packet < report.packets; ++packet) {
    EXPECT_EQ(beginnings[packet], 1);
    for (size_t hop = 0; hop < heads[packet].size(); ++hop) {
      const Row at = hop == 0 ? tails[packet].back() : heads[packet][hop - 1];
      EXPECT_EQ(tails[packet][hop], at);
    }
    EXPECT_EQ(heads[packet].back(), relation.destinations[packet]);
  }
  EXPECT_EQ(begun, report.packets - report.left_out);
  EXPECT_EQ(delivered, report.delivered);
  EXPECT_EQ(*std::max_element(carried.begin(), carried.end()), report.congestion);
}

struct Case {
  const char* program;
  Network network;
  RouteRequest request;
};

std::vector<Case> Cases() {
  return {
      {"waves", Multibutterfly(64, 2), {.relation = *RelationByName("random", 64, 1, 5)}},
      {"waves",
       Multibutterfly(64, 2),
       {.relation = *RelationByName("random", 64, 1, 5), .waves = 3}},
      {"greedy", Multibutterfly(64, 2), {.relation = *RelationByName("random", 64, 3, 5)}},
      {"greedy",
       Multibutterfly(64, 2),
       {.relation = *RelationByName("bitrev", 64, 3, 5), .queue_limit = 2}},
      {"store_and_forward",
       Multibutterfly(64, 2),
       {.relation = *RelationByName("random", 64, 3, 5)}},
      {"extra_stages", Butterfly(64, 2), {.relation = *RelationByName("random", 64, 3, 5)}},
      {"h_relation",
       Multibutterfly(64, 8),
       {.relation = *RelationByName("random", 64, 4, 1),
        .h_relation = {.neighbours = 4, .share = 16}}},
  };
}

TEST(RouteOnWorkers, IsTheSameWhereWorkersOwnNodesAndTellsThemOfTheirPackets) {
  for (const Case& c : Cases()) {
    const RouteOptions plain{.level = 2};
    const RouteReport one = *Try(c.program, c.network, c.request, plain);
    OwningCrew crew(c.network);
    PacketTraffic traffic(c.network, crew.blocks());
    traffic.set_lists_beginnings(true);
    const RouteReport owned =
        *Try(c.program, c.network, c.request, {.level = 2, .crew = &crew, .traffic = &traffic});
    SCOPED_TRACE(c.program);
    EXPECT_EQ(crew.led, 1);
    EXPECT_TRUE(owned.finished);
    EXPECT_EQ(owned.trouble, one.trouble);
    EXPECT_EQ(owned.steps, one.steps);
    EXPECT_EQ(owned.steps_not_taken, one.steps_not_taken);
    EXPECT_EQ(owned.phases, one.phases);
    EXPECT_EQ(owned.delivered, one.delivered);
    EXPECT_EQ(owned.mean_latency, one.mean_latency);
    EXPECT_EQ(owned.stage_congestion, one.stage_congestion);
    EXPECT_EQ(owned.standing, one.standing);
    EXPECT_EQ(owned.standing_of_level, one.standing_of_level);
    ExpectTraffic(c.network, c.request.relation, owned, traffic);
  }
}

// After three calls packets have crossed a link and none has arrived.
TEST(RouteOnWorkers, ARunThatIsGivenUpHasNoReport) {
  for (const Case& c : Cases()) {
    for (const int calls : {0, 3, 12}) {
      OwningCrew crew(c.network);
      crew.calls_left = calls;
      EXPECT_EQ(Try(c.program, c.network, c.request, {.level = 2, .crew = &crew}).status().code(),
                absl::StatusCode::kCancelled)
          << c.program << " after " << calls << " calls";
    }
  }
}

}  // namespace
}  // namespace bfly::dataplane

// SPDX-License-Identifier: Apache-2.0
// A recording is walked again, packet by packet and step by step, by the network's links alone, and
// what the walk counts is compared with the report of the same run.
#include "dataplane/steps/route_recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "tests/unit/route_fixture.h"

namespace bfly::dataplane {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Walk {
  uint64_t begun = 0;
  uint64_t delivered = 0;
  uint64_t latencies = 0;
  uint64_t most_latency = 0;
  uint64_t last_step = 0;
  std::map<uint32_t, uint64_t> last_of_begin;  // by the step in which packets begin
  uint32_t congestion = 0;
  uint32_t most_at_once = 0;    // over one link in one step
  uint32_t most_at_a_node = 0;  // at the end of any step, and at the inputs at the beginning
};

// Every expectation of a walk holds for every program.
Walk WalkAgain(const Network& network, const FaultSet& faults, const Relation& relation,
               const RouteRecording& recording, uint64_t steps) {
  Walk walk;
  const size_t packets = relation.destinations.size();
  EXPECT_EQ(recording.inputs.size(), packets);
  EXPECT_EQ(recording.begins.size(), packets);
  EXPECT_EQ(recording.links.size(), packets);
  EXPECT_EQ(recording.outputs, relation.destinations);
  std::map<std::tuple<uint64_t, int, Row, uint32_t>, uint32_t> taken;  // by step and link
  std::map<std::tuple<int, Row, uint32_t>, uint32_t> carried;          // by link
  std::map<std::tuple<uint64_t, int, Row>, uint32_t> standing;         // by step, level and row
  size_t next = 0;
  for (size_t packet = 0; packet < packets; ++packet) {
    Row row = recording.inputs[packet];
    EXPECT_GE(packet, relation.first[row]);
    EXPECT_LT(packet, relation.first[row + 1]);
    const bool begun = recording.begins[packet] != RouteRecording::kNotSent;
    EXPECT_TRUE(begun || recording.links[packet] == 0);
    walk.begun += begun;
    uint64_t came = recording.begins[packet];
    for (uint32_t link = 0; link <= recording.links[packet] && begun; ++link) {
      const int level = static_cast<int>(link);
      const bool leaves = link < recording.links[packet];
      const uint64_t left = leaves ? recording.steps.at(next) : steps + 1;
      for (uint64_t step = came; step < left; ++step) {
        walk.most_at_a_node = std::max(walk.most_at_a_node, ++standing[{step, level, row}]);
      }
      if (!leaves) break;
      EXPECT_GT(left, came);
      const uint32_t port = recording.ports.at(next);
      EXPECT_LT(port, static_cast<uint32_t>(network.ports()));
      const int stage = network.stage_of_hop(level);
      walk.most_at_once = std::max(walk.most_at_once, ++taken[{left, stage, row, port}]);
      EXPECT_FALSE(faults.blocks(network.link_index({stage, row, static_cast<int>(port)})));
      walk.congestion = std::max(walk.congestion, ++carried[{stage, row, port}]);
      row = network.next_row(stage, row, static_cast<int>(port));
      EXPECT_EQ(recording.rows.at(next), row);
      came = left;
      walk.last_step = std::max(walk.last_step, left);
      uint64_t& last = walk.last_of_begin[recording.begins[packet]];
      last = std::max(last, left);
      ++next;
    }
    if (recording.links[packet] < static_cast<uint32_t>(network.hops())) continue;
    EXPECT_EQ(row, relation.destinations[packet]) << packet;
    ++walk.delivered;
    const uint64_t latency = came - recording.begins[packet];
    walk.latencies += latency;
    walk.most_latency = std::max(walk.most_latency, latency);
  }
  EXPECT_EQ(recording.steps.size(), next);
  EXPECT_EQ(recording.ports.size(), next);
  EXPECT_EQ(recording.rows.size(), next);
  return walk;
}

struct Recorded {
  RouteReport report;
  Walk walk;
};

Recorded Record(absl::string_view program, const Network& network, const FaultSet& faults,
                const RouteRequest& request) {
  RouteRecording recording;
  const absl::StatusOr<RouteReport> report =
      RunRoute(program, network, faults, request, {.recording = &recording});
  EXPECT_TRUE(report.ok()) << report.status();
  if (!report.ok()) return {};
  const Walk walk = WalkAgain(network, faults, request.relation, recording, report->steps);
  // A node of an h-relation sends a batch in a step.
  if (program != "h_relation") {
    EXPECT_EQ(walk.most_at_once, 1u) << program;
  }
  EXPECT_EQ(walk.delivered, report->delivered);
  EXPECT_EQ(walk.congestion, report->congestion);
  EXPECT_EQ(walk.most_latency, report->max_latency);
  EXPECT_DOUBLE_EQ(static_cast<double>(walk.latencies),
                   report->mean_latency * static_cast<double>(report->delivered));
  return {*report, walk};
}

std::vector<Network> NetworksOfOneBitAHop() {
  std::vector<Network> networks;
  networks.push_back(Butterfly(16));
  networks.push_back(Multibutterfly(16, 2));
  networks.push_back(
      *Network::Make({.kind = NetworkKind::kRandomlyWiredButterfly, .rows = 32, .seed = 5}));
  networks.push_back(
      *Network::Make({.kind = NetworkKind::kDilatedButterfly, .rows = 16, .multiplicity = 2}));
  return networks;
}

// A wave's phases are whole, and the next wave begins where they end.
uint64_t StepsOfWaves(const Network& network, const Walk& walk) {
  const auto phase = static_cast<uint64_t>(network.ports());
  uint64_t end = 0;
  for (const auto& [begin, last] : walk.last_of_begin) {
    EXPECT_EQ(begin, end) << "a wave begins before the wave before it is over";
    end = begin + (last - begin + phase - 1) / phase * phase;
  }
  return end;
}

TEST(RouteRecording, WavesHoldOnePacketANodeAndEndAtTheirOutputs) {
  for (const Network& network : NetworksOfOneBitAHop()) {
    for (const uint32_t waves : {1u, 4u}) {
      const RouteRequest request{
          .relation = *RelationByName("random", network.rows(), 1, 7), .seed = 7, .waves = waves};
      const auto [report, walk] = Record("waves", network, FaultSet(network), request);
      EXPECT_EQ(walk.delivered, network.rows());
      EXPECT_EQ(walk.most_at_a_node, 1u);
      EXPECT_EQ(walk.last_of_begin.size(), waves);
      EXPECT_EQ(report.steps, StepsOfWaves(network, walk));
    }
  }
}

TEST(RouteRecording, GreedyAndStoreAndForwardEndInTheStepOfTheirLastCrossing) {
  for (const Network& network : NetworksOfOneBitAHop()) {
    for (const char* program : {"greedy", "store_and_forward"}) {
      const RouteRequest request{.relation = *RelationByName("random", network.rows(), 3, 7),
                                 .seed = 7};
      const auto [report, walk] = Record(program, network, FaultSet(network), request);
      EXPECT_EQ(walk.delivered, 3u * network.rows()) << program;
      EXPECT_EQ(report.steps, walk.last_step) << program;
    }
  }
}

TEST(RouteRecording, ALimitOfQueuesHoldsInEveryStep) {
  const Network network = Butterfly(16);
  const RouteRequest request{.relation = *RelationByName("bitrev", 16, 1, 7), .queue_limit = 2};
  const auto [report, walk] = Record("greedy", network, FaultSet(network), request);
  EXPECT_EQ(walk.delivered, 16u);
  EXPECT_EQ(walk.most_at_a_node, 2u);
}

TEST(RouteRecording, ExtraStagesAndRelationsAreWalkedToo) {
  const Network with_extra = Butterfly(16, 3);
  const RouteRequest sequence{.relation = *RelationByName("random", 16, 5, 9), .seed = 9};
  const Recorded extra = Record("extra_stages", with_extra, FaultSet(with_extra), sequence);
  EXPECT_EQ(extra.walk.delivered, 80u);
  EXPECT_EQ(extra.report.steps, extra.walk.last_step);
  const Network splitters = Multibutterfly(32, 2);
  const RouteRequest relation{.relation = *RelationByName("random", 32, 4, 9), .seed = 9};
  const Recorded h_relation = Record("h_relation", splitters, FaultSet(splitters), relation);
  EXPECT_EQ(h_relation.walk.delivered, 128u);
  // Of the last stage's steps some may be left.
  const uint64_t stage = h_relation.report.steps / h_relation.report.phases;
  EXPECT_LE(h_relation.walk.last_step, h_relation.report.steps);
  EXPECT_GT(h_relation.walk.last_step + stage, h_relation.report.steps);
}

TEST(RouteRecording, NoPacketCrossesALinkThatIsDown) {
  const Network network = Multibutterfly(32, 2);
  FaultSet faults(network);
  faults.SetLinkUp({0, 3, 1}, false);
  faults.SetLinkUp({2, 9, 0}, false);
  faults.SetNodeUp({3, 17}, false);
  faults.SetNodeUp({0, 5}, false);
  for (const char* program : {"waves", "store_and_forward"}) {
    const RouteRequest request{.relation = *RelationByName("random", 32, 1, 7), .seed = 7};
    const auto [report, walk] = Record(program, network, faults, request);
    EXPECT_GE(report.left_out, 1u);  // input 5 is down
    EXPECT_EQ(walk.begun, 32 - report.left_out) << program;
    EXPECT_EQ(walk.delivered, walk.begun) << program;
  }
}

// The run of CountsByHandWhatWaitsBeforeAFullLink in route_test.cc: inputs 0 and 2 send two packets
// each to output 0. Both send one in step 1 and one in step 2, and the last link takes one a step.
TEST(RouteRecording, IsWhatAHandWrites) {
  const Network network = Butterfly(4);
  const RouteRequest request{.relation = RelationOf({{0, 0}, {}, {0, 0}, {}})};
  RouteRecording recording;
  ASSERT_TRUE(Try("store_and_forward", network, request, {.recording = &recording}).ok());
  EXPECT_THAT(recording.inputs, ElementsAre(0, 0, 2, 2));
  EXPECT_THAT(recording.begins, ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(recording.links, ElementsAre(2, 2, 2, 2));
  EXPECT_THAT(recording.rows, ElementsAre(0, 0, 0, 0, 0, 0, 0, 0));
  EXPECT_THAT(recording.ports, ElementsAre(0, 0, 0, 0, 0, 0, 0, 0));
  std::vector<uint32_t> first = {recording.steps[0], recording.steps[2]};
  EXPECT_THAT(first, testing::UnorderedElementsAre(1, 2));
  std::vector<uint32_t> arrivals = {recording.steps[1], recording.steps[3], recording.steps[5],
                                    recording.steps[7]};
  EXPECT_THAT(arrivals, testing::UnorderedElementsAre(2, 3, 4, 5));
}

TEST(RouteRecording, ARunThatIsCutShortIsRecordedAsFarAsItCame) {
  const Network network = Butterfly(4);
  const RouteRequest request{.relation = RelationOf({{0, 0}, {}, {0, 0}, {}}), .max_steps = 3};
  const auto [report, walk] = Record("greedy", network, FaultSet(network), request);
  EXPECT_FALSE(report.finished);
  EXPECT_EQ(report.steps, 3u);
  EXPECT_EQ(walk.delivered, 2u);  // in steps 2 and 3
}

// 2^17 crossings: 32,768 packets over 4 links each.
TEST(RouteRecording, TheLimitIsToldWithWhatFits) {
  const Network network = Butterfly(16);
  EXPECT_TRUE(CheckRecordable(network, 32'768).ok());
  const absl::Status packets = CheckRecordable(network, 32'769);
  EXPECT_EQ(packets.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(packets.message()),
              HasSubstr("h: 32769 packets that cross 4 links each are 131076 crossings, and a "
                        "recording has at most 131072; use a smaller h (2048 fits)"));
  const absl::Status rows = CheckRecordable(Butterfly(1 << 14), 1);
  EXPECT_EQ(rows.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(rows.message()), HasSubstr("network: a recording is of at most 9362"));
  // The run itself asks for the limit, and leaves the recording alone.
  RouteRecording recording;
  const RouteRequest request{.relation = *RelationByName("identity", 16, 2049, 0)};
  EXPECT_EQ(Try("greedy", network, request, {.recording = &recording}).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(recording.inputs, IsEmpty());
  EXPECT_TRUE(Try("greedy", network, request).ok());
}

}  // namespace
}  // namespace bfly::dataplane

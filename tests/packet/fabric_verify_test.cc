// SPDX-License-Identifier: Apache-2.0
// Fabric::Verify names all errors at once, each with its place, value and range.
#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "dataplane/fabric/memory_need.h"
#include "dataplane/in_band/in_band_memory.h"
#include "tests/packet/fabric_fixture.h"

namespace bfly::dataplane {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

std::vector<std::string> Errors(const FabricConfig& config) {
  std::vector<std::string> messages;
  for (const absl::Status& error : Fabric::Verify(config)) {
    messages.push_back(std::string(error.message()));
  }
  return messages;
}

// 3 stages, all on the first CPU.
FabricConfig Good() { return OneWorker(NetworkKind::kButterfly, 8); }

HostPortConfig Port(const char* name, const char* device, std::vector<Row> rows) {
  HostPortConfig port;
  port.name = name;
  port.device = device;
  port.rows = std::move(rows);
  return port;
}

TrunkConfig TrunkAfter(int after_stage, bool sends) {
  TrunkConfig trunk;
  trunk.name = sends ? "out" : "in";
  trunk.device = sends ? "net_null0" : "net_null1";
  trunk.after_stage = after_stage;
  trunk.sends = sends;
  return trunk;
}

TEST(Verify, FindsNothingWrongWithAGoodConfig) {
  EXPECT_THAT(Errors(Good()), IsEmpty());
  FabricConfig middle = Good();
  middle.placement = {{.first_stage = 1, .last_stage = 1, .lcore = UsableCpus().front()}};
  middle.trunks = {TrunkAfter(0, false), TrunkAfter(1, true)};
  EXPECT_THAT(Errors(middle), IsEmpty());
}

TEST(Verify, ANetworkThatTheMachineHasNoMemoryForIsRefusedWithNumbers) {
  const Network small = *Network::Make({.kind = NetworkKind::kButterfly, .rows = 8});
  // Stages 1 and 2 with 16 links each: 16 bytes a link for every hop, 32 for what is rare; a word a
  // row for the route. Up to 4 stages in one step have 16 counters of 16 bytes a row, 64 bytes a
  // row and stage.
  EXPECT_EQ(MemoryNeed(small, 1, 2), 2 * (16 * (16 + 32) + 8 * 64) + 8 * 8u);
  // A Benes network has a table of three words a row.
  const Network benes = *Network::Make({.kind = NetworkKind::kBenes, .rows = 8});
  EXPECT_EQ(MemoryNeed(benes, 1, 2), MemoryNeed(small, 1, 2) + 2 * 8 * 8u);
  const Network large = *Network::Make({.kind = NetworkKind::kButterfly, .rows = 1 << 20});
  const uint64_t need = MemoryNeed(large, 0, 19);
  EXPECT_EQ(need, (uint64_t{20} * (2 * 48 + 64) + 8) << 20);
  EXPECT_TRUE(CheckMemoryNeed(large, need, need).ok());
  const absl::Status refused = CheckMemoryNeed(large, need, uint64_t{1} << 30);
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(
      refused.message(),
      "network.rows: 1048576 rows need 3.1 GiB for the stages and blocks of rows placed here, and "
      "this machine or cgroup has 1.0 GiB left; use fewer rows or blocks of rows, or place stages "
      "on other "
      "machines");
  EXPECT_GT(AvailableMemory(), 1u << 20);
}

TEST(Verify, LinksThatKeepPacketsTakeMemory) {
  const Network small = *Network::Make({.kind = NetworkKind::kButterfly, .rows = 8});
  LinkPlan plan;
  EXPECT_EQ(TimedMemoryNeed(small, plan, 0, 2), 0u);
  plan.base.queue_limit = 5;
  EXPECT_EQ(TimedMemoryNeed(small, plan, 0, 2), 0u) << "packets wait in front of rings";
  plan.base.delay_ns = 1;
  // Stages 1 and 2 with 16 links each: the link and its server take a cache line each, counters 32
  // and 16 bytes, random draws 8, and its place in the heap 16 and 4.
  EXPECT_EQ(TimedMemoryNeed(small, plan, 1, 2), 2 * 16 * (64 + 64 + 32 + 16 + 8 + 16 + 4u));
}

TEST(Verify, TheLimitOfACgroupCountsWithoutWhatTheKernelCanDrop) {
  const std::string group = testing::TempDir() + "bfly-cgroup-" + std::to_string(getpid());
  std::filesystem::create_directory(group);
  EXPECT_EQ(LeftInCgroup(group), UINT64_MAX) << "the root has no such files";
  const auto write = [&group](const char* name, const char* text) {
    std::ofstream(group + "/" + name) << text;
  };
  write("memory.max", "max\n");
  write("memory.current", "600\n");
  write("memory.stat", "anon 450\ninactive_file 100\nactive_file 50\n");
  EXPECT_EQ(LeftInCgroup(group), UINT64_MAX);
  write("memory.max", "1000\n");
  EXPECT_EQ(LeftInCgroup(group), 500u);
  write("memory.max", "400\n");
  EXPECT_EQ(LeftInCgroup(group), 0u);
  std::filesystem::remove_all(group);
}

TEST(Verify, BlocksOfRowsTakeMemoryForTheirSegments) {
  const auto need = [](const FabricConfig& config) {
    const Network network = *Network::Make(config.network);
    return SegmentMemoryNeed(network, PlanFabric(config, network));
  };
  // A batch has 256 packets of 40 bytes, and a link of four bytes for each. A segment has three
  // batches, and links for one. A lane has a batch, links for two, and a ring of 1,024 packets.
  const uint64_t segment = 3 * 10'240 + 1024, lane = 10'240 + 2 * 1024 + 40'960;
  EXPECT_EQ(need(OneWorker(NetworkKind::kButterfly, 16)), segment + lane);
  // Each half has a segment over the first stage, which leads to both halves and has four bytes for
  // each row of the network, and one over the other three stages.
  EXPECT_EQ(need(Halves(NetworkKind::kButterfly, 16)),
            2 * (segment + 2 * lane + 16 * 4) + 2 * (segment + lane));
}

TEST(Verify, MoreBlocksOfRowsThanAStageMayHaveAreRefused) {
  // Two lcores in turn have `in_block` rows each of the first of 12 stages.
  const auto errors = [](Row in_block, int other) {
    FabricConfig config = OneWorker(NetworkKind::kButterfly, 4096);
    config.placement[0].first_stage = 1;
    for (Row row = 0; row < 4096; row += in_block) {
      config.placement.push_back({.first_stage = 0,
                                  .last_stage = 0,
                                  .lcore = UsableCpus()[row / in_block % 2 == 0 ? 0 : other],
                                  .rows = {row, row + in_block - 1}});
    }
    return Errors(config);
  };
  EXPECT_THAT(errors(4, OtherCpu()), IsEmpty());
  EXPECT_THAT(errors(2, OtherCpu()),
              ElementsAre("placement: stage 0 is cut into 2048 blocks of rows, at most 1024 are "
                          "allowed; give each lcore rows that follow one another"));
  EXPECT_THAT(errors(2, 0), IsEmpty()) << "neighbours on one lcore are one block";
}

TEST(Verify, WhatMessagesOfProgramsTakeIsCounted) {
  const Network two_fold = *Network::Make({.kind = NetworkKind::kTwoFoldButterfly, .rows = 8});
  // A stage has 16 links: four bytes each for its circuits, a word for what is down, and a byte
  // each in stages 1 to 3, where candidate paths may meet.
  const uint64_t meets = 16 * 4 + 8 + 16, other = 16 * 4 + 8;
  // Two circuits, a count, a place in a list and a bit, rounded up to a word, for each row; four
  // halves of paths for each.
  const uint64_t book = 8 * (8 + 8 + 4 + 4) + 8, halves = 8 * 4 * 4;
  // 16 messages and a marker of 24 bytes at the outputs. An end of a trunk has a ring of 1,024, and
  // one of 32, the power of two above 16 messages and markers.
  const uint64_t outputs = 17 * 24, end = (1024 + 32) * 24;
  const LinkCapacity none, one{.every_link = 1, .of_link = {}};
  EXPECT_EQ(InBandMemoryNeed(two_fold, 0, 5, none),
            3 * meets + 3 * other + book + halves + outputs);
  EXPECT_EQ(InBandMemoryNeed(two_fold, 0, 1, none), other + meets + book + halves + end);
  EXPECT_EQ(InBandMemoryNeed(two_fold, 2, 3, none), 2 * meets + book + halves + 2 * end);
  EXPECT_EQ(InBandMemoryNeed(two_fold, 4, 5, none), 2 * other + book + halves + outputs + end);
  EXPECT_EQ(InBandMemoryNeed(two_fold, 2, 3, one) - InBandMemoryNeed(two_fold, 2, 3, none),
            2 * 16 * 4u);
  // On a data server paths may meet in every stage. The first one has random cross links, which
  // lead from 8 rows and to 8 rows. A disk has a count and a mark.
  const Network server = *Network::Make({.kind = NetworkKind::kRandomlyWiredButterfly, .rows = 8});
  EXPECT_EQ(InBandMemoryNeed(server, 0, 2, none),
            3 * meets + 2 * 8 * 4 + book + 8 * (4 + 1) + outputs);
  const Network plain = *Network::Make({.kind = NetworkKind::kButterfly, .rows = 8});
  EXPECT_EQ(InBandMemoryNeed(plain, 0, 2, none), 0u);
}

TEST(Verify, NamesAStagePlacedTwiceOrNowhere) {
  FabricConfig config = Good();
  const int cpu = UsableCpus().front();
  config.placement = {{.first_stage = 0, .last_stage = 1, .lcore = cpu},
                      {.first_stage = 1, .last_stage = 2, .lcore = cpu}};
  EXPECT_THAT(Errors(config),
              ElementsAre("placement[1].stages: stage 1 is placed twice, also by placement[0]"));
  config.placement = {{.first_stage = 0, .last_stage = 0, .lcore = cpu},
                      {.first_stage = 2, .last_stage = 2, .lcore = cpu}};
  EXPECT_THAT(Errors(config), ElementsAre(HasSubstr("placement: stage 1 is placed nowhere")));
  config.placement = {{.first_stage = 1, .last_stage = 1, .lcore = cpu}};
  EXPECT_THAT(
      Errors(config),
      ElementsAre(
          HasSubstr("stage 0 is placed nowhere, and no trunk brings packets to stage 1"),
          HasSubstr("stage 2 is placed nowhere, and no trunk takes packets after stage 1")));
  config.placement = {};
  EXPECT_THAT(Errors(config), ElementsAre("placement: no stage is placed; place stages 0-2"));
  config.placement = {{.first_stage = 2, .last_stage = 3, .lcore = cpu}};
  EXPECT_THAT(Errors(config), Contains("placement[0].stages: 2-3 is not a range within 0-2"));
}

TEST(Verify, NamesRowsThatOverlapLeaveAGapOrLieOutside) {
  FabricConfig config = Good();
  const StagePlacement whole = config.placement[0];
  const auto rows = [&](Row first, Row last) {
    StagePlacement part = whole;
    part.rows = {first, last};
    return part;
  };
  config.placement = {rows(0, 3), rows(4, 7)};
  EXPECT_THAT(Errors(config), IsEmpty());
  config.placement = {rows(4, 7), rows(0, 4)};
  config.placement[1].last_stage = 0;
  EXPECT_THAT(
      Errors(config),
      Contains("placement[1].rows: row 4 of stage 0 is placed twice, also by placement[0]"));
  config.placement = {rows(0, 2), rows(5, 6)};
  config.placement[0].last_stage = config.placement[1].last_stage = 0;
  config.placement.push_back(whole);
  config.placement[2].first_stage = 1;
  EXPECT_THAT(
      Errors(config),
      ElementsAre(
          "placement: rows 3-4 of stage 0 are placed nowhere; place every row of a stage "
          "once",
          "placement: row 7 of stage 0 is placed nowhere; place every row of a stage once"));
  config.placement = {whole, rows(5, 8), rows(3, 2)};
  EXPECT_THAT(Errors(config), ElementsAre("placement[1].rows: 5-8 is not a range within 0-7",
                                          "placement[2].rows: 3-2 is not a range within 0-7"));
}

TEST(Verify, NamesAnLcoreThatTheMachineLacks) {
  FabricConfig config = Good();
  config.placement[0].lcore = 120;
  EXPECT_THAT(Errors(config),
              ElementsAre("placement[0].lcore: 120 is not a CPU this process may use (" +
                          FormatCpus(UsableCpus()) + ")"));
}

TEST(Verify, NamesPortsThatClash) {
  FabricConfig config = Good();
  config.ports = {Port("h0", "net_null0", {0, 1}), Port("h0", "net_null0", {1, 8}),
                  Port("", "", {})};
  config.ports[0].queue_pairs = 0;
  config.ports[1].lcores = {121};
  EXPECT_THAT(
      Errors(config),
      UnorderedElementsAre(
          "ports[0].queue_pairs: 0 is outside 1..64", "ports[1].name: \"h0\" is also ports[0]",
          "ports[1].device: \"net_null0\" is also of ports[0]",
          "ports[1].rows: row 1 is attached twice, also to ports[0]",
          "ports[1].rows: 8 is outside 0..7", HasSubstr("ports[1].lcores[0]: 121 is not a CPU"),
          HasSubstr("ports[2].name: empty"), HasSubstr("ports[2].device: empty"),
          HasSubstr("ports[2].rows: empty")));
}

TEST(Verify, NamesAllNumbersOutOfRangeAtOnce) {
  FabricConfig config = Good();
  config.max_frame_bytes = 63;
  config.links.base.queue_limit = 2'000'000;
  config.network.rows = 12;
  EXPECT_THAT(Errors(config), ElementsAre("max_frame_bytes: 63 is outside 64..9018",
                                          "links.queue_limit: 2000000 is outside 0..1048576",
                                          HasSubstr("network.rows: 12")));
}

TEST(Verify, NamesAnAddressBlockThatIsTooSmall) {
  FabricConfig config = Good();
  config.addressing = {.mode = AddressingMode::kIpv4Prefix, .ipv4_base = 0, .ipv4_prefix_len = 30};
  EXPECT_THAT(Errors(config),
              ElementsAre("addressing.ipv4_prefix_len: /30 has fewer addresses than the 8 "
                          "rows; use /29 or shorter"));
}

TEST(Verify, NamesATrunkThatLeadsNowhere) {
  FabricConfig config = Good();
  config.placement = {{.first_stage = 0, .last_stage = 1, .lcore = UsableCpus().front()}};
  config.trunks = {TrunkAfter(0, true)};
  EXPECT_THAT(Errors(config),
              Contains("trunks[0].after_stage: 0 is not where this data plane's stages 0-1 end"));
  FabricConfig wrapped = OneWorker(NetworkKind::kWrappedButterfly, 8, 2);
  wrapped.placement = {{.first_stage = 0, .last_stage = 1, .lcore = UsableCpus().front()}};
  wrapped.trunks = {TrunkAfter(1, true)};
  EXPECT_THAT(Errors(wrapped),
              Contains(HasSubstr("trunks[0]: a wrapped butterfly of 2 passes runs in one")));
}

}  // namespace
}  // namespace bfly::dataplane

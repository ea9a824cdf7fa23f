// SPDX-License-Identifier: Apache-2.0
// Rates and times with units, links of a topology file, selectors, and the resulting settings of
// links.
#include "control/topology_file/link_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/topology_file/quantity.h"
#include "control/topology_file/reader.h"
#include "control/topology_file/to_fabric_config.h"

namespace bfly::control {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Quantity, RatesAndTimesInTheirUnits) {
  EXPECT_EQ(*ParseRate("none"), 0u);
  EXPECT_EQ(*ParseRate("1bps"), 1u);
  EXPECT_EQ(*ParseRate("64kbps"), 64'000u);
  EXPECT_EQ(*ParseRate("100Mbps"), 100'000'000u);
  EXPECT_EQ(*ParseRate("2.5 Gbps"), 2'500'000'000u);
  EXPECT_EQ(*ParseRate("1000Gbps"), 1'000'000'000'000u);
  EXPECT_EQ(*ParseDuration("0s"), 0u);
  EXPECT_EQ(*ParseDuration("7ns"), 7u);
  EXPECT_EQ(*ParseDuration("50us"), 50'000u);
  EXPECT_EQ(*ParseDuration("1.5ms"), 1'500'000u);
  EXPECT_EQ(*ParseDuration("60s"), 60'000'000'000u);
}

TEST(Quantity, WhatIsWrongIsQuotedAndTheUnitsAreListed) {
  const auto rate = [](absl::string_view text) {
    return std::string(ParseRate(text).status().message());
  };
  const auto units = HasSubstr("bps, kbps, Mbps or Gbps, from 1bps to 1000Gbps; or none");
  EXPECT_THAT(rate("100Mbit"), AllOf(HasSubstr("\"100Mbit\" has an unknown unit"), units));
  EXPECT_THAT(rate("100"), AllOf(HasSubstr("\"100\" has no unit"), units));
  EXPECT_THAT(rate("-5Mbps"), AllOf(HasSubstr("\"-5Mbps\" is negative"), units));
  EXPECT_THAT(rate("fast"), AllOf(HasSubstr("\"fast\" does not begin with a number"), units));
  EXPECT_THAT(rate(""), AllOf(HasSubstr("does not begin with a number"), units));
  EXPECT_THAT(rate("1.2.3Mbps"), HasSubstr("does not begin with a number"));
  EXPECT_THAT(rate("0bps"), HasSubstr("is out of range"));
  EXPECT_THAT(rate("0.5bps"), HasSubstr("is out of range"));
  EXPECT_THAT(rate("1001Gbps"), HasSubstr("is out of range"));
  EXPECT_THAT(rate("1e9bps"), HasSubstr("has an unknown unit"));
  EXPECT_THAT(rate(std::string(60, '9') + "bps"), HasSubstr("is out of range"));
  EXPECT_TRUE(ParseRate(std::string(60, ' ') + "1bps").ok());
  EXPECT_THAT(rate(std::string(61, ' ') + "1bps"),
              AllOf(HasSubstr("\" is longer than 64 characters"), units));
  const auto time = [](absl::string_view text) {
    return std::string(ParseDuration(text).status().message());
  };
  EXPECT_THAT(time("5min"), AllOf(HasSubstr("\"5min\" has an unknown unit"),
                                  HasSubstr("ns, us, ms or s, from 0s to 60s")));
  EXPECT_THAT(time("none"), HasSubstr("does not begin with a number"));
  EXPECT_THAT(time("-1us"), HasSubstr("is negative"));
  EXPECT_THAT(time("61s"), HasSubstr("is out of range"));
  EXPECT_THAT(time("0.2ns"), HasSubstr("is out of range"));
  EXPECT_THAT(time("1ns" + std::string(62, ' ')), HasSubstr("\" is longer than 64 characters"));
}

TEST(Quantity, IsWrittenInTheLargestUnitWithoutFraction) {
  EXPECT_EQ(FormatRate(0), "none");
  EXPECT_EQ(FormatRate(1'500'000'000), "1500Mbps");
  EXPECT_EQ(FormatRate(1'000'000'001), "1000000001bps");
  EXPECT_EQ(FormatDuration(0), "0s");
  EXPECT_EQ(FormatDuration(50'000), "50us");
  EXPECT_EQ(FormatDuration(1'001), "1001ns");
}

constexpr char kFile[] = R"(name: a
network: {kind: butterfly, rows: 16}
placement: [{stages: 0-3, lcore: 0}]
links:
  rate: 100Mbps
  delay: 50us
  queue_limit: 100
  loss: 0.001
  overrides:
    - {stages: "3", rows: 0-7, rate: 10Mbps}
    - {rows: "0,15", port: 1, discipline: priority, queue_limit: 0, loss: 0}
)";

TEST(LinkPolicy, WhatAFileSaysOfEachLink) {
  const auto read = ReadTopology(kFile, "a");
  ASSERT_TRUE(read.ok()) << read.status();
  const auto config = ToFabricConfig(*read, "dp0");
  ASSERT_TRUE(config.ok()) << config.status();
  using dataplane::Discipline;
  using dataplane::LinkShape;
  const LinkShape base{.bits_per_second = 100'000'000,
                       .delay_ns = 50'000,
                       .queue_limit = 100,
                       .discipline = Discipline::kFifo,
                       .loss = 0.001};
  EXPECT_EQ(config->links.Of({2, 3, 0}), base);
  LinkShape slow = base;
  slow.bits_per_second = 10'000'000;
  EXPECT_EQ(config->links.Of({3, 7, 1}), slow);
  EXPECT_EQ(config->links.Of({3, 8, 1}), base);
  LinkShape first = base;
  first.discipline = Discipline::kPriority;
  first.queue_limit = 0;
  first.loss = 0;
  EXPECT_EQ(config->links.Of({1, 15, 1}), first);
  EXPECT_EQ(config->links.Of({1, 15, 0}), base);
  first.bits_per_second = 10'000'000;
  EXPECT_EQ(config->links.Of({3, 0, 1}), first);
  EXPECT_EQ(config->queue_memory_mb, 256u);
}

TEST(LinkPolicy, WrongLinksOfAFileAreAllReportedWithTheirLines) {
  const auto read = ReadTopology(R"(name: a
network: {kind: butterfly, rows: 16}
placement: [{stages: 0-3, lcore: 0}]
data_planes: [{name: dp0, queue_memory_mb: 0}]
links:
  rate: 100Mb/s
  delay: -1us
  discipline: lifo
  loss: 1.5
  overrides:
    - {stages: 3-4, rows: 9-16, rate: 10Mbps}
    - {stages: "3"}
    - {port: 2, delay: 61s}
)",
                                 "a");
  const std::string errors(read.status().message());
  EXPECT_THAT(errors, HasSubstr("a:4: data_planes[0].queue_memory_mb: 0 is out of range"));
  EXPECT_THAT(errors, HasSubstr("a:6: links.rate: \"100Mb/s\" has an unknown unit, \"Mb/s\" "
                                "(allowed: a number with a unit, bps, kbps, Mbps or Gbps"));
  EXPECT_THAT(errors, HasSubstr("a:7: links.delay: \"-1us\" is negative"));
  EXPECT_THAT(errors, HasSubstr("a:8: links.discipline: \"lifo\" is unknown"));
  EXPECT_THAT(errors, HasSubstr("a:9: links.loss: 1.5 is out of range (allowed: 0 to 1)"));
  EXPECT_THAT(errors, HasSubstr("a:11: links.overrides[0].stages: stage 4 is outside 0..3"));
  EXPECT_THAT(errors, HasSubstr("a:11: links.overrides[0].rows: row 16 is outside 0..15"));
  EXPECT_THAT(errors, HasSubstr("a:12: links.overrides[1]: changes nothing"));
  EXPECT_THAT(
      errors,
      HasSubstr("a:13: links.overrides[2].port: 2 is not a port of this network (allowed: 0..1)"));
  EXPECT_THAT(errors, HasSubstr("a:13: links.overrides[2].delay: \"61s\" is out of range"));
}

TEST(LinkSelector, SelectsStagesRowsAndPorts) {
  const auto selector = ParseLinkSelector("s3 r0-15,20 p1");
  ASSERT_TRUE(selector.ok()) << selector.status();
  EXPECT_EQ(selector->stages(), "3");
  EXPECT_EQ(selector->rows(), "0-15,20");
  EXPECT_EQ(selector->port(), 1u);
  EXPECT_TRUE(Selects(*selector, {3, 20, 1}));
  EXPECT_FALSE(Selects(*selector, {3, 16, 1}));
  EXPECT_FALSE(Selects(*selector, {3, 20, 0}));
  EXPECT_FALSE(Selects(*selector, {2, 20, 1}));
  const auto every = ParseLinkSelector(" all ");
  ASSERT_TRUE(every.ok());
  EXPECT_TRUE(Selects(*every, {0, 9, 1}));
}

TEST(LinkSelector, SaysWhichWordIsWrong) {
  const auto message = [](absl::string_view text) {
    return std::string(ParseLinkSelector(text).status().message());
  };
  EXPECT_THAT(message("x3"), AllOf(HasSubstr("\"x3\" selects no links"), HasSubstr("s3 r0-15 p1")));
  EXPECT_THAT(message("s3 all"), HasSubstr("\"all\" selects no links"));
  EXPECT_THAT(message(""), HasSubstr("\"\" selects no links (allowed: all, "));
  EXPECT_THAT(message(" \t"), HasSubstr("selects no links (allowed: all, "));
  EXPECT_THAT(message("s"), HasSubstr("\"s\" has no numbers"));
  EXPECT_THAT(message("s1 s2"), HasSubstr("\"s2\" stands there twice"));
  EXPECT_THAT(message("p32"), HasSubstr("\"p32\" is not a port"));
}

v1::LinkOverride Change(absl::string_view selector) { return *ParseLinkSelector(selector); }

TEST(LinkChanges, TheListDoesNotGrowWithChangesToTheSameLinks) {
  LinkOverrides changes;
  for (int i = 1; i <= 100; ++i) {
    v1::LinkOverride rate = Change("s3 r0-15");
    rate.set_rate(std::to_string(i) + "Mbps");
    AddLinkChange(rate, &changes);
    v1::LinkOverride delay = Change("s3 r0-15");
    delay.set_delay("5us");
    AddLinkChange(delay, &changes);
    v1::LinkOverride other = Change("all");
    other.set_loss(0.1);
    AddLinkChange(other, &changes);
  }
  ASSERT_EQ(changes.size(), 3);
  const Network network = *Network::Make({.kind = NetworkKind::kButterfly, .rows = 16});
  const auto plan = ToLinkPlan({}, changes, network);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->Of({3, 4, 0}),
            (dataplane::LinkShape{.bits_per_second = 100'000'000, .delay_ns = 5000, .loss = 0.1}));
  EXPECT_EQ(plan->Of({2, 4, 0}), (dataplane::LinkShape{.loss = 0.1}));
}

v1::LinkOverride CompleteChange(absl::string_view selector) {
  v1::LinkOverride change = Change(selector);
  change.set_rate("1Mbps");
  change.set_delay("5us");
  change.set_queue_limit(3);
  change.set_discipline(v1::LinkPolicy::PRIORITY);
  change.set_loss(0.1);
  return change;
}

TEST(LinkChanges, OfSingleLinksAreGoneWhenOneOfAllLinksSaysAsMuch) {
  LinkOverrides changes;
  for (int i = 0; i < 4096; ++i) {
    AddLinkChange(CompleteChange("s" + std::to_string(i / 512) + " r" +
                                 std::to_string(i / 2 % 256) + " p" + std::to_string(i % 2)),
                  &changes);
  }
  EXPECT_EQ(changes.size(), 4096);
  v1::LinkOverride rate = Change("all");
  rate.set_rate("2Mbps");
  AddLinkChange(rate, &changes);
  EXPECT_EQ(changes.size(), 4097) << "the others still say four settings each";
  AddLinkChange(CompleteChange("all"), &changes);
  EXPECT_EQ(changes.size(), 1);
}

TEST(LinkChanges, TakeThePlaceOfEarlierOnesWithinTheirOwnLinksOnly) {
  const auto left = [](absl::string_view earlier, absl::string_view later) {
    LinkOverrides changes;
    AddLinkChange(CompleteChange(earlier), &changes);
    AddLinkChange(CompleteChange(later), &changes);
    return changes.size() - 1;
  };
  EXPECT_EQ(left("s1 r2-3 p1", "s0-2 r0-15"), 0);
  EXPECT_EQ(left("s1 r2-3,9 p1", "s0,1 r8-15,0-4 p1"), 0);
  EXPECT_EQ(left("s1", "s1"), 0);
  EXPECT_EQ(left("s1 r2", "r2"), 0);
  EXPECT_EQ(left("s1 r2-3", "s0-2 r3-15"), 1) << "row 2";
  EXPECT_EQ(left("s1-3 r2", "s1-2 r2"), 1) << "stage 3";
  EXPECT_EQ(left("s1 r2", "s1 r2 p0"), 1) << "port 1";
  EXPECT_EQ(left("s1 r2 p1", "s1 r2 p0"), 1);
  EXPECT_EQ(left("r2", "s1 r2"), 1) << "other stages";
  EXPECT_EQ(left("all", "s0-9 r0-15"), 1);
}

TEST(LinkGroups, LinksThatAreAlikeStandTogether) {
  const auto read = ReadTopology(kFile, "a");
  ASSERT_TRUE(read.ok());
  const Network network = *Network::Make({.kind = NetworkKind::kButterfly, .rows = 16});
  const auto plan = ToLinkPlan(read->links(), {}, network);
  ASSERT_TRUE(plan.ok());
  const auto groups = GroupLinks(*plan, network, Change("r2-15 p0"));
  ASSERT_TRUE(groups.ok());
  ASSERT_EQ(groups->size(), 3u);
  EXPECT_EQ((*groups)[0].stages(), "0-2");
  EXPECT_EQ((*groups)[0].rows(), "2-15");
  EXPECT_EQ((*groups)[0].rate(), "100Mbps");
  EXPECT_EQ((*groups)[1].stages(), "3");
  EXPECT_EQ((*groups)[1].rows(), "2-7");
  EXPECT_EQ((*groups)[1].rate(), "10Mbps");
  EXPECT_EQ((*groups)[2].rows(), "8-15");
  // Every link of the network is in exactly one group and has the group's settings.
  const auto all = GroupLinks(*plan, network, {});
  ASSERT_TRUE(all.ok());
  for (int stage = 0; stage < 4; ++stage) {
    for (Row row = 0; row < 16; ++row) {
      for (int port = 0; port < 2; ++port) {
        int found = 0;
        for (const v1::LinkGroup& group : *all) {
          v1::LinkOverride selector;
          selector.set_stages(group.stages());
          selector.set_rows(group.rows());
          if (group.ports() != "0-1") selector.set_port(group.ports() == "1" ? 1 : 0);
          if (!Selects(selector, {stage, row, port})) continue;
          ++found;
          EXPECT_EQ(*ParseRate(group.rate()), plan->Of({stage, row, port}).bits_per_second);
          EXPECT_EQ(group.queue_limit(), plan->Of({stage, row, port}).queue_limit);
        }
        EXPECT_EQ(found, 1) << stage << " " << row << " " << port;
      }
    }
  }
}

TEST(LinkChanges, AreCheckedAsTheFileIs) {
  const Network network = *Network::Make({.kind = NetworkKind::kButterfly, .rows = 16});
  LinkOverrides changes;
  EXPECT_THAT(CheckLinkChanges(changes, network), IsEmpty());
  *changes.Add() = Change("s0 r99");
  changes[0].set_rate("7 parsecs");
  const auto found = CheckLinkChanges(changes, network);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].field, "changes[0].rate");
  EXPECT_EQ(found[1].field, "changes[0].rows");
  const auto selector = CheckLinkSelector(Change("s9"), network);
  ASSERT_EQ(selector.size(), 1u);
  EXPECT_EQ(selector[0].field, "stages");
  const auto port = CheckLinkSelector(Change("p2"), network);
  ASSERT_EQ(port.size(), 1u);
  EXPECT_EQ(port[0].field, "port");
}

// A change is kept as it was written.
TEST(LinkChanges, AreRefusedIfTheyAreMostlySpacesAndZeros) {
  const Network network = *Network::Make({.kind = NetworkKind::kButterfly, .rows = 16});
  constexpr size_t kMany = 1 << 20;
  LinkOverrides changes;
  changes.Add()->set_stages(std::string(kMany, ' ') + "1");
  changes[0].set_rows("0," + std::string(kMany, '0') + "1");
  changes[0].set_rate(std::string(kMany, '0') + "1Mbps");
  changes[0].set_delay("1us" + std::string(kMany, ' '));
  std::vector<std::string> fields;
  for (const Violation& violation : CheckLinkChanges(changes, network)) {
    fields.push_back(violation.field);
    EXPECT_THAT(violation.message, HasSubstr("is longer than "));
    EXPECT_LT(violation.message.size(), 300u);
  }
  EXPECT_THAT(fields, ElementsAre("changes[0].stages", "changes[0].rows", "changes[0].rate",
                                  "changes[0].delay"));
}

TEST(LinkChanges, NameEveryPortOfADirectionThatHasSeveral) {
  const Network network =
      *Network::Make({.kind = NetworkKind::kDilatedButterfly, .rows = 4, .multiplicity = 2});
  EXPECT_THAT(CheckLinkSelector(Change("s0 r3 p3"), network), IsEmpty());
  EXPECT_EQ(CheckLinkSelector(Change("s0 r3 p4"), network).size(), 1u);
  // One of four links of a node differs: the three others are not alike as a whole.
  dataplane::LinkPlan plan;
  plan.rules = {{.first_stage = 0,
                 .last_stage = 0,
                 .first_row = 1,
                 .last_row = 1,
                 .port = 2,
                 .bits_per_second = 1000}};
  std::string text;
  const auto groups = GroupLinks(plan, network, {});
  ASSERT_TRUE(groups.ok()) << groups.status();
  for (const v1::LinkGroup& group : *groups) {
    text += group.stages() + " " + group.rows() + " " + group.ports() + " " + group.rate() + "\n";
  }
  EXPECT_EQ(text,
            "0 0 0-3 none\n0 1 0 none\n0 1 1 none\n0 1 2 1kbps\n0 1 3 none\n0 2-3 0-3 none\n"
            "1 0-3 0-3 none\n");
}

}  // namespace
}  // namespace bfly::control

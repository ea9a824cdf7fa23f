// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "control/cli/client.h"
#include "control/cli/text.h"
#include "control/cli/top_links.h"

namespace bfly::control {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(Advice, OfThePrimaryRoleComesWithErrorsOfThePrimaryRoleAlone) {
  const Common common;
  const auto said = [&common](const grpc::Status& answer) {
    return std::string(Explain(answer, common).message());
  };
  using grpc::StatusCode::PERMISSION_DENIED;
  EXPECT_THAT(said({PERMISSION_DENIED, "election_id: 0 is not the primary's, which is 7"}),
              HasSubstr("--election-id acts in its name"));
  EXPECT_EQ(said({PERMISSION_DENIED, "certificate eve has the role viewer"}),
            "certificate eve has the role viewer");
}

TEST(Advice, OfAConnectionThatWasClosedSaysWhoIsClosedOut) {
  Common common;
  common.controller = "unix:/dev/null";
  const auto said = [&common](const char* why) {
    return std::string(
        Explain({grpc::StatusCode::UNAVAILABLE, absl::StrCat("failed to connect: ", why)}, common)
            .message());
  };
  EXPECT_THAT(said("Broken pipe"), AllOf(HasSubstr("a user has no role"),
                                         HasSubstr("`bfly-controller --run-dir /dev`")));
  EXPECT_THAT(said("Connection refused"), Not(HasSubstr("role")));
}

void AddLink(v1::Counters& counters, uint32_t stage, uint32_t row, uint32_t port, uint32_t circuits,
             uint64_t packets) {
  v1::LinkCounters& link = *counters.add_links();
  link.set_stage(stage);
  link.set_row(row);
  link.set_port(port);
  link.set_next_row(row ^ port);
  link.set_circuits(circuits);
  link.set_packets(packets);
}

constexpr int64_t kSecond = 1'000'000'000;

TEST(MissedLine, NamesThePortsThatMissedFrames) {
  v1::Counters counters;
  for (const auto& [name, missed] : {std::pair("a", 7u), std::pair("b", 0u), std::pair("c", 5u)}) {
    v1::PortCounters& port = *counters.add_ports();
    port.set_name(name);
    port.set_rx_missed(missed);
  }
  EXPECT_EQ(Missed(counters), 12u);
  EXPECT_EQ(MissedLine(counters), "ports missed 12 frames before the fabric saw them: a 7, c 5");
}

// docs/ports.md: what a removed port has counted stays in the totals.
TEST(MissedLine, HasTheFramesOfRemovedPorts) {
  v1::Counters counters;
  v1::PortCounters& port = *counters.add_ports();
  port.set_name("b");
  port.set_rx_missed(5);
  v1::PortCounters& removed = *counters.add_removed_ports();
  removed.set_data_plane("dp0");
  removed.set_rx_missed(1000);
  EXPECT_EQ(Missed(counters), 1005u);
  EXPECT_EQ(MissedLine(counters),
            "ports missed 1005 frames before the fabric saw them: b 5, removed ports of dp0 1000");
}

TEST(TopLinks, AreOrderedByCircuitsThenRateThenPackets) {
  v1::Counters before, now;
  before.set_monotonic_ns(kSecond);
  now.set_monotonic_ns(2 * kSecond);
  AddLink(before, 0, 0, 0, 1, 500);
  AddLink(now, 0, 0, 0, 1, 500);   // one circuit, silent now
  AddLink(now, 1, 0, 0, 1, 200);   // one circuit, 200 a second
  AddLink(now, 1, 1, 1, 2, 10);    // two circuits
  AddLink(now, 1, 2, 0, 0, 9000);  // no circuit
  EXPECT_THAT(TopLinks(now, &before, true, 3),
              ElementsAre("s1 r1 p1 -> r0: 2 circuits, 10 packets/s, 10 packets",
                          "s1 r0 p0 -> r0: 1 circuit, 200 packets/s, 200 packets",
                          "s0 r0 p0 -> r0: 1 circuit, 0 packets/s, 500 packets"));
}

// With --top a picture has the fullest links alone, so a link comes with a count that grew over
// many pictures.
TEST(TopLinks, OfPicturesWithTheFullestAloneHaveNoRateAtFirst) {
  v1::Counters before, now;
  before.set_monotonic_ns(kSecond);
  now.set_monotonic_ns(2 * kSecond);
  AddLink(before, 0, 0, 0, 1, 900'000);
  AddLink(now, 0, 0, 0, 1, 900'300);
  AddLink(now, 0, 1, 0, 1, 1'000'100);  // 100 more, and it was not among the fullest
  EXPECT_THAT(TopLinks(now, &before, false, 2),
              ElementsAre("s0 r0 p0 -> r0: 1 circuit, 300 packets/s, 900k packets",
                          "s0 r1 p0 -> r1: 1 circuit, 1.00M packets"));
  EXPECT_THAT(TopLinks(now, nullptr, true, 1),
              ElementsAre("s0 r1 p0 -> r1: 1 circuit, 1.00M packets"));
}

TEST(ConservationLine, SaysSoWhenTheAccountDoesNotBalance) {
  v1::Conservation account;
  account.set_injected(12);
  account.set_delivered(10);
  account.set_dropped(1);
  account.set_in_flight(1);
  EXPECT_EQ(ConservationLine(account),
            "conservation: injected 12 = delivered 10 + dropped 1 + in flight 1");
  account.set_injected(13);
  EXPECT_THAT(ConservationLine(account), HasSubstr("DOES NOT BALANCE"));
}

}  // namespace
}  // namespace bfly::control

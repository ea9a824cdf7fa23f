// SPDX-License-Identifier: Apache-2.0
// Rates of several ports, as dpdk-testpmd 22.11 prints them.
#include "dataplane/bench/testpmd.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/temporary_folder.h"

namespace bfly::dataplane {
namespace {

// Stands for dpdk-testpmd. Port N sends N million frames a second.
constexpr char kTestpmd[] = R"(#!/bin/sh
border='########################'
printf 'testpmd> \n'
while read -r show port stats number; do
  printf '\n  %s NIC statistics for port %-2d %s\n' $border $number $border
  printf '  RX-packets: %-10d RX-missed: %-10d RX-bytes:  %d\n' 5 0 300
  printf '  RX-errors: %d\n' 0
  printf '  RX-nombuf:  %-10d\n' 0
  printf '  TX-packets: %-10d TX-errors: %-10d TX-bytes:  %d\n' 5 0 300
  printf '\n  Throughput (since last show)\n'
  printf '  Rx-pps: %12d          Rx-bps: %12d\n' 7000000 3360000000
  printf '  Tx-pps: %12d          Tx-bps: %12d\n' ${number}000000 480000000
  printf '  %s############################%s\n' $border $border
done
)";

TEST(Testpmd, AddsUpTheRatesOfDifferentPorts) {
  const TemporaryFolder folder;
  const std::string program = folder / "testpmd";
  std::ofstream(program) << kTestpmd;
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  TestpmdOptions options;
  options.program = program;
  options.cpus = {0};
  const auto testpmd = Testpmd::Start(options, folder / "log");
  ASSERT_TRUE(testpmd.ok()) << testpmd.status();
  for (const std::vector<int>& ports : {std::vector{1, 3}, std::vector{3, 1}}) {
    const absl::StatusOr<double> sent = (*testpmd)->SentPerSecond(ports, 0.01);
    ASSERT_TRUE(sent.ok()) << sent.status();
    EXPECT_EQ(*sent, 4e6);
  }
  EXPECT_EQ((*testpmd)->SentPerSecond({1}, 0.01).value(), 1e6);
}

}  // namespace
}  // namespace bfly::dataplane

// SPDX-License-Identifier: Apache-2.0
// Which thread of DPDK's runs the worker of which lcore, on machines with more CPUs than DPDK has
// lcores.
#include "dataplane/runtime/eal_lcores.h"

#include <gtest/gtest.h>

#include <set>

namespace bfly::dataplane {
namespace {

std::vector<Lcore> Cpus(int first, int last) {
  std::vector<Lcore> lcores;
  for (int cpu = first; cpu <= last; ++cpu) lcores.push_back({.number = cpu, .cpu = cpu});
  return lcores;
}

// Takes the thread of an lcore, which must be there.
EalLcores::Thread Taken(EalLcores& lcores, int lcore) {
  const absl::StatusOr<EalLcores::Thread> thread = lcores.Take(lcore);
  EXPECT_TRUE(thread.ok()) << thread.status();
  return thread.value_or(EalLcores::Thread{});
}

TEST(EalLcores, KeepTheNumbersOfCpusThatDpdkHas) {
  EalLcores lcores({{.number = 1, .cpu = 1}, {.number = 4, .cpu = 4}, {.number = 126, .cpu = 126}});
  EXPECT_EQ(lcores.threads().size(), 3u);
  for (const int cpu : {1, 4, 126}) {
    const EalLcores::Thread thread = Taken(lcores, cpu);
    EXPECT_EQ(thread.number, cpu);
    EXPECT_EQ(thread.cpu, cpu);
    EXPECT_FALSE(thread.moves);
  }
}

TEST(EalLcores, GiveCpusAbove126NumbersThatNoCpuHas) {
  EalLcores lcores({{.number = 125, .cpu = 125},
                    {.number = 126, .cpu = 126},
                    {.number = 127, .cpu = 127},
                    {.number = 1023, .cpu = 1023}});
  EXPECT_EQ(Taken(lcores, 127).number, 124);
  const EalLcores::Thread last = Taken(lcores, 1023);
  EXPECT_EQ(last.number, 123);
  EXPECT_EQ(last.cpu, 1023);
  EXPECT_FALSE(last.moves);
  EXPECT_EQ(Taken(lcores, 126).number, 126);
}

TEST(EalLcores, HaveAThreadFor127WorkersOnAnyOf256Cpus) {
  EalLcores lcores(Cpus(0, 255));
  EXPECT_EQ(lcores.threads().size(), 127u);
  std::set<int> numbers;
  for (int cpu = 129; cpu <= 255; ++cpu) {
    const EalLcores::Thread thread = Taken(lcores, cpu);
    EXPECT_TRUE(numbers.insert(thread.number).second) << cpu;
    EXPECT_TRUE(thread.number >= 0 && thread.number < kMostWorkers) << thread.number;
    EXPECT_EQ(thread.cpu, cpu);
    EXPECT_TRUE(thread.moves) << cpu;
  }
  EXPECT_EQ(lcores.Take(0).status().message(),
            "this process runs 127 workers already, and DPDK has room for 127");
  EXPECT_EQ(lcores.Take(200).status().message(), "another fabric runs on it");
  EXPECT_EQ(lcores.Take(256).status().message(), "there is no lcore 256");
}

TEST(EalLcores, KnowWhereAThreadStandsThatMoved) {
  EalLcores lcores(Cpus(0, 200));
  EalLcores::Thread thread = Taken(lcores, 200);
  EXPECT_EQ(thread.number, 126);
  EXPECT_TRUE(thread.moves);
  lcores.GiveBack(thread);
  EXPECT_FALSE(Taken(lcores, 200).moves) << "it stands there already";
  // While the worker of lcore 200 has the thread of lcore 126, that one gets another.
  EXPECT_EQ(Taken(lcores, 126).number, 125);
  lcores.GiveBack(thread);
  EXPECT_EQ(lcores.Take(126).status().code(), absl::StatusCode::kFailedPrecondition);
  // A thread that could not move may be anywhere.
  thread = Taken(lcores, 200);
  thread.cpu = EalLcores::kNowhere;
  lcores.GiveBack(thread);
  EXPECT_TRUE(Taken(lcores, 200).moves);
}

}  // namespace
}  // namespace bfly::dataplane

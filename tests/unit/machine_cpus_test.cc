// SPDX-License-Identifier: Apache-2.0
// Which CPUs are for workers on a machine with isolated CPUs, and which for everything else.
#include "dataplane/runtime/machine_cpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/temporary_folder.h"

namespace bfly::dataplane {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(MachineCpus, ReadsTheKernelsLists) {
  EXPECT_THAT(ParseCpus("0"), ElementsAre(0));
  EXPECT_THAT(ParseCpus("8,0-3,10-11\n"), ElementsAre(0, 1, 2, 3, 8, 10, 11));
  EXPECT_THAT(ParseCpus("1022-5000"), ElementsAre(1022, 1023)) << "DPDK has no CPU above 1023";
  for (const char* wrong : {"", "\n", "(null)", "3-1", "-1", "0-3,", "1-2-3", "0-3:1/2"}) {
    EXPECT_THAT(ParseCpus(wrong), IsEmpty()) << wrong;
  }
}

TEST(MachineCpus, AreReadFromAFolder) {
  const TemporaryFolder folder;
  EXPECT_THAT(ReadMachineCpus(folder.path()).online, IsEmpty());
  std::ofstream(folder / "online") << "0-7\n";
  std::ofstream(folder / "isolated") << "\n";
  EXPECT_THAT(ReadMachineCpus(folder.path()).isolated, IsEmpty());
  std::ofstream(folder / "isolated") << "2-3,6\n";
  const MachineCpus machine = ReadMachineCpus(folder.path());
  EXPECT_THAT(machine.online, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(machine.isolated, ElementsAre(2, 3, 6));
}

TEST(MachineCpus, AffinityThatNobodyChoseLacksTheIsolatedCpusAlone) {
  const MachineCpus machine = {.online = {0, 1, 2, 3, 4}, .isolated = {2, 3}};
  EXPECT_TRUE(OnlyIsolatedAreMissing({0, 1, 4}, machine));
  EXPECT_FALSE(OnlyIsolatedAreMissing({0, 1}, machine)) << "taskset -c 0,1";
  EXPECT_FALSE(OnlyIsolatedAreMissing({2, 3}, machine)) << "taskset -c 2,3";
  EXPECT_FALSE(OnlyIsolatedAreMissing({0, 1, 2, 3, 4}, machine)) << "it has them already";
  EXPECT_FALSE(OnlyIsolatedAreMissing({0, 1}, {.online = {0, 1}, .isolated = {}}));
}

TEST(MachineCpus, IsolatedOnesAreForWorkersAndOthersForControl) {
  EXPECT_THAT(CpusForWorkers({0, 1, 2, 3}, {2, 3, 9}), ElementsAre(2, 3));
  EXPECT_THAT(CpusForControl({0, 1, 2, 3}, {2, 3, 9}), ElementsAre(0, 1));
  EXPECT_THAT(CpusForWorkers({0, 1}, {}), ElementsAre(0, 1));
  EXPECT_THAT(CpusForControl({0, 1}, {}), ElementsAre(0, 1));
  EXPECT_THAT(CpusForWorkers({0, 1}, {2, 3}), ElementsAre(0, 1)) << "this process may use none";
  EXPECT_THAT(CpusForControl({2, 3}, {2, 3}), ElementsAre(2, 3)) << "it has no other";
}

}  // namespace
}  // namespace bfly::dataplane

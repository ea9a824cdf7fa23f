// SPDX-License-Identifier: Apache-2.0
// Memory and CPU time of processes, from texts made by hand and from a thread that is known to
// work.
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "control/cli/process_cost.h"
#include "dataplane/runtime/cpus.h"

namespace bfly::control {
namespace {

constexpr char kOrdinary[] =
    "55d0-55e0 r-xp 00000000 fe:00 1 /usr/bin/bfly-dataplane\n"
    "Size:               2804 kB\n"
    "Rss:                2400 kB\n"
    "Pss:                2296 kB\n"
    "Pss_Dirty:             0 kB\n"
    "VmFlags: rd ex mr mw me\n"
    "7f00-7f10 rw-p 00000000 00:00 0 \n"
    "Pss:                1000 kB\n"
    "Pss_Dirty:          1000 kB\n";

TEST(MemoryFromSmaps, CountsEachMapOnceByTheShareOfThisProcess) {
  const ProcessMemory memory = MemoryFromSmaps(kOrdinary);
  EXPECT_EQ(memory.all, 3296u << 10);
  EXPECT_EQ(memory.frame_buffers, 0u);
}

TEST(MemoryFromSmaps, KeepsTheBuffersOfFramesApartOnPagesOfAnyKind) {
  const std::string small = std::string(kOrdinary) +
                            "100633000-120633000 rw-s 00000000 00:01 9 /memfd:nohuge (deleted)\n"
                            "Pss:               40000 kB\n"
                            "7f20-7f30 rw-p 00000000 00:00 0 [stack]\n"
                            "Pss:                  48 kB\n";
  EXPECT_EQ(MemoryFromSmaps(small).all, (3296u + 40000 + 48) << 10);
  EXPECT_EQ(MemoryFromSmaps(small).frame_buffers, 40000u << 10);
  EXPECT_EQ(MemoryFromSmaps(small).without_frame_buffers(), (3296u + 48) << 10);
  const std::string huge = std::string(kOrdinary) +
                           "100000000-100200000 rw-s 00000000 00:0f 9 /anon_hugepage (deleted)\n"
                           "Pss:                   0 kB\n"
                           "Shared_Hugetlb:        0 kB\n"
                           "Private_Hugetlb:    2048 kB\n";
  EXPECT_EQ(MemoryFromSmaps(huge).all, (3296u + 2048) << 10);
  EXPECT_EQ(MemoryFromSmaps(huge).frame_buffers, 2048u << 10);
}

TEST(MemoryOf, IsThatOfTheProcess) {
  constexpr size_t kBytes = size_t{64} << 20;
  // Linux may take pages of this process away meanwhile, but not every time.
  bool grew = false;
  for (int attempt = 0; attempt < 5 && !grew; ++attempt) {
    const ProcessMemory before = MemoryOf(getpid());
    const std::string text(kBytes, 'x');
    const ProcessMemory after = MemoryOf(getpid());
    EXPECT_GT(before.all, 0u);
    grew = after.all + (1 << 20) >= before.all + text.size();
  }
  EXPECT_TRUE(grew);
  EXPECT_EQ(MemoryOf(-1).all, 0u);
}

TEST(PinnedTime, IsOfTheThreadsThatMayRunThereAndNowhereElse) {
  const int cpu = dataplane::UsableCpus().back();
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  if (CPU_COUNT(&before) == 1) GTEST_SKIP() << "needs two CPUs";
  EXPECT_EQ(PinnedTime(getpid(), cpu).ran, 0);
  const double began = CpuSecondsOf(getpid());
  double ran = 0;
  std::thread([&] {
    sched_setaffinity(0, sizeof(one), &one);
    while (CpuSecondsOf(getpid()) < began + 0.05) {
    }
    ran = PinnedTime(getpid(), cpu).ran;
  }).join();
  // The kernel brings the figure of a running thread up to date at its ticks.
  EXPECT_GT(ran, 0.02);
  EXPECT_LT(ran, CpuSecondsOf(getpid()));
  EXPECT_EQ(CpuSecondsOf(-1), 0);
}

}  // namespace
}  // namespace bfly::control

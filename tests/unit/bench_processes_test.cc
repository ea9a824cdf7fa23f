// SPDX-License-Identifier: Apache-2.0
#include "dataplane/bench/bench_processes.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>

namespace bfly::dataplane {
namespace {

// The real-time priority of this process; 0: it has none.
int OwnPriority() {
  sched_param own{};
  EXPECT_EQ(sched_getparam(0, &own), 0);
  return own.sched_priority;
}

int PriorityOfAChild() {
  auto child = BenchProcess::Fork(testing::TempDir() + "bench_process.log", [](int report, int) {
    const int priority = OwnPriority();
    return write(report, &priority, sizeof(priority)) == sizeof(priority) ? 0 : 1;
  });
  EXPECT_TRUE(child.ok()) << child.status();
  int priority = -1;
  EXPECT_TRUE((*child)->Read(&priority, sizeof(priority), 60));
  EXPECT_EQ((*child)->WaitForEnd(60), 0);
  return priority;
}

TEST(BenchProcess, IsLessUrgentThanItsRealTimeParent) {
  const sched_param ordinary{};
  for (const int policy : {SCHED_FIFO, SCHED_RR}) {
    for (const int priority : {1, 2, 50, 99}) {
      const sched_param real_time{.sched_priority = priority};
      if (sched_setscheduler(0, policy, &real_time) != 0) GTEST_SKIP() << "needs CAP_SYS_NICE";
      EXPECT_TRUE(IsRealTime());
      const int of_child = PriorityOfAChild();
      const int own = OwnPriority();
      EXPECT_EQ(sched_setscheduler(0, SCHED_OTHER, &ordinary), 0);
      EXPECT_EQ(own, std::max(priority, 2));
      EXPECT_EQ(of_child, own - 1);
    }
  }
}

TEST(BenchProcess, IsOrdinaryIfItsParentIs) {
  EXPECT_FALSE(IsRealTime());
  EXPECT_EQ(PriorityOfAChild(), 0);
  EXPECT_EQ(OwnPriority(), 0);
}

}  // namespace
}  // namespace bfly::dataplane

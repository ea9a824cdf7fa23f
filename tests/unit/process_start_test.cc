// SPDX-License-Identifier: Apache-2.0
#include "dataplane/runtime/process_start.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace bfly::dataplane {
namespace {

TEST(ProcessStart, IsOfTheLivingOnly) {
  const uint64_t own = ProcessStart(getpid());
  const uint64_t parents = ProcessStart(getppid());
  EXPECT_GT(own, 0u);
  EXPECT_GE(own, parents);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    pause();
    _exit(0);
  }
  EXPECT_GE(ProcessStart(child), own);
  ASSERT_EQ(kill(child, SIGKILL), 0);
  // Until it is a zombie, which it stays: nobody has waited for it.
  siginfo_t info;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(ProcessStart(child), 0u) << "a zombie";
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_EQ(ProcessStart(child), 0u) << "gone";
}

}  // namespace
}  // namespace bfly::dataplane

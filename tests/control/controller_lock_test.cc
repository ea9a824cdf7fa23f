// SPDX-License-Identifier: Apache-2.0
#include "control/server/controller_lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/temporary_folder.h"

namespace bfly::control {
namespace {

using testing::HasSubstr;

class ControllerLockTest : public testing::Test {
 protected:
  bool FileIsThere() const { return std::filesystem::exists(directory_ + "/controller.lock"); }

  const TemporaryFolder folder_;
  const std::string directory_ = folder_.path();
};

TEST_F(ControllerLockTest, ASecondControllerOfADirectoryIsRefusedAndToldWhichRuns) {
  const auto first = ControllerLock::Take(directory_);
  ASSERT_TRUE(first.ok()) << first.status();
  const absl::Status refused = ControllerLock::Take(directory_).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("process " + std::to_string(getpid())));
  EXPECT_TRUE(ControllerLock::Take(directory_ + "/other").ok());
}

TEST_F(ControllerLockTest, OneThatEndsInOrderLeavesNothing) {
  std::string id;
  {
    const auto lock = ControllerLock::Take(directory_);
    ASSERT_TRUE(lock.ok());
    id = lock->id();
    EXPECT_TRUE(FileIsThere());
  }
  EXPECT_FALSE(FileIsThere());
  const auto next = ControllerLock::Take(directory_);
  ASSERT_TRUE(next.ok());
  EXPECT_NE(next->id(), id);
}

TEST_F(ControllerLockTest, AfterACrashTheNextHasTheSameId) {
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto lock = ControllerLock::Take(directory_);
    const std::string id = lock.ok() ? lock->id() : std::string(32, '!');
    (void)!write(pipe_ends[1], id.data(), id.size());
    pause();
    _exit(0);
  }
  std::string id(32, ' ');
  ASSERT_EQ(read(pipe_ends[0], id.data(), id.size()), 32);
  EXPECT_EQ(ControllerLock::Take(directory_).status().code(), absl::StatusCode::kAlreadyExists);
  ControllerLock::RemoveStale(directory_);
  EXPECT_TRUE(FileIsThere());
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(FileIsThere());
  const auto next = ControllerLock::Take(directory_);
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_EQ(next->id(), id);
}

TEST_F(ControllerLockTest, AFileOfACrashIsRemovedOnRequestAndGarbageInItIsNoId) {
  std::ofstream(directory_ + "/controller.lock") << "garbage";
  {
    const auto lock = ControllerLock::Take(directory_);
    ASSERT_TRUE(lock.ok());
    EXPECT_EQ(lock->id().size(), 32u);
  }
  std::ofstream(directory_ + "/controller.lock") << "x";
  ControllerLock::RemoveStale(directory_);
  EXPECT_FALSE(FileIsThere());
  ControllerLock::RemoveStale(directory_);
}

TEST_F(ControllerLockTest, ALinkInItsPlaceIsNotFollowed) {
  std::filesystem::create_symlink(directory_ + "/elsewhere", directory_ + "/controller.lock");
  EXPECT_FALSE(ControllerLock::Take(directory_).ok());
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/elsewhere"));
}

}  // namespace
}  // namespace bfly::control

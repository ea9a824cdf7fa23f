// SPDX-License-Identifier: Apache-2.0
#include "control/server/state_lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "control/server/controller_lock.h"
#include "tests/temporary_folder.h"

namespace bfly::control {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class StateLockTest : public testing::Test {
 protected:
  // Returns the error's text.
  std::string Refused(absl::StatusCode code) {
    const absl::Status status = StateLock::Take(directory_).status();
    EXPECT_EQ(status.code(), code) << status;
    return std::string(status.message());
  }

  const TemporaryFolder folder_;
  const std::string directory_ = folder_ / "state";
};

TEST_F(StateLockTest, ASecondControllerIsRefusedUntilTheFirstEnds) {
  {
    const auto first = StateLock::Take(directory_);
    ASSERT_TRUE(first.ok()) << first.status();
    EXPECT_THAT(Refused(absl::StatusCode::kAlreadyExists),
                HasSubstr("another controller works with the state directory " + directory_));
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
  EXPECT_TRUE(StateLock::Take(directory_).ok());
  struct stat info {};
  ASSERT_EQ(stat(directory_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0750u);
}

// One controller keeps its intent in its run directory, another one is told to use it too.
TEST_F(StateLockTest, TheRunDirectoryOfOneControllerIsNotTheStateDirectoryOfAnother) {
  const auto run = ControllerLock::Take(directory_);
  const auto first = StateLock::Take(directory_);
  ASSERT_TRUE(run.ok() && first.ok()) << run.status() << first.status();
  Refused(absl::StatusCode::kAlreadyExists);
}

TEST_F(StateLockTest, OthersMayNotWriteThere) {
  std::filesystem::create_directory(directory_);
  for (const mode_t mode : {0777, 01777}) {
    ASSERT_EQ(chmod(directory_.c_str(), mode), 0);
    EXPECT_THAT(Refused(absl::StatusCode::kPermissionDenied),
                AllOf(HasSubstr("state-dir: "), HasSubstr(directory_), HasSubstr("chmod o-w")));
  }
  ASSERT_EQ(chmod(directory_.c_str(), 0750), 0);
  EXPECT_TRUE(StateLock::Take(directory_).ok());
  if (geteuid() != 0) return;
  constexpr uid_t kNobody = 65534;
  ASSERT_EQ(chown(directory_.c_str(), kNobody, kNobody), 0);
  EXPECT_THAT(Refused(absl::StatusCode::kPermissionDenied),
              HasSubstr("belongs to another user, 65534"));
}

TEST_F(StateLockTest, ALinkInTheLocksPlaceIsNotFollowed) {
  std::filesystem::create_directory(directory_);
  std::filesystem::create_symlink(folder_ / "elsewhere", directory_ + "/intent.lock");
  EXPECT_FALSE(StateLock::Take(directory_).ok());
  EXPECT_FALSE(std::filesystem::exists(folder_ / "elsewhere"));
}

}  // namespace
}  // namespace bfly::control

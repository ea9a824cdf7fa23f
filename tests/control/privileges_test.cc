// SPDX-License-Identifier: Apache-2.0
#include "control/server/privileges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <functional>
#include <string>
#include <utility>

#include "tests/temporary_folder.h"

namespace bfly::control {
namespace {

constexpr uid_t kSomebody = 1234;

uint64_t Bit(int capability) { return uint64_t{1} << capability; }

// A number of /proc/self/status, which is hexadecimal.
uint64_t Status(const std::string& wanted) {
  std::ifstream status("/proc/self/status");
  for (std::string key; status >> key;) {
    uint64_t value = 0;
    if (key == wanted && status >> std::hex >> value) return value;
  }
  return ~uint64_t{0};
}

// A process never gets back what it gives up.
void InAnotherProcess(const std::function<void()>& check) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    check();
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "see above";
}

class PrivilegesTest : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root";
  }
  // A directory that its owner alone may look into.
  std::string DirectoryOf(uid_t owner) {
    std::string path = folder_.path() + "/of" + std::to_string(owner);
    EXPECT_EQ(mkdir(path.c_str(), 0700), 0);
    EXPECT_EQ(chown(path.c_str(), owner, owner), 0);
    return path;
  }

  const TemporaryFolder folder_;
};

TEST_F(PrivilegesTest, OnlyWhatIsNeededIsLeftAndNothingComesBack) {
  const std::string mine = DirectoryOf(0), not_mine = DirectoryOf(kSomebody);
  InAnotherProcess([&] {
    const absl::Status status =
        KeepCapabilities({CAP_NET_RAW, CAP_SYS_NICE},
                         {{mine, FileUse::kMakes}, {mine + "/new/file", FileUse::kMeets}});
    EXPECT_TRUE(status.ok()) << status;
    const uint64_t left = Bit(CAP_NET_RAW) | Bit(CAP_SYS_NICE);
    EXPECT_EQ(Status("CapEff:"), left);
    EXPECT_EQ(Status("CapPrm:"), left);
    EXPECT_EQ(Status("CapBnd:"), left);
    EXPECT_EQ(Status("CapInh:"), 0);
    EXPECT_EQ(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), 1);
    EXPECT_EQ(access((mine + "/.").c_str(), W_OK), 0);
    EXPECT_NE(eaccess((not_mine + "/.").c_str(), R_OK), 0);
    EXPECT_NE(chown(mine.c_str(), kSomebody, kSomebody), 0);
  });
}

TEST_F(PrivilegesTest, FilesOfSomebodyElseCanBeUsedIfTheyAreNamed) {
  const std::string not_mine = DirectoryOf(kSomebody);
  // Root left it behind in a directory that it may not write into otherwise.
  std::ofstream(not_mine + "/left") << "a socket";
  for (const std::string& file :
       {not_mine, not_mine + "/new", not_mine + "/new/file", not_mine + "/left"}) {
    InAnotherProcess([&] {
      EXPECT_TRUE(KeepCapabilities({}, {{folder_.path()}, {file, FileUse::kMakes}}).ok());
      EXPECT_EQ(Status("CapEff:"), Bit(CAP_DAC_OVERRIDE)) << file;
      EXPECT_EQ(mkdir((not_mine + "/made").c_str(), 0700), 0) << file;
      EXPECT_EQ(rmdir((not_mine + "/made").c_str()), 0) << file;
    });
  }
}

TEST_F(PrivilegesTest, WhatItOnlyReadsNeedNotBeWritable) {
  const std::string mine = DirectoryOf(0), not_mine = DirectoryOf(kSomebody);
  std::ofstream(mine + "/key") << "a key";
  std::ofstream(not_mine + "/key") << "a key";
  ASSERT_EQ(chmod((mine + "/key").c_str(), 0400), 0);
  ASSERT_EQ(chown((not_mine + "/key").c_str(), kSomebody, kSomebody), 0);
  for (const auto& [directory, left] :
       {std::pair{mine, uint64_t{0}}, std::pair{not_mine, Bit(CAP_DAC_OVERRIDE)}}) {
    InAnotherProcess([&, &file_directory = directory, &wanted = left] {
      const std::string key = file_directory + "/key";
      EXPECT_TRUE(KeepCapabilities({}, {{key, FileUse::kReads}}).ok());
      EXPECT_EQ(Status("CapEff:"), wanted) << key;
      EXPECT_TRUE(std::ifstream(key).good()) << key;
    });
  }
}

TEST_F(PrivilegesTest, FilesThatOthersMayMakeCanBeUsed) {
  const std::string directory = DirectoryOf(0);
  std::ofstream(directory + "/there.sock") << "a socket";
  ASSERT_EQ(chmod((directory + "/there.sock").c_str(), 0666), 0);
  for (const auto& [mode, left] :
       {std::pair{mode_t{0755}, uint64_t{0}}, std::pair{mode_t{01777}, Bit(CAP_DAC_OVERRIDE)},
        std::pair{mode_t{0770}, Bit(CAP_DAC_OVERRIDE)}}) {
    ASSERT_EQ(chmod(directory.c_str(), mode), 0);
    for (const std::string& file :
         {directory, directory + "/there.sock", directory + "/not-yet.sock"}) {
      InAnotherProcess([&, &wanted = left, &of = mode] {
        EXPECT_TRUE(KeepCapabilities({}, {{file, FileUse::kMeets}}).ok());
        EXPECT_EQ(Status("CapEff:"), wanted)
            << file << " in a directory of mode " << std::oct << of;
      });
    }
  }
}

TEST_F(PrivilegesTest, AProcessWithoutCapabilitiesStaysAsItIs) {
  InAnotherProcess([&] {
    ASSERT_EQ(setresuid(kSomebody, kSomebody, kSomebody), 0);
    EXPECT_TRUE(KeepCapabilities({CAP_NET_ADMIN}, {{folder_.path(), FileUse::kMakes}}).ok());
    EXPECT_EQ(Status("CapEff:"), 0);
  });
}

}  // namespace
}  // namespace bfly::control

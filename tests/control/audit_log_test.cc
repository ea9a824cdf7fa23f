// SPDX-License-Identifier: Apache-2.0
// The audit log as a file.
#include "control/access/audit_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <latch>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tests/control/audit_fixture.h"

namespace bfly::control {
namespace {

TEST_F(AuditTest, ALineSaysWhoDidWhatWhenAndHowItEnded) {
  AuditEntry entry = Entry(1);
  entry.status = "INVALID_ARGUMENT";
  entry.error = "a \"quoted\"\nreason\xff";
  entry.request = [] { return std::string(10'000, 'r'); };
  const std::string text = AuditLine(entry);
  EXPECT_EQ(text.find('\n'), std::string::npos);
  const auto line = nlohmann::json::parse(text);
  // 1,500,000,000 s after 1970 began was 02:40 on 14 July 2017.
  EXPECT_EQ(line["time"], "2017-07-14T02:40:00.123456Z");
  EXPECT_EQ(line["caller"], "certificate bob");
  EXPECT_EQ(line["role"], "operator");
  EXPECT_EQ(line["call"], "bfly.v1.Fabric.Load");
  EXPECT_EQ(line["status"], "INVALID_ARGUMENT");
  EXPECT_EQ(line["us"], 42);
  EXPECT_THAT(line["error"].get<std::string>(), testing::StartsWith("a \"quoted\"\nreason"));
  EXPECT_EQ(line["request"].get<std::string>(), std::string(kMaxAuditText, 'r') + "...");
}

TEST_F(AuditTest, EveryEntryOfManyThreadsIsWrittenOnceAndInTheOrderOfItsThread) {
  constexpr int kThreads = 4, kEach = 5'000;  // more than may wait
  {
    const auto log = AuditLog::Open(path_);
    ASSERT_TRUE(log.ok()) << log.status();
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, thread] {
        for (int number = 0; number < kEach; ++number)
          (*log)->Write(Entry(thread * kEach + number));
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  std::vector<int> next(kThreads, 0);
  for (const auto& line : Lines(path_)) {
    const int number = line["messages"].get<int>();
    EXPECT_EQ(number % kEach, next[number / kEach]++);
  }
  for (const int seen : next) EXPECT_EQ(seen, kEach);
}

TEST_F(AuditTest, AFullFileBecomesTheOldOneAndNoLineIsCut) {
  constexpr uint64_t kMax = 4096;
  const size_t line = AuditLine(Entry(1)).size() + 1;
  const int fits = static_cast<int>(kMax / line);
  {
    const auto log = AuditLog::Open(path_, kMax);
    ASSERT_TRUE(log.ok());
    for (int number = 0; number < 3 * fits; ++number) (*log)->Write(Entry(1));
  }
  EXPECT_EQ(Lines(path_).size(), static_cast<size_t>(fits));
  EXPECT_EQ(Lines(path_ + ".1").size(), static_cast<size_t>(fits));
  EXPECT_LE(std::filesystem::file_size(path_), kMax);
}

TEST_F(AuditTest, CallsBeyondARoleAreCountedAndDoNotDriveOutWhatWasDone) {
  constexpr int kCalls = 100'000;
  {
    const auto log = AuditLog::Open(path_, /*max_file=*/100'000);
    ASSERT_TRUE(log.ok());
    (*log)->Write(Entry(7));
    AuditEntry refused = Entry(1);
    refused.caller = {Role::kViewer, "process 5 of user eve", "user eve"};
    refused.status = "PERMISSION_DENIED";
    refused.beyond_role = true;
    for (int number = 0; number < kCalls; ++number) (*log)->Write(refused);
    (*log)->Write(Entry(8));
  }
  EXPECT_FALSE(std::filesystem::exists(path_ + ".1"));
  uint64_t refused = 0, done = 0, lines = 0;
  for (const auto& line : Lines(path_)) {
    ++lines;
    if (line.contains("calls_left_out")) {
      EXPECT_EQ(line["caller"], "user eve");
      EXPECT_FALSE(line.contains("status")) << "they may have ended in different ways";
      refused += line["calls_left_out"].get<uint64_t>();
    } else {
      done += line["status"] == "OK";
      refused += line["status"] == "PERMISSION_DENIED";
    }
  }
  EXPECT_EQ(refused, static_cast<uint64_t>(kCalls)) << "each has a line or is counted";
  EXPECT_EQ(done, 2u);
  EXPECT_LT(lines, 200u);
}

TEST_F(AuditTest, CallsBeyondTheRolesOfManyCallersFillAnEighthOfAFile) {
  constexpr uint64_t kMax = 100'000;
  constexpr int kCallers = 300;
  {
    const auto log = AuditLog::Open(path_, kMax);
    ASSERT_TRUE(log.ok());
    (*log)->Write(Entry(7));
    AuditEntry refused = Entry(1);
    refused.status = "PERMISSION_DENIED";
    refused.beyond_role = true;
    // JSON needs two bytes for each: all lines together have more than 30 times kMax.
    refused.request = [] { return std::string(10'000, '\\'); };
    for (int caller = 0; caller < kCallers; ++caller) {
      refused.caller = {Role::kViewer, "process 5", "user " + std::to_string(caller)};
      for (int call = 0; call < AuditLog::kRefusedLines; ++call) (*log)->Write(refused);
    }
    (*log)->Write(Entry(8));
  }
  EXPECT_FALSE(std::filesystem::exists(path_ + ".1"));
  uint64_t refused = 0, done = 0, bytes = 0;
  for (const auto& line : Lines(path_)) {
    if (line.contains("calls_left_out")) {
      refused += line["calls_left_out"].get<uint64_t>();
    } else if (line["status"] == "OK") {
      ++done;
    } else {
      ++refused;
      bytes += line.dump().size();
    }
  }
  EXPECT_EQ(done, 2u);
  EXPECT_EQ(refused, static_cast<uint64_t>(kCallers) * AuditLog::kRefusedLines);
  EXPECT_GT(bytes, 0u);
  EXPECT_LE(bytes, kMax / 8);
}

TEST_F(AuditTest, AFullFileThatCannotBeRenamedGrowsNoMoreAndTheLossIsTold) {
  const uint64_t max = 2 * (AuditLine(Entry(1)).size() + 1);
  std::latch tried(1), room(1);
  {
    const auto log = AuditLog::Open(path_, max);
    ASSERT_TRUE(log.ok());
    std::filesystem::create_directory(path_ + ".1");
    for (int number = 1; number <= 4; ++number) (*log)->Write(Entry(number));
    (*log)->Write(HoldingEntry(5, tried, room));
    tried.wait();
    EXPECT_EQ(std::filesystem::file_size(path_), max);
    std::filesystem::remove(path_ + ".1");
    room.count_down();
  }
  EXPECT_EQ(Lines(path_ + ".1").size(), 2u);
  const std::vector<nlohmann::json> lines = Lines(path_);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0]["lines_lost"], 2);
  EXPECT_THAT(lines[0]["error"].get<std::string>(),
              testing::HasSubstr("cannot be renamed to " + path_ + ".1"));
  EXPECT_EQ(lines[1]["messages"], 5);
}

TEST_F(AuditTest, AFileThatCouldNotBeRenamedIsRefused) {
  const std::string old = path_ + ".1";
  std::filesystem::create_directory(old);
  const absl::Status occupied = AuditLog::Open(path_).status();
  EXPECT_EQ(occupied.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(occupied.message()), testing::HasSubstr(old + " is not a plain file"));
  std::filesystem::remove(old);
  EXPECT_TRUE(AuditLog::Open(path_).ok());
  if (geteuid() != 0) GTEST_SKIP() << "needs root to be another user";
  ASSERT_EQ(chmod(folder_.path().c_str(), 0755), 0);
  ASSERT_EQ(chown(path_.c_str(), 1000, 1000), 0);
  absl::Status no_right;
  // setresuid() of the C library would change the user of all threads.
  std::thread([&] {
    EXPECT_EQ(syscall(SYS_setresuid, -1, 1000, -1), 0);
    no_right = AuditLog::Open(path_).status();
  }).join();
  EXPECT_EQ(no_right.code(), absl::StatusCode::kPermissionDenied) << no_right;
  EXPECT_THAT(std::string(no_right.message()),
              testing::HasSubstr("may not write to " + folder_.path()));
}

TEST_F(AuditTest, ADiskThatIsFullLeavesWholeLinesAndTheirNumber) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, SIG_IGN);
  const size_t line = AuditLine(Entry(1)).size() + 1;
  std::latch tried(1), room(1);
  {
    const auto log = AuditLog::Open(path_);
    ASSERT_TRUE(log.ok());
    (*log)->Write(Entry(1));
    for (int look = 0; look < 1000 && std::filesystem::file_size(path_) < line; ++look) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    // Room for one line more and a part of the next.
    const rlimit limit{.rlim_cur = 2 * line + 20, .rlim_max = before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
    for (int number = 2; number <= 4; ++number) (*log)->Write(Entry(number));
    (*log)->Write(HoldingEntry(5, tried, room));
    tried.wait();
    const int set = setrlimit(RLIMIT_FSIZE, &before);
    room.count_down();
    ASSERT_EQ(set, 0);
  }
  signal(SIGXFSZ, SIG_DFL);
  const std::vector<nlohmann::json> lines = Lines(path_);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[1]["messages"], 2);
  EXPECT_EQ(lines[2]["lines_lost"], 2);
  EXPECT_EQ(lines[2]["error"], "the disk is full");
  EXPECT_EQ(lines[3]["messages"], 5);
}

TEST_F(AuditTest, GoesOnInTheFileThatIsThereAndIsForOwnerAndGroup) {
  { (*AuditLog::Open(path_))->Write(Entry(1)); }
  { (*AuditLog::Open(path_))->Write(Entry(2)); }
  EXPECT_EQ(Lines(path_).size(), 2u);
  struct stat info {};
  ASSERT_EQ(stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07, 0u);
}

TEST_F(AuditTest, FollowsNoLinkAndWritesIntoNoDirectory) {
  const std::string victim = folder_.path() + "/victim";
  std::ofstream(victim) << "precious";
  std::filesystem::create_symlink(victim, path_);
  EXPECT_EQ(AuditLog::Open(path_).status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(AuditLog::Open(folder_.path()).status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(std::filesystem::file_size(victim), 8u);
}

TEST_F(AuditTest, ALineThatWasNotWrittenToItsEndIsCutOffAndCounted) {
  for (const int whole : {0, 1, 3}) {
    const std::string torn = AuditLine(Entry(7)).substr(0, 30) + std::string(5'000, '\0');
    {
      std::ofstream file(path_, std::ios::trunc);
      for (int number = 0; number < whole; ++number) file << AuditLine(Entry(number)) << '\n';
      file << torn;
    }
    { (*AuditLog::Open(path_))->Write(Entry(8)); }
    const std::vector<nlohmann::json> lines = Lines(path_);
    ASSERT_EQ(lines.size(), static_cast<size_t>(whole + 2));
    for (int number = 0; number < whole; ++number) EXPECT_EQ(lines[number]["messages"], number);
    EXPECT_EQ(lines[whole]["lines_lost"], 1);
    EXPECT_EQ(lines[whole + 1]["messages"], 8);
  }
}

TEST_F(AuditTest, AFileOfSomethingElseIsLeftAsItIs) {
  for (const std::string content : {"{\"port\": 7380}", "notes\nof mine", "x"}) {
    std::ofstream(path_, std::ios::trunc) << content;
    const auto log = AuditLog::Open(path_);
    EXPECT_EQ(log.status().code(), absl::StatusCode::kInvalidArgument) << content;
    EXPECT_THAT(std::string(log.status().message()), testing::HasSubstr(path_));
    std::ifstream file(path_);
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), content);
  }
  // What a power cut can leave of a first line is not something else.
  for (const std::string& left : {std::string("{\"ti"), std::string(5'000, '\0')}) {
    std::ofstream(path_, std::ios::trunc) << left;
    EXPECT_TRUE(AuditLog::Open(path_).ok());
  }
}

TEST_F(AuditTest, TwoLogsDoNotWriteOneFile) {
  auto first = AuditLog::Open(path_, /*max_file=*/2 * (AuditLine(Entry(1)).size() + 1));
  ASSERT_TRUE(first.ok());
  const auto second = [&] { return AuditLog::Open(path_).status(); };
  EXPECT_EQ(second().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(second().message()), testing::HasSubstr(path_));
  // The file that takes the place of a full one is held too.
  for (int number = 1; number <= 3; ++number) (*first)->Write(Entry(number));
  const auto has_begun_a_new_one = [&] {
    std::error_code missing;
    return std::filesystem::exists(path_ + ".1") &&
           std::filesystem::file_size(path_, missing) > 0 && !missing;
  };
  for (int look = 0; look < 1'000 && !has_begun_a_new_one(); ++look) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(second().code(), absl::StatusCode::kFailedPrecondition);
  first->reset();
  EXPECT_TRUE(second().ok());
}

TEST_F(AuditTest, BeginsANewFileAlsoIfTheOneBeforeWasRenamedAndNoNewOneCouldBeOpened) {
  const size_t line = AuditLine(Entry(1)).size() + 1;
  {
    const auto log = AuditLog::Open(path_, /*max_file=*/2 * line);
    ASSERT_TRUE(log.ok());
    std::filesystem::rename(path_, path_ + ".1");
    for (int number = 1; number <= 3; ++number) (*log)->Write(Entry(number));
  }
  EXPECT_EQ(Lines(path_ + ".1").size(), 2u);
  ASSERT_EQ(Lines(path_).size(), 1u);
  EXPECT_EQ(Lines(path_)[0]["messages"], 3);
}

}  // namespace
}  // namespace bfly::control

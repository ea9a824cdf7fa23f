// SPDX-License-Identifier: Apache-2.0
// What OutputFile::Open accepts can be written, and until then nothing changes.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "control/cli/output_file.h"
#include "control/measure/core/journal.h"
#include "tests/temporary_folder.h"

namespace bfly::control {
namespace {

namespace fs = std::filesystem;

TEST(OutputFile, LeavesNothingUntilItIsWritten) {
  const TemporaryFolder folder;
  auto output = OutputFile::Open(folder / "new");
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_TRUE(fs::is_empty(folder.path()));
  EXPECT_TRUE(output->Write("text").ok());
  EXPECT_EQ(ReadFile(folder / "new").value_or(""), "text");
}

TEST(OutputFile, KeepsAnOlderFileUntilItIsWritten) {
  const TemporaryFolder folder;
  std::ofstream(folder / "old") << "older";
  std::ofstream(folder / "old.part") << "mine";
  auto output = OutputFile::Open(folder / "old");
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ReadFile(folder / "old").value_or(""), "older");
  EXPECT_EQ(ReadFile(folder / "old.part").value_or(""), "mine");
  EXPECT_TRUE(output->Write("text").ok());
  EXPECT_EQ(ReadFile(folder / "old").value_or(""), "text");
}

TEST(OutputFile, ReplacesTheFileThatSymbolicLinksLeadTo) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "far");
  std::ofstream(folder / "far/old") << "older";
  fs::create_symlink("far/old", folder / "near");
  fs::create_symlink("near", folder / "to_old");
  fs::create_symlink("far/new", folder / "to_new");
  for (const std::string name : {"old", "new"}) {
    auto output = OutputFile::Open(folder / ("to_" + name));
    ASSERT_TRUE(output.ok()) << output.status();
    EXPECT_TRUE(output->Write("text").ok());
    EXPECT_TRUE(fs::is_symlink(folder / ("to_" + name)));
    EXPECT_EQ(ReadFile(folder / ("far/" + name)).value_or(""), "text");
  }
  fs::create_symlink("loop", folder / "loop");
  EXPECT_FALSE(OutputFile::Open(folder / "loop").ok());
}

TEST(OutputFile, IsRefusedWhereAFileCannotBeReplaced) {
  // It can be opened for writing, but nobody can make a file beside it.
  EXPECT_FALSE(OutputFile::Open("/proc/self/comm").ok());
  const TemporaryFolder folder;
  EXPECT_FALSE(OutputFile::Open(folder.path()).ok());
  EXPECT_FALSE(OutputFile::Open(folder / "none/new").ok());
}

TEST(OutputFile, IsWrittenIntoAPipe) {
  const TemporaryFolder folder;
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  const int reader = open((folder / "pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  auto output = OutputFile::Open(folder / "pipe");
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_TRUE(output->Write("text").ok());
  char read_text[8] = {};
  EXPECT_EQ(read(reader, read_text, sizeof(read_text)), 4);
  EXPECT_STREQ(read_text, "text");
  close(reader);
  EXPECT_TRUE(fs::is_fifo(folder / "pipe"));
}

TEST(OutputFile, SaysThatWhoeverReadsHasEnded) {
  const TemporaryFolder folder;
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  const int reader = open((folder / "pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  auto output = OutputFile::Open(folder / "pipe");
  ASSERT_TRUE(output.ok()) << output.status();
  close(reader);
  EXPECT_FALSE(output->Write("text").ok());
}

TEST(OutputFile, SaysThatADeviceIsFull) {
  const TemporaryFolder folder;
  fs::create_symlink("/dev/full", folder / "full");
  auto output = OutputFile::Open(folder / "full");
  ASSERT_TRUE(output.ok()) << output.status();
  const absl::Status status = output->Write("text");
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_TRUE(fs::is_symlink(folder / "full"));
}

// The shell may have sent standard output into a file, which then has everything in turn.
TEST(OutputFile, IsWrittenBetweenWhatStandardOutputGets) {
  testing::internal::CaptureStdout();
  printf("before\n");
  {
    auto output = OutputFile::Open("/dev/stdout");
    EXPECT_TRUE(output.ok() && output->Write("text\n").ok());
  }
  printf("after\n");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "before\ntext\nafter\n");
}

}  // namespace
}  // namespace bfly::control

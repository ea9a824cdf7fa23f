// SPDX-License-Identifier: Apache-2.0
#include "control/services/object_journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace bfly::control {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class ObjectJournalTest : public testing::Test {
 protected:
  ObjectJournalTest() {
    char name[] = "/tmp/bfly-test-XXXXXX";
    directory_ = mkdtemp(name);
    path_ = directory_ + "/objects.journal";
  }
  ~ObjectJournalTest() override { std::filesystem::remove_all(directory_); }
  std::vector<std::string> Read(const std::string& fabric = "f") {
    return *ObjectJournal(path_).Open(fabric);
  }

  std::string directory_;
  std::string path_;
};

TEST_F(ObjectJournalTest, KeepsRecordsInOrderForTheirFabricOnly) {
  ObjectJournal journal(path_);
  EXPECT_THAT(*journal.Open("f"), IsEmpty());
  ASSERT_TRUE(journal.Append({"one"}).ok());
  ASSERT_TRUE(journal.Append({std::string("tw\0o", 4), ""}).ok());
  EXPECT_THAT(Read(), ElementsAre("one", std::string("tw\0o", 4), ""));
  EXPECT_THAT(Read("another"), IsEmpty());
  // The one that comes after goes on with it.
  ObjectJournal next(path_);
  ASSERT_TRUE(next.Open("f").ok());
  ASSERT_TRUE(next.Append({"four"}).ok());
  EXPECT_EQ(Read().size(), 4u);
}

TEST_F(ObjectJournalTest, TakesBackTheLastAndForgetsWhatIsReplaced) {
  ObjectJournal journal(path_);
  journal.Begin("f");
  ASSERT_TRUE(journal.Append({"one"}).ok());
  ASSERT_TRUE(journal.TakeBack().ok());
  EXPECT_THAT(Read(), IsEmpty());
  ASSERT_TRUE(journal.Append({"two"}).ok());
  ASSERT_TRUE(journal.Append({"three"}).ok());
  ASSERT_TRUE(journal.TakeBack().ok());
  EXPECT_THAT(Read(), ElementsAre("two"));
  ASSERT_TRUE(journal.KeepLast({"four"}).ok());
  EXPECT_THAT(Read(), ElementsAre("four"));
  ASSERT_TRUE(journal.Append({"five"}).ok());
  EXPECT_THAT(Read(), ElementsAre("four", "five"));
  journal.Begin("g");
  EXPECT_FALSE(std::filesystem::exists(path_));
}

// Killed while it wrote: whatever is missing or wrong at the end, the records before it are there.
TEST_F(ObjectJournalTest, ARecordThatWasNotWrittenToItsEndIsNone) {
  {
    ObjectJournal journal(path_);
    journal.Begin("f");
    ASSERT_TRUE(journal.Append({"first record"}).ok());
  }
  const auto whole = std::filesystem::file_size(path_);
  {
    ObjectJournal journal(path_);
    ASSERT_TRUE(journal.Open("f").ok());
    ASSERT_TRUE(journal.Append({"second record"}).ok());
  }
  const std::string copy = directory_ + "/copy";
  std::filesystem::copy_file(path_, copy);
  for (uint64_t size = whole; size < std::filesystem::file_size(copy); ++size) {
    std::filesystem::copy_file(copy, path_, std::filesystem::copy_options::overwrite_existing);
    std::filesystem::resize_file(path_, size);
    EXPECT_THAT(Read(), ElementsAre("first record")) << size;
    EXPECT_EQ(std::filesystem::file_size(path_), whole);
  }
  std::filesystem::copy_file(copy, path_, std::filesystem::copy_options::overwrite_existing);
  std::fstream(path_, std::ios::in | std::ios::out | std::ios::binary).seekp(-1, std::ios::end)
      << 'X';
  EXPECT_THAT(Read(), ElementsAre("first record"));
}

TEST_F(ObjectJournalTest, AFileOfSomethingElseIsSaidAndReplaced) {
  std::ofstream(path_) << "hello";
  ObjectJournal journal(path_);
  const absl::Status status = journal.Open("f").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_NE(std::string(status.message()).find(path_), std::string::npos);
  ASSERT_TRUE(journal.Append({"one"}).ok());
  EXPECT_THAT(Read(), ElementsAre("one"));
}

}  // namespace
}  // namespace bfly::control

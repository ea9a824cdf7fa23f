// SPDX-License-Identifier: Apache-2.0
#include "control/store/sqlite_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/temporary_folder.h"

namespace bfly::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class SqliteStoreTest : public testing::Test {
 protected:
  std::vector<std::string> Read(const std::string& fabric = "f") {
    const auto records = SqliteStore(path_).Open(fabric);
    EXPECT_TRUE(records.ok()) << records.status();
    return records.value_or(std::vector<std::string>{"unread"});
  }
  // Changes the file with SQLite itself, past the store.
  void Execute(const char* sql) {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, sql, nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(database);
    sqlite3_close(database);
  }
  std::string Bytes(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  // Every call returns this error, and the file stays unchanged.
  void ExpectLeftAlone(absl::StatusCode code, const char* text) {
    const std::string before = Bytes(path_);
    SqliteStore store(path_);
    for (const absl::Status& status :
         {store.Open("f").status(), store.Append({"one"}), store.Begin("g"), store.Append({"two"}),
          store.Keep({.state = "s"}), store.Read().status()}) {
      EXPECT_EQ(status.code(), code) << status;
      EXPECT_THAT(std::string(status.message()), HasSubstr(path_));
      EXPECT_THAT(std::string(status.message()), HasSubstr(text));
    }
    EXPECT_EQ(Bytes(path_), before);
  }

  const TemporaryFolder folder_;
  const std::string directory_ = folder_.path();
  std::string path_ = directory_ + "/intent.db";
};

TEST_F(SqliteStoreTest, KeepsRecordsInOrderForTheirFabricOnly) {
  SqliteStore store(path_);
  EXPECT_THAT(*store.Open("f"), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(path_)) << "nothing was placed yet";
  ASSERT_TRUE(store.Append({"one"}).ok());
  ASSERT_TRUE(store.Append({std::string("tw\0o", 4), ""}).ok());
  EXPECT_THAT(Read(), ElementsAre("one", std::string("tw\0o", 4), ""));
  struct stat file;
  ASSERT_EQ(stat(path_.c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0640u);
}

TEST_F(SqliteStoreTest, AnotherControllerGoesOnWithIt) {
  ASSERT_TRUE(SqliteStore(path_).Open("f").ok());
  {
    SqliteStore store(path_);
    ASSERT_TRUE(store.Begin("f").ok());
    ASSERT_TRUE(store.Append({"one"}).ok());
  }
  {
    SqliteStore next(path_);
    EXPECT_THAT(*next.Open("f"), ElementsAre("one"));
    ASSERT_TRUE(next.Append({"two"}).ok());
  }
  EXPECT_THAT(Read(), ElementsAre("one", "two"));
  EXPECT_THAT(Read("another"), IsEmpty());
  EXPECT_THAT(Read(), IsEmpty()) << "it was begun anew for the other fabric";
}

TEST_F(SqliteStoreTest, TakesBackTheLastAndForgetsWhatIsReplaced) {
  SqliteStore store(path_);
  ASSERT_TRUE(store.Begin("f").ok());
  ASSERT_TRUE(store.Append({"one"}).ok());
  ASSERT_TRUE(store.TakeBack().ok());
  EXPECT_THAT(Read(), IsEmpty());
  ASSERT_TRUE(store.Append({"two"}).ok());
  ASSERT_TRUE(store.Append({"three", "four"}).ok());
  ASSERT_TRUE(store.TakeBack().ok());
  EXPECT_THAT(Read(), ElementsAre("two"));
  ASSERT_TRUE(store.Append({"five", "six"}).ok());
  ASSERT_TRUE(store.KeepLast().ok());
  EXPECT_THAT(Read(), ElementsAre("five", "six"));
  ASSERT_TRUE(store.Begin("g").ok());
  EXPECT_FALSE(std::filesystem::exists(path_));
  ASSERT_TRUE(store.Append({"seven"}).ok());
  EXPECT_THAT(Read("g"), ElementsAre("seven"));
  ASSERT_TRUE(store.Begin("h").ok());
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
}

// A process is killed while it writes: wherever the log is cut, the placements up to the last whole
// one are left.
TEST_F(SqliteStoreTest, ATransactionThatWasNotWrittenToItsEndLeavesNothing) {
  const std::string log = path_ + "-wal";
  const std::string copy = directory_ + "/copy";
  SqliteStore store(path_);
  ASSERT_TRUE(store.Begin("f").ok());
  ASSERT_TRUE(store.Append({"first"}).ok());
  const auto whole = std::filesystem::file_size(log);
  ASSERT_TRUE(store.Append({"second", "third"}).ok());
  const auto size = std::filesystem::file_size(log);
  ASSERT_GT(size, whole);
  std::filesystem::copy_file(path_, copy);
  std::filesystem::copy_file(log, copy + "-wal");
  const std::string original = path_;
  path_ = directory_ + "/cut";
  for (uint64_t cut = whole; cut <= size; cut += cut + 97 > size && cut < size ? size - cut : 97) {
    std::filesystem::copy_file(copy, path_, std::filesystem::copy_options::overwrite_existing);
    std::filesystem::copy_file(copy + "-wal", path_ + "-wal",
                               std::filesystem::copy_options::overwrite_existing);
    std::filesystem::resize_file(path_ + "-wal", cut);
    std::filesystem::remove(path_ + "-shm");
    if (cut < size) {
      EXPECT_THAT(Read(), ElementsAre("first")) << cut;
    } else {
      EXPECT_THAT(Read(), ElementsAre("first", "second", "third"));
    }
  }
}

TEST_F(SqliteStoreTest, KeepsTheStateAndTheCircuitsThatStand) {
  EXPECT_FALSE(SqliteStore(path_).Read()->has_value());
  {
    SqliteStore store(path_);
    ASSERT_TRUE(store.Begin("f").ok());
    ASSERT_TRUE(store.Keep({.state = "one", .circuits = {{7, "seven"}, {0, "nought"}}}).ok());
    ASSERT_TRUE(store.Append({"placed"}).ok());
    // Circuit 7 is released, 0 gets another path, and 4294967295 is new.
    ASSERT_TRUE(
        store.Keep({.state = "two", .circuits = {{7, ""}, {0, "moved"}, {~0u, "last"}}}).ok());
  }
  const auto kept = SqliteStore(path_).Read();
  ASSERT_TRUE(kept.ok() && kept->has_value()) << kept.status();
  EXPECT_EQ((*kept)->fabric, "f");
  EXPECT_EQ((*kept)->state, "two");
  EXPECT_THAT((*kept)->circuits, ElementsAre("moved", "last"));
  EXPECT_THAT((*kept)->placements, ElementsAre("placed"));
  ASSERT_TRUE(SqliteStore(path_)
                  .Keep({.state = "three", .forget_circuits = true, .circuits = {{3, "new"}}})
                  .ok());
  EXPECT_THAT((*SqliteStore(path_).Read())->circuits, ElementsAre("new"));
}

TEST_F(SqliteStoreTest, WhatIsSetAsideCanBePutBack) {
  {
    SqliteStore store(path_);
    ASSERT_TRUE(store.Begin("f").ok());
    ASSERT_TRUE(store.Append({"placed"}).ok());
    ASSERT_TRUE(store.Keep({.state = "one", .circuits = {{7, "seven"}}}).ok());
    ASSERT_TRUE(store.Begin("g", "", /*set_aside=*/true).ok());
    EXPECT_FALSE(std::filesystem::exists(path_));
    EXPECT_FALSE(std::filesystem::exists(path_ + "-wal"));
    ASSERT_TRUE(store.Keep({.state = "other"}).ok());
    // What is forgotten does not push out what was set aside.
    ASSERT_TRUE(store.Begin("h").ok());
  }
  std::filesystem::rename(path_ + ".before", path_);
  const auto kept = SqliteStore(path_).Read();
  ASSERT_TRUE(kept.ok() && kept->has_value()) << kept.status();
  EXPECT_EQ((*kept)->state, "one");
  EXPECT_THAT((*kept)->circuits, ElementsAre("seven"));
  EXPECT_THAT((*kept)->placements, ElementsAre("placed"));
  // A controller that takes another fabric over sets this one aside.
  EXPECT_THAT(*SqliteStore(path_).Open("g"), IsEmpty());
  EXPECT_TRUE(std::filesystem::exists(path_ + ".before"));
}

TEST_F(SqliteStoreTest, AFabricThatBeginsTakesThePlaceOfTheOneBefore) {
  SqliteStore store(path_);
  ASSERT_TRUE(store.Begin("f", "one").ok());
  ASSERT_TRUE(store.Append({"placed"}).ok());
  ASSERT_TRUE(store.Begin("g", "two", /*set_aside=*/true).ok());
  const auto now = store.Read();
  ASSERT_TRUE(now.ok() && now->has_value()) << now.status();
  EXPECT_EQ((*now)->fabric, "g");
  EXPECT_EQ((*now)->state, "two");
  EXPECT_THAT((*now)->placements, IsEmpty());
  ASSERT_TRUE(store.Append({"of g"}).ok());
  const auto before = SqliteStore(path_ + ".before").Read();
  ASSERT_TRUE(before.ok() && before->has_value()) << before.status();
  EXPECT_EQ((*before)->state, "one");
  EXPECT_THAT((*before)->placements, ElementsAre("placed"));
}

TEST_F(SqliteStoreTest, WhatCouldNotBeginIsNotMixedWithWhatWasBefore) {
  SqliteStore store(path_);
  ASSERT_TRUE(store.Begin("f", "one").ok());
  ASSERT_TRUE(store.Append({"of f"}).ok());
  // Nothing can be set aside while a directory has that name.
  std::filesystem::create_directories(path_ + ".before/in");
  EXPECT_FALSE(store.Begin("g", "two", /*set_aside=*/true).ok());
  EXPECT_EQ((*store.Read())->state, "one");
  EXPECT_FALSE(store.Append({"of g"}).ok());
  EXPECT_FALSE(store.Keep({.state = "three"}).ok());
  EXPECT_THAT(Read("f"), ElementsAre("of f"));
  std::filesystem::remove_all(path_ + ".before");
  ASSERT_TRUE(store.Append({"of g"}).ok());
  EXPECT_THAT(Read("g"), ElementsAre("of g"));
  EXPECT_EQ((*SqliteStore(path_ + ".before").Read())->state, "one");
}

// The power failed after the file was removed and before its log was: the log is not taken for that
// of the next file.
TEST_F(SqliteStoreTest, ALogWithoutItsFileIsForgotten) {
  SqliteStore store(path_);
  ASSERT_TRUE(store.Begin("f").ok());
  ASSERT_TRUE(store.Append({"first"}).ok());
  const std::string log = Bytes(path_ + "-wal");
  ASSERT_GT(log.size(), 4096u);
  ASSERT_TRUE(store.Begin("g").ok());
  std::ofstream(path_ + "-wal", std::ios::binary) << log;
  ASSERT_TRUE(store.Append({"second"}).ok());
  EXPECT_THAT(Read("g"), ElementsAre("second"));
}

// Version 1 had these tables, as its code said.
TEST_F(SqliteStoreTest, AStoreOfVersion1IsBroughtUpToDate) {
  Execute(R"(CREATE TABLE fabric (name BLOB NOT NULL);
             CREATE TABLE placements (id INTEGER PRIMARY KEY, record BLOB NOT NULL);
             INSERT INTO fabric VALUES (CAST('f' AS BLOB));
             INSERT INTO placements (record) VALUES (CAST('one' AS BLOB));
             PRAGMA application_id = 1650879609;
             PRAGMA user_version = 1;)");
  EXPECT_THAT(Read(), ElementsAre("one"));
  SqliteStore store(path_);
  ASSERT_TRUE(store.Keep({.state = "s", .circuits = {{1, "c"}}}).ok());
  const auto kept = store.Read();
  ASSERT_TRUE(kept.ok() && kept->has_value()) << kept.status();
  EXPECT_THAT((*kept)->circuits, ElementsAre("c"));
  EXPECT_THAT((*kept)->placements, ElementsAre("one"));
}

TEST_F(SqliteStoreTest, AFileOfSomethingElseIsLeftAlone) {
  std::ofstream(path_) << "hello, this is no database, and long enough to have a header";
  ExpectLeftAlone(absl::StatusCode::kDataLoss, "away and set everything up again");
}

TEST_F(SqliteStoreTest, ADatabaseOfAnotherProgramIsLeftAlone) {
  Execute("CREATE TABLE songs (title TEXT)");
  ExpectLeftAlone(absl::StatusCode::kDataLoss, "another program");
}

TEST_F(SqliteStoreTest, ADamagedStoreIsNotTakenForAnEmptyOne) {
  {
    SqliteStore store(path_);
    ASSERT_TRUE(store.Begin("f").ok());
    ASSERT_TRUE(store.Append(std::vector<std::string>(200, std::string(100, 'x'))).ok());
  }
  // Its tables are erased from the pages behind the header.
  std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(4096) << std::string(8192, '\xff');
  file.close();
  ExpectLeftAlone(absl::StatusCode::kDataLoss, "is damaged");
}

TEST_F(SqliteStoreTest, AStoreOfANewerVersionIsLeftAlone) {
  ASSERT_TRUE(SqliteStore(path_).Append({"one"}).ok());
  Execute("PRAGMA user_version = 7");
  ExpectLeftAlone(absl::StatusCode::kFailedPrecondition, "version 7");
}

TEST_F(SqliteStoreTest, AStoreThatAnotherProcessHoldsIsReported) {
  SqliteStore store(path_);
  ASSERT_TRUE(store.Begin("f").ok());
  ASSERT_TRUE(store.Append({"one"}).ok());
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  const absl::Status status = store.Append({"two"});
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("another process"));
  ASSERT_EQ(sqlite3_exec(other, "ROLLBACK", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(other);
  ASSERT_TRUE(store.Append({"three"}).ok());
  EXPECT_THAT(Read(), ElementsAre("one", "three"));
}

TEST_F(SqliteStoreTest, AFullStoreKeepsWhatItHad) {
  SqliteStore store(path_, /*max_bytes=*/65'536);
  ASSERT_TRUE(store.Begin("f").ok());
  ASSERT_TRUE(store.Append({"one"}).ok());
  const absl::Status status = store.Append({"two", std::string(100'000, 'x')});
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(path_));
  ASSERT_TRUE(store.Append({"three"}).ok());
  EXPECT_THAT(Read(), ElementsAre("one", "three"));
}

}  // namespace
}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
// The file of a store while somebody copies it, moves it away, or puts another one in its place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "control/store/sqlite_store.h"
#include "tests/temporary_folder.h"

namespace bfly::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The file system of SQLite, which opens no file of that name while `closed` has it.
class ClosedName {
 public:
  explicit ClosedName(const std::string& name) {
    real_ = sqlite3_vfs_find(nullptr);
    closed_ = name;
    mine_ = *real_;
    mine_.zName = "name-that-cannot-be-opened";
    mine_.xOpen = [](sqlite3_vfs*, const char* opened, sqlite3_file* file, int flags, int* out) {
      if (opened != nullptr && closed_ == opened) return SQLITE_CANTOPEN;
      return real_->xOpen(real_, opened, file, flags, out);
    };
    sqlite3_vfs_register(&mine_, /*makeDflt=*/1);
  }
  ~ClosedName() {
    sqlite3_vfs_unregister(&mine_);
    sqlite3_vfs_register(real_, /*makeDflt=*/1);
  }

 private:
  static inline sqlite3_vfs* real_ = nullptr;
  static inline sqlite3_vfs mine_ = {};
  static inline std::string closed_;
};

class StoreFileTest : public testing::Test {
 protected:
  // The state in the file at the path, which a controller of its own reads.
  static std::string StateIn(const std::string& path) {
    const auto kept = SqliteStore(path).Read();
    EXPECT_TRUE(kept.ok()) << kept.status();
    return kept.ok() && kept->has_value() ? (*kept)->state : "nothing";
  }
  bool HasLog() const {
    return std::filesystem::exists(path_ + "-wal") || std::filesystem::exists(path_ + "-shm");
  }
  // f is set aside, and g is what the open store keeps, most of it in the log.
  void KeepGAfterF(SqliteStore& store) {
    ASSERT_TRUE(store.Begin("f", "f0").ok());
    ASSERT_TRUE(store.Append({"placed in f"}).ok());
    ASSERT_TRUE(store.Keep({.state = "f1", .circuits = {{7, "of f"}}}).ok());
    ASSERT_TRUE(store.Begin("g", "g0", /*set_aside=*/true).ok());
    ASSERT_TRUE(store.Keep({.state = "g1", .circuits = {{3, "of g"}}}).ok());
    ASSERT_TRUE(HasLog());
  }
  void ExpectF(const absl::StatusOr<std::optional<KeptFabric>>& kept) {
    ASSERT_TRUE(kept.ok() && kept->has_value()) << kept.status();
    EXPECT_EQ((*kept)->fabric, "f");
    EXPECT_EQ((*kept)->state, "f1");
    EXPECT_THAT((*kept)->circuits, ElementsAre("of f"));
    EXPECT_THAT((*kept)->placements, ElementsAre("placed in f"));
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_ / "intent.db";
  const std::string aside_ = path_ + ".before";
};

TEST_F(StoreFileTest, WhatIsPutBackUnderAnOpenStoreIsRead) {
  SqliteStore store(path_);
  KeepGAfterF(store);
  std::filesystem::rename(aside_, path_);
  ExpectF(store.Read());
  EXPECT_FALSE(HasLog()) << "the log was that of g";
  // What is kept of g is no change of f.
  EXPECT_EQ(store.Keep({.state = "g2"}).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store.Append({"placed in g"}).code(), absl::StatusCode::kNotFound);
  ExpectF(SqliteStore(path_).Read());
  EXPECT_THAT(*store.Open("f"), ElementsAre("placed in f"));
  ASSERT_TRUE(store.Keep({.state = "f2"}).ok());
  EXPECT_EQ(StateIn(path_), "f2");
}

TEST_F(StoreFileTest, WhatIsPutBackBeforeTheStoreEndsIsNotSpoilt) {
  {
    SqliteStore store(path_);
    KeepGAfterF(store);
    std::filesystem::rename(aside_, path_);
  }
  EXPECT_FALSE(HasLog());
  ExpectF(SqliteStore(path_).Read());
}

TEST_F(StoreFileTest, WhatIsPutBackUnderAFabricIsSetAsideWhenAnotherBegins) {
  SqliteStore store(path_);
  KeepGAfterF(store);
  std::filesystem::rename(aside_, path_);
  ASSERT_TRUE(store.Begin("h", "h0").ok());
  ASSERT_TRUE(store.Keep({.state = "h1"}).ok());
  EXPECT_EQ(StateIn(path_), "h1");
  ExpectF(SqliteStore(aside_).Read());
}

TEST_F(StoreFileTest, AFileThatWasRemovedIsMissed) {
  SqliteStore store(path_);
  KeepGAfterF(store);
  std::filesystem::remove(path_);
  const absl::Status status = store.Keep({.state = "g2"});
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr(path_));
  EXPECT_FALSE(std::filesystem::exists(path_)) << "a part of g is not g";
  EXPECT_FALSE(HasLog());
  ASSERT_TRUE(store.Begin("h", "h0").ok());
  ASSERT_TRUE(store.Append({"placed in h"}).ok());
  EXPECT_EQ(StateIn(path_), "h0");
}

TEST_F(StoreFileTest, AClosedStoreIsOneFileThatCanBeCopiedAndReplaced) {
  SqliteStore store(path_);
  KeepGAfterF(store);
  ASSERT_TRUE(store.Close().ok());
  EXPECT_FALSE(HasLog());
  std::filesystem::copy_file(path_, folder_ / "copy");
  EXPECT_EQ(StateIn(folder_ / "copy"), "g1");
  std::filesystem::copy_file(aside_, path_, std::filesystem::copy_options::overwrite_existing);
  ExpectF(store.Read());
  EXPECT_FALSE(HasLog()) << "who only looks leaves none";
}

TEST_F(StoreFileTest, AReaderThatStaysDoesNotKeepTheStoreFromClosing) {
  SqliteStore store(path_);
  KeepGAfterF(store);
  sqlite3* reader = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &reader), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(reader, "SELECT * FROM state", nullptr, nullptr, nullptr), SQLITE_OK);
  EXPECT_TRUE(store.Close().ok());
  sqlite3_close(reader);
  EXPECT_FALSE(HasLog());
  EXPECT_EQ(StateIn(path_), "g1");
}

TEST_F(StoreFileTest, AFileThatCannotBeOpenedOnceItIsThereDoesNotPushOutWhatWasSetAside) {
  SqliteStore store(path_);
  ASSERT_TRUE(store.Begin("f", "f0").ok());
  ASSERT_TRUE(store.Append({"placed in f"}).ok());
  ASSERT_TRUE(store.Keep({.state = "f1", .circuits = {{7, "of f"}}}).ok());
  {
    const ClosedName closed(path_);
    store.Begin("g", "g0", /*set_aside=*/true).IgnoreError();
    EXPECT_FALSE(store.Append({"placed in g"}).ok());
  }
  ASSERT_TRUE(store.Append({"placed in g"}).ok());
  EXPECT_EQ(StateIn(path_), "g0");
  ExpectF(SqliteStore(aside_).Read());
}

TEST_F(StoreFileTest, WhatCouldNotBeSetAsideIsNotForgottenByTheNextBegin) {
  SqliteStore store(path_);
  ASSERT_TRUE(store.Begin("f", "f0").ok());
  ASSERT_TRUE(store.Append({"placed in f"}).ok());
  ASSERT_TRUE(store.Keep({.state = "f1", .circuits = {{7, "of f"}}}).ok());
  // Nothing can be set aside while a directory has that name.
  std::filesystem::create_directories(aside_ + "/in");
  EXPECT_FALSE(store.Begin("g", "g0", /*set_aside=*/true).ok());
  EXPECT_FALSE(store.Begin("g").ok());
  std::filesystem::remove_all(aside_);
  ASSERT_TRUE(store.Begin("g").ok());
  ExpectF(SqliteStore(aside_).Read());
}

TEST_F(StoreFileTest, ADamagedStoreSaysWhatElseToRemove) {
  std::ofstream(path_) << "hello, this is no database, and long enough to have a header";
  const std::string message(SqliteStore(path_).Read().status().message());
  EXPECT_THAT(message, HasSubstr("first remove " + path_ + "-wal and " + path_ + "-shm"));
}

}  // namespace
}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
// The store as a SQLite database with a write-ahead log, synchronous=FULL and a transaction for
// each call.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "control/store/store.h"

namespace SQLite {
class Database;
}

namespace bfly::control {

class SqliteStore final : public Store {
 public:
  // The version of the tables. A database of a higher version is refused.
  static constexpr int kVersion = 1;

  // The first Append makes the file, which may grow to `max_bytes`. The constructor reads and
  // writes nothing.
  explicit SqliteStore(std::string path, uint64_t max_bytes = 256 << 20);
  ~SqliteStore() override;

  absl::StatusOr<std::vector<std::string>> Open(const std::string& fabric) override;
  absl::Status Begin(const std::string& fabric) override;
  absl::Status Append(const std::vector<std::string>& records) override;
  absl::Status TakeBack() override;
  absl::Status KeepLast() override;
  absl::Status Remove() override;

 private:
  // Calls `work` and turns exceptions of SQLite into a status. `doing` is a verb such as "read".
  absl::Status Try(const char* doing, const std::function<absl::Status()>& work) const;
  // Opens the file, which must exist, and checks that it is bfly's.
  absl::Status Connect();
  absl::Status Create();
  // Returns the error of errno.
  absl::Status CannotMake() const;
  // Returns an error if there is a file that bfly must not touch.
  absl::Status CheckOurs();

  const std::string path_;
  const uint64_t max_bytes_;
  std::string fabric_;
  // Null if there is no file, or the file was not opened yet.
  std::unique_ptr<SQLite::Database> database_;
  int64_t last_before_ = 0;  // the newest record before the last Append
};

}  // namespace bfly::control

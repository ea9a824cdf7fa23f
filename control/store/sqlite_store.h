// SPDX-License-Identifier: Apache-2.0
// The store as a SQLite database: write-ahead log, synchronous=FULL, one transaction a call.
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
  // Version of the tables. A database of a higher one is refused.
  static constexpr int kVersion = 1;

  // The file is made by the first Append and may grow to `max_bytes`. Nothing is read or written
  // yet.
  explicit SqliteStore(std::string path, uint64_t max_bytes = 256 << 20);
  ~SqliteStore() override;

  absl::StatusOr<std::vector<std::string>> Open(const std::string& fabric) override;
  absl::Status Begin(const std::string& fabric) override;
  absl::Status Append(const std::vector<std::string>& records) override;
  absl::Status TakeBack() override;
  absl::Status KeepLast() override;
  absl::Status Remove() override;

 private:
  // Calls `work` and turns what SQLite throws into a status. `doing` such as "read".
  absl::Status Try(const char* doing, const std::function<absl::Status()>& work) const;
  // Opens the file, which is there, and checks whose it is.
  absl::Status Connect();
  absl::Status Create();
  // The error of errno.
  absl::Status CannotMake() const;
  // Not OK: there is a file that bfly must leave alone.
  absl::Status CheckOurs();

  const std::string path_;
  const uint64_t max_bytes_;
  std::string fabric_;
  std::unique_ptr<SQLite::Database> database_;  // null: there is no file, or it was not opened yet
  int64_t last_before_ = 0;                     // the newest record before the last Append
};

}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
// The store as a SQLite database with a write-ahead log, synchronous=FULL and a transaction for
// each call.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "control/store/store.h"
#include "control/store/store_file.h"

namespace SQLite {
class Database;
}

namespace bfly::control {

class SqliteStore final : public Store {
 public:
  // The version of the tables. A database of a lower version is brought up to it, one of a higher
  // version is refused. Version 1 had placements alone.
  static constexpr int kVersion = 2;

  // The first Append makes the file, which may grow to `max_bytes`. The constructor reads and
  // writes nothing.
  explicit SqliteStore(std::string path, uint64_t max_bytes = 256 << 20);
  ~SqliteStore() override;

  absl::StatusOr<std::optional<KeptFabric>> Read() override;
  absl::StatusOr<std::vector<std::string>> Open(const std::string& fabric) override;
  absl::Status Begin(const std::string& fabric, const std::string& state = "",
                     bool set_aside = false) override;
  absl::Status Append(const std::vector<std::string>& placements) override;
  absl::Status TakeBack() override;
  absl::Status KeepLast() override;
  absl::Status Keep(const KeptChange& change) override;
  absl::Status Close() override;
  std::string path() const override { return path_; }

 private:
  // Calls `work` and turns exceptions of SQLite into a status. `doing` is a verb such as "read".
  absl::Status Try(const char* doing, const std::function<absl::Status()>& work) const;
  // What follows needs mutex_.

  // Opens the file, which must exist, and checks that it is bfly's.
  absl::Status Connect();
  // Makes a new file with `state` under another name and puts it in the place of the old one.
  absl::Status Create(const std::string& state, bool set_aside);
  absl::Status WriteFresh(const std::string& fresh, const std::string& state);
  // Opens the file, and makes it if there is none or if it is of the fabric before.
  absl::Status ConnectOrCreate();
  absl::Status BeginNow();
  // Closes the file, if there is one, and sees to it that it is whole without its log.
  absl::Status MakeWhole();
  // Does the same, and gives the file the other name too.
  absl::Status SetAside();
  // Returns the error of errno.
  absl::Status CannotMake() const;
  // Opens the file if there is one. Returns an error if bfly must not touch it.
  absl::Status CheckOurs();
  // Lets go of a file that is open and not at the path any more, and removes its log.
  void NoticeReplaced();
  // NOT_FOUND: the file that the fabric was kept in is not at the path any more.
  absl::Status CheckNotReplaced();

  const std::string path_;
  const uint64_t max_bytes_;
  std::mutex mutex_;    // guards what follows
  std::string fabric_;  // whose file the next Append or Keep makes
  struct Beginning {
    std::string state;
    bool set_aside = false;
  };
  std::optional<Beginning> unfinished_;  // a Begin that is not done yet
  // It is null if there is no file, or the file is not open.
  std::unique_ptr<SQLite::Database> database_;
  FileId file_;  // what database_ has open
  FileId log_;
  bool replaced_ = false;    // since the last Begin or Open; what is there is not this fabric's
  int64_t last_before_ = 0;  // the newest placement before the last Append
};

}  // namespace bfly::control

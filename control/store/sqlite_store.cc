// SPDX-License-Identifier: Apache-2.0
#include "control/store/sqlite_store.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/store/store_file.h"

namespace bfly::control {
namespace {

constexpr int kApplicationId = 0x62666c79;  // "bfly"; SQLite keeps it in the file's header
constexpr int kBusyMs = 1000;

constexpr char kTables[] = R"sql(
  CREATE TABLE fabric (name BLOB NOT NULL);
  CREATE TABLE placements (id INTEGER PRIMARY KEY, record BLOB NOT NULL);
)sql";
// Added by version 2.
constexpr char kStateTables[] = R"sql(
  CREATE TABLE state (id INTEGER PRIMARY KEY CHECK (id = 0), bytes BLOB NOT NULL);
  CREATE TABLE circuits (input INTEGER PRIMARY KEY, bytes BLOB NOT NULL);
)sql";

absl::Status Damaged(const std::string& path, const std::string& what) {
  return absl::DataLossError(absl::StrCat(
      path, ", where the fabric's intent is kept, ", what, "; to put back a copy, first remove ",
      path, "-wal and ", path, "-shm, since SQLite would write them into the copy; or move ", path,
      " away and set everything up again"));
}

absl::Status StatusOf(const SQLite::Exception& error, const std::string& path, const char* doing) {
  const std::string what =
      absl::StrCat("cannot ", doing, " ", path, ", where the fabric's intent is kept: ");
  switch (error.getErrorCode()) {
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      return Damaged(path, absl::StrCat("is damaged (", error.what(), ")"));
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return absl::AbortedError(absl::StrCat(
          what, "another process holds it; end that process, or try again when it is done"));
    case SQLITE_FULL:
      return absl::ResourceExhaustedError(absl::StrCat(
          what, "the disk or the store is full; release objects, or make room on the disk"));
    default:
      return absl::InternalError(absl::StrCat(what, error.what()));
  }
}

int NumberOf(SQLite::Database& database, const char* pragma) {
  return database.execAndGet(absl::StrCat("PRAGMA ", pragma)).getInt();
}

void BindBlob(SQLite::Statement& statement, int index, const std::string& bytes) {
  statement.bindNoCopy(index, bytes.data(), static_cast<int>(bytes.size()));
}

std::string BlobOf(const SQLite::Column& column) {
  return std::string(static_cast<const char*>(column.getBlob()),
                     static_cast<size_t>(column.getBytes()));
}

std::vector<std::string> BlobsOf(SQLite::Database& database, const char* query) {
  std::vector<std::string> blobs;
  SQLite::Statement all(database, query);
  while (all.executeStep()) blobs.push_back(BlobOf(all.getColumn(0)));
  return blobs;
}

constexpr char kPlacements[] = "SELECT record FROM placements ORDER BY id";

void BringUpToDate(SQLite::Database& database, int version) {
  if (version == SqliteStore::kVersion) return;
  SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
  database.exec(kStateTables);
  database.exec(absl::StrCat("PRAGMA user_version = ", SqliteStore::kVersion));
  transaction.commit();
}

void WriteState(SQLite::Database& database, const std::string& state) {
  SQLite::Statement write(database, "INSERT OR REPLACE INTO state VALUES (0, ?)");
  BindBlob(write, 1, state);
  write.exec();
}

}  // namespace

SqliteStore::SqliteStore(std::string path, uint64_t max_bytes)
    : path_(std::move(path)), max_bytes_(max_bytes) {}

SqliteStore::~SqliteStore() { NoticeReplaced(); }

absl::Status SqliteStore::Try(const char* doing, const std::function<absl::Status()>& work) const {
  try {
    return work();
  } catch (const SQLite::Exception& error) {
    return StatusOf(error, path_, doing);
  }
}

absl::Status SqliteStore::Connect() {
  if (database_ != nullptr) return absl::OkStatus();
  return Try("open", [this] {
    // If the file is replaced from now on, what is opened counts as replaced too.
    const FileId file = FileIdAt(path_);
    auto database = std::make_unique<SQLite::Database>(path_, SQLite::OPEN_READWRITE, kBusyMs);
    if (NumberOf(*database, "application_id") != kApplicationId) {
      return Damaged(path_, "is a database of another program");
    }
    const int version = NumberOf(*database, "user_version");
    if (version > kVersion) {
      return absl::FailedPreconditionError(absl::StrCat(
          path_, ", where the fabric's intent is kept, was written by a newer bfly (version ",
          version, " of its tables, this bfly knows up to ", kVersion,
          "); run that bfly, or move the file away and set everything up again"));
    }
    if (const auto sound = database->execAndGet("PRAGMA quick_check"); sound.getString() != "ok") {
      return Damaged(path_, absl::StrCat("is damaged (", sound.getString(), ")"));
    }
    BringUpToDate(*database, version);
    database->exec("PRAGMA journal_mode = WAL");
    database->exec("PRAGMA synchronous = FULL");
    database->exec(
        absl::StrCat("PRAGMA max_page_count = ", max_bytes_ / NumberOf(*database, "page_size")));
    NumberOf(*database, "user_version");  // the first read makes the log
    database_ = std::move(database);
    file_ = file;
    log_ = FileIdAt(LogPath(path_));
    return absl::OkStatus();
  });
}

absl::Status SqliteStore::CannotMake() const {
  return absl::InternalError(absl::StrCat(
      "cannot make ", path_, ", where the fabric's intent is kept: ", std::strerror(errno)));
}

absl::Status SqliteStore::WriteFresh(const std::string& fresh, const std::string& state) {
  // The write-ahead log and its index get the mode of the file.
  const int file = open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
  if (file < 0) {
    return CannotMake();
  }
  close(file);
  return Try("make", [&] {
    SQLite::Database database(fresh, SQLite::OPEN_READWRITE, kBusyMs);
    SQLite::Transaction transaction(database);
    database.exec(absl::StrCat("PRAGMA application_id = ", kApplicationId));
    database.exec(absl::StrCat("PRAGMA user_version = ", kVersion));
    database.exec(kTables);
    database.exec(kStateTables);
    SQLite::Statement name(database, "INSERT INTO fabric VALUES (?)");
    BindBlob(name, 1, fabric_);
    name.exec();
    if (!state.empty()) WriteState(database, state);
    transaction.commit();
    return absl::OkStatus();
  });
}

// The file is always a whole database, the one before or the new one. It is not opened here: once
// it has the name the Begin is done, and if it were done again, the new file would push out the one
// that was set aside.
absl::Status SqliteStore::Create(const std::string& state, bool set_aside) {
  const std::string fresh = path_ + ".new";
  RemoveDatabase(fresh);
  absl::Status status = WriteFresh(fresh, state);
  if (status.ok()) status = set_aside ? SetAside() : MakeWhole();
  if (status.ok()) {
    // A log that is left of a file that was removed would be taken for the log of this one.
    RemoveLog(path_);
    if (rename(fresh.c_str(), path_.c_str()) != 0) status = CannotMake();
  }
  if (!status.ok()) {
    RemoveDatabase(fresh);
    return status;
  }
  SyncNames(path_);
  return absl::OkStatus();
}

void SqliteStore::NoticeReplaced() {
  if (database_ == nullptr || FileIdAt(path_) == file_) return;
  // SQLite would take the log for that of the file that is there now.
  if (FileIdAt(LogPath(path_)) == log_) RemoveLog(path_);
  database_ = nullptr;
  last_before_ = 0;
  replaced_ = true;
}

absl::Status SqliteStore::CheckNotReplaced() {
  NoticeReplaced();
  if (!replaced_) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat(
      path_,
      ", where the fabric's intent is kept, was removed or replaced while the fabric was kept in "
      "it; nothing more of this fabric is kept: end it, and load it again"));
}

absl::Status SqliteStore::CheckOurs() {
  NoticeReplaced();
  if (database_ == nullptr && access(path_.c_str(), F_OK) != 0) return absl::OkStatus();
  return Connect();
}

absl::Status SqliteStore::ConnectOrCreate() {
  if (unfinished_.has_value()) {
    if (absl::Status status = BeginNow(); !status.ok()) return status;
  }
  if (absl::Status status = CheckNotReplaced(); !status.ok()) return status;
  absl::Status status = CheckOurs();
  if (status.ok() && database_ == nullptr) status = Create("", /*set_aside=*/false);
  return status.ok() ? Connect() : status;
}

absl::StatusOr<std::optional<KeptFabric>> SqliteStore::Read() {
  const std::lock_guard lock(mutex_);
  std::optional<KeptFabric> kept;
  NoticeReplaced();
  const bool was_open = database_ != nullptr;
  absl::Status status = CheckOurs();
  if (!status.ok()) return status;
  if (database_ == nullptr) return kept;
  status = Try("read", [&] {
    kept.emplace();
    kept->fabric = BlobOf(database_->execAndGet("SELECT name FROM fabric"));
    for (std::string& state : BlobsOf(*database_, "SELECT bytes FROM state")) {
      kept->state = std::move(state);
    }
    kept->circuits = BlobsOf(*database_, "SELECT bytes FROM circuits ORDER BY input");
    kept->placements = BlobsOf(*database_, kPlacements);
    return absl::OkStatus();
  });
  // Whoever only looks leaves no log behind.
  if (!was_open) database_ = nullptr;
  if (!status.ok()) return status;
  // The file may have been made for a first write that did not come to its end.
  if (kept->state.empty() && kept->circuits.empty() && kept->placements.empty()) kept.reset();
  return kept;
}

absl::StatusOr<std::vector<std::string>> SqliteStore::Open(const std::string& fabric) {
  const std::lock_guard lock(mutex_);
  fabric_ = fabric;
  unfinished_.reset();
  NoticeReplaced();
  replaced_ = false;
  std::vector<std::string> placements;
  if (absl::Status status = CheckOurs(); !status.ok()) return status;
  if (database_ == nullptr) return placements;
  std::string owner;
  absl::Status status = Try("read", [&] {
    owner = BlobOf(database_->execAndGet("SELECT name FROM fabric"));
    if (owner == fabric) placements = BlobsOf(*database_, kPlacements);
    return absl::OkStatus();
  });
  if (status.ok() && owner != fabric) {
    unfinished_ = Beginning{.state = "", .set_aside = true};
    status = BeginNow();
  }
  if (!status.ok()) return status;
  return placements;
}

absl::Status SqliteStore::Begin(const std::string& fabric, const std::string& state,
                                bool set_aside) {
  const std::lock_guard lock(mutex_);
  fabric_ = fabric;
  // An unfinished Begin has not set the file aside yet.
  const bool still = unfinished_.has_value() && unfinished_->set_aside;
  unfinished_ = Beginning{.state = state, .set_aside = set_aside || still};
  return BeginNow();
}

absl::Status SqliteStore::BeginNow() {
  absl::Status status = CheckOurs();
  // Nobody asked to forget a file that somebody put there.
  unfinished_->set_aside |= replaced_;
  const auto& [state, set_aside] = *unfinished_;
  if (status.ok() && !state.empty()) {
    status = Create(state, set_aside);
  } else if (status.ok()) {
    status = set_aside ? SetAside() : MakeWhole();
    if (status.ok()) RemoveDatabase(path_);
    SyncNames(path_);
  }
  if (!status.ok()) return status;
  unfinished_.reset();
  replaced_ = false;
  return status;
}

absl::Status SqliteStore::Close() {
  const std::lock_guard lock(mutex_);
  NoticeReplaced();
  absl::Status status = MakeWhole();
  if (!absl::IsAborted(status)) return status;
  // The other process removes the log when it closes the file.
  database_ = nullptr;
  return absl::OkStatus();
}

absl::Status SqliteStore::MakeWhole() {
  if (database_ == nullptr) return absl::OkStatus();
  const absl::Status whole = Try("write", [this] {
    database_->exec("PRAGMA journal_mode = DELETE");
    return absl::OkStatus();
  });
  if (!whole.ok()) return whole;
  database_ = nullptr;
  last_before_ = 0;
  return absl::OkStatus();
}

absl::Status SqliteStore::SetAside() {
  if (database_ == nullptr) return absl::OkStatus();
  if (absl::Status status = MakeWhole(); !status.ok()) return status;
  const std::string name = aside() + ".new";
  unlink(name.c_str());
  if (link(path_.c_str(), name.c_str()) != 0 || rename(name.c_str(), aside().c_str()) != 0) {
    return absl::InternalError(
        absl::StrCat("cannot set ", path_, " aside as ", aside(), ": ", std::strerror(errno)));
  }
  return absl::OkStatus();
}

absl::Status SqliteStore::Keep(const KeptChange& change) {
  const std::lock_guard lock(mutex_);
  if (absl::Status status = ConnectOrCreate(); !status.ok()) return status;
  return Try("write", [&] {
    SQLite::Transaction transaction(*database_, SQLite::TransactionBehavior::IMMEDIATE);
    WriteState(*database_, change.state);
    if (change.forget_circuits) database_->exec("DELETE FROM circuits");
    SQLite::Statement put(*database_, "INSERT OR REPLACE INTO circuits VALUES (?, ?)");
    SQLite::Statement remove(*database_, "DELETE FROM circuits WHERE input = ?");
    for (const auto& [input, bytes] : change.circuits) {
      SQLite::Statement& statement = bytes.empty() ? remove : put;
      statement.bind(1, static_cast<int64_t>(input));
      if (!bytes.empty()) BindBlob(statement, 2, bytes);
      statement.exec();
      statement.reset();
    }
    transaction.commit();
    return absl::OkStatus();
  });
}

absl::Status SqliteStore::Append(const std::vector<std::string>& placements) {
  if (placements.empty()) return absl::OkStatus();
  const std::lock_guard lock(mutex_);
  if (absl::Status status = ConnectOrCreate(); !status.ok()) return status;
  return Try("write", [&] {
    SQLite::Transaction transaction(*database_, SQLite::TransactionBehavior::IMMEDIATE);
    const int64_t before =
        database_->execAndGet("SELECT COALESCE(MAX(id), 0) FROM placements").getInt64();
    SQLite::Statement insert(*database_, "INSERT INTO placements (record) VALUES (?)");
    for (const std::string& record : placements) {
      BindBlob(insert, 1, record);
      insert.exec();
      insert.reset();
    }
    transaction.commit();
    last_before_ = before;
    return absl::OkStatus();
  });
}

absl::Status SqliteStore::TakeBack() {
  const std::lock_guard lock(mutex_);
  if (absl::Status status = CheckNotReplaced(); !status.ok()) return status;
  if (database_ == nullptr) return absl::OkStatus();
  return Try("write", [&] {
    database_->exec(absl::StrCat("DELETE FROM placements WHERE id > ", last_before_));
    return absl::OkStatus();
  });
}

absl::Status SqliteStore::KeepLast() {
  const std::lock_guard lock(mutex_);
  if (absl::Status status = CheckNotReplaced(); !status.ok()) return status;
  if (database_ == nullptr) return absl::OkStatus();
  return Try("write", [&] {
    database_->exec(absl::StrCat("DELETE FROM placements WHERE id <= ", last_before_));
    return absl::OkStatus();
  });
}

}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
// The names of a SQLite database and of its write-ahead log in their directory.
#pragma once

#include <sys/types.h>

#include <string>

namespace bfly::control {

// Which file has a name. While a process has a file open, no other file gets its id.
struct FileId {
  dev_t device = 0;
  ino_t inode = 0;
  friend bool operator==(const FileId&, const FileId&) = default;
};

// FileId() if there is no file at the path.
FileId FileIdAt(const std::string& path);

// The name of the log of the database at the path.
std::string LogPath(const std::string& path);

// Removes the log of the database at the path, with the index of the log.
void RemoveLog(const std::string& path);
// Removes the database too.
void RemoveDatabase(const std::string& path);

// Names that were changed in the directory of the path are on disk when it returns.
void SyncNames(const std::string& path);

}  // namespace bfly::control

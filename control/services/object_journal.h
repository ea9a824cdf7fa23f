// SPDX-License-Identifier: Apache-2.0
// Where objects were placed, on disk, for the controller that comes after this one: data planes
// keep circuits, but know nothing of objects.
//
// The file holds records one after the other, each with its length and a checksum. The first names
// the fabric; each of the others is one placement, in the order they were done. A record that was
// not written to its end is none.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace bfly::control {

// Not thread-safe.
class ObjectJournal {
 public:
  // Nothing is read or written yet. An empty path: nothing is kept.
  explicit ObjectJournal(std::string path) : path_(std::move(path)) {}
  ~ObjectJournal() { Close(); }
  ObjectJournal(const ObjectJournal&) = delete;
  ObjectJournal& operator=(const ObjectJournal&) = delete;

  // The placements of the fabric `fabric` (any text that tells it from others), and goes on with
  // that file. None if the file is another fabric's or there is none; then a new one is begun with
  // the first Append.
  absl::StatusOr<std::vector<std::string>> Open(const std::string& fabric);
  // Forgets what there is: a new file is begun with the first Append.
  void Begin(const std::string& fabric);

  // On disk when it returns. After an error the file is as before.
  absl::Status Append(const std::vector<std::string>& records);
  // Takes back the last Append.
  absl::Status TakeBack();
  // Leaves only the last `records` of the file, which must be there.
  absl::Status KeepLast(const std::vector<std::string>& records);
  // Removes the file.
  void Remove();

 private:
  absl::Status Create(const std::vector<std::string>& records);
  absl::Status Failed(const std::string& what) const;
  void Close();

  const std::string path_;
  std::string fabric_;
  int file_ = -1;
  uint64_t size_ = 0;         // of the file
  uint64_t size_before_ = 0;  // the last Append
};

}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
#include "control/services/object_journal.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace bfly::control {
namespace {

constexpr char kMagic[] = "bfly objects 1\n";
constexpr size_t kHead = 16;  // of a record: length and checksum

// FNV-1a, 64 bits.
uint64_t ChecksumOf(absl::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : bytes) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return hash;
}

void AppendNumber(uint64_t number, std::string* out) {
  for (int i = 0; i < 8; ++i) out->push_back(static_cast<char>(number >> (8 * i)));
}
uint64_t NumberAt(absl::string_view bytes) {
  uint64_t number = 0;
  for (int i = 0; i < 8; ++i) number |= uint64_t{static_cast<uint8_t>(bytes[i])} << (8 * i);
  return number;
}

void AppendRecord(absl::string_view record, std::string* out) {
  AppendNumber(record.size(), out);
  AppendNumber(ChecksumOf(record), out);
  absl::StrAppend(out, record);
}

// The record at the front, which is taken away; false: there is no whole one.
bool TakeRecord(absl::string_view* bytes, std::string* record) {
  if (bytes->size() < kHead) return false;
  const uint64_t length = NumberAt(*bytes);
  if (length > bytes->size() - kHead) return false;
  const absl::string_view body = bytes->substr(kHead, length);
  if (NumberAt(bytes->substr(8)) != ChecksumOf(body)) return false;
  *record = std::string(body);
  bytes->remove_prefix(kHead + length);
  return true;
}

bool WriteAll(int file, absl::string_view bytes, uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t n = pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(n));
    offset += static_cast<uint64_t>(n);
  }
  return true;
}

// A file that was renamed is there after a crash once its directory was written.
void SyncDirectoryOf(const std::string& path) {
  const std::string directory = std::filesystem::path(path).parent_path().string();
  const int file = open(directory.empty() ? "." : directory.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  (void)fsync(file);
  close(file);
}

}  // namespace

absl::Status ObjectJournal::Failed(const std::string& what) const {
  const int error = errno;
  return absl::InternalError(absl::StrCat("cannot ", what, " ", path_,
                                          ", where placed objects are "
                                          "kept: ",
                                          std::strerror(error)));
}

void ObjectJournal::Close() {
  if (file_ >= 0) close(file_);
  file_ = -1;
  size_ = size_before_ = 0;
}

void ObjectJournal::Begin(const std::string& fabric) {
  Remove();
  fabric_ = fabric;
}

void ObjectJournal::Remove() {
  Close();
  if (!path_.empty()) unlink(path_.c_str());
}

absl::StatusOr<std::vector<std::string>> ObjectJournal::Open(const std::string& fabric) {
  Close();
  fabric_ = fabric;
  std::vector<std::string> records;
  if (path_.empty() || access(path_.c_str(), F_OK) != 0) return records;
  std::ifstream in(path_, std::ios::binary);
  const std::string content{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (!in.good() && !in.eof()) return Failed("read");
  absl::string_view rest = content;
  std::string owner;
  if (!absl::StartsWith(rest, kMagic)) {
    return absl::DataLossError(absl::StrCat(path_,
                                            " is no file of placed objects; it is left out "
                                            "of account and replaced by the next placement"));
  }
  rest.remove_prefix(sizeof(kMagic) - 1);
  if (!TakeRecord(&rest, &owner) || owner != fabric) return records;
  std::string record;
  while (TakeRecord(&rest, &record)) records.push_back(std::move(record));
  file_ = open(path_.c_str(), O_WRONLY | O_CLOEXEC);
  if (file_ < 0) return Failed("write");
  // What was not written to its end goes.
  size_ = content.size() - rest.size();
  if (ftruncate(file_, static_cast<off_t>(size_)) != 0) return Failed("cut");
  size_before_ = size_;
  return records;
}

absl::Status ObjectJournal::Create(const std::vector<std::string>& records) {
  Close();
  std::string content = kMagic;
  AppendRecord(fabric_, &content);
  const uint64_t head = content.size();
  for (const std::string& record : records) AppendRecord(record, &content);
  // Under another name first, so that there is always a whole file or none.
  const std::string fresh = path_ + ".new";
  const int file = open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
  if (file < 0) return Failed("write");
  if (!WriteAll(file, content, 0) || fdatasync(file) != 0 ||
      rename(fresh.c_str(), path_.c_str()) != 0) {
    const absl::Status status = Failed("write");
    close(file);
    unlink(fresh.c_str());
    return status;
  }
  SyncDirectoryOf(path_);
  file_ = file;
  size_ = content.size();
  size_before_ = head;
  return absl::OkStatus();
}

absl::Status ObjectJournal::Append(const std::vector<std::string>& records) {
  if (path_.empty() || records.empty()) return absl::OkStatus();
  if (file_ < 0) return Create(records);
  std::string bytes;
  for (const std::string& record : records) AppendRecord(record, &bytes);
  if (!WriteAll(file_, bytes, size_) || fdatasync(file_) != 0) {
    const absl::Status status = Failed("write");
    (void)!ftruncate(file_, static_cast<off_t>(size_));
    return status;
  }
  size_before_ = size_;
  size_ += bytes.size();
  return absl::OkStatus();
}

absl::Status ObjectJournal::TakeBack() {
  if (file_ < 0) return absl::OkStatus();
  if (ftruncate(file_, static_cast<off_t>(size_before_)) != 0 || fdatasync(file_) != 0) {
    return Failed("cut");
  }
  size_ = size_before_;
  return absl::OkStatus();
}

absl::Status ObjectJournal::KeepLast(const std::vector<std::string>& records) {
  return path_.empty() ? absl::OkStatus() : Create(records);
}

}  // namespace bfly::control

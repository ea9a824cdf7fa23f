// SPDX-License-Identifier: Apache-2.0
#include "control/server/operator_id.h"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace bfly::control {
namespace {

constexpr uint64_t kTopBit = uint64_t{1} << 63;

std::string OperatorIdPath(const std::string& run_directory) {
  return run_directory + "/operator.id";
}

absl::Status Failed(const std::string& path) {
  return absl::InternalError(absl::StrCat("cannot write ", path, ": ", std::strerror(errno)));
}

}  // namespace

absl::StatusOr<uint64_t> WriteOperatorId(const std::string& run_directory) {
  const std::string path = OperatorIdPath(run_directory);
  uint64_t drawn = 0;
  if (getrandom(&drawn, sizeof(drawn), 0) != sizeof(drawn)) return Failed(path);
  // The lowest bit keeps it apart from kTopBit alone, which clients may ask for.
  const uint64_t id = kTopBit | drawn | 1;
  std::error_code ignored;
  std::filesystem::create_directories(run_directory, ignored);
  // Creates a new file, because an existing one may be open to others.
  if (unlink(path.c_str()) != 0 && errno != ENOENT) return Failed(path);
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return Failed(path);
  const std::string text = absl::StrCat(id, "\n");
  const bool written = write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const absl::Status status = written ? absl::OkStatus() : Failed(path);
  close(file);
  if (!status.ok()) return status;
  return id;
}

uint64_t ReadOperatorId(const std::string& run_directory) {
  std::ifstream in(OperatorIdPath(run_directory));
  std::string text;
  uint64_t id = 0;
  if (!std::getline(in, text) || !absl::SimpleAtoi(text, &id)) return 0;
  return id;
}

void RemoveOperatorId(const std::string& run_directory) {
  unlink(OperatorIdPath(run_directory).c_str());
}

}  // namespace bfly::control

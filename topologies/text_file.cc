// SPDX-License-Identifier: Apache-2.0
#include "topologies/text_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"

namespace bfly {

absl::Status FileErrors::status() const {
  std::string text = absl::StrJoin(messages_, "\n");
  if (count_ > most_) {
    absl::StrAppend(&text, "\n", where_, ": and ", count_ - most_, " more errors");
  }
  return absl::InvalidArgumentError(text);
}

absl::string_view WithoutComment(absl::string_view line) {
  return absl::StripAsciiWhitespace(line.substr(0, line.find('#')));
}

absl::StatusOr<std::string> ReadTextFile(absl::string_view what, const std::string& path,
                                         size_t most_bytes, uint32_t rows) {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (file == nullptr) {
    return absl::NotFoundError(
        absl::StrCat(what, ": cannot open ", path, ": ", std::strerror(errno)));
  }
  constexpr size_t kPiece = size_t{1} << 20;
  std::string text;
  size_t read = 0;
  do {
    text.resize(read + std::min(kPiece, most_bytes + 1 - read));
    read += std::fread(&text[read], 1, text.size() - read, file.get());
  } while (read == text.size() && read <= most_bytes);
  text.resize(read);
  if (std::ferror(file.get())) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": cannot read ", path, ": ", std::strerror(errno)));
  }
  if (read > most_bytes) {
    return absl::InvalidArgumentError(absl::StrCat(what, ": ", path, " is longer than the ",
                                                   most_bytes, " bytes that ", rows,
                                                   " rows may take"));
  }
  return text;
}

}  // namespace bfly

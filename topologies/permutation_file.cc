// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "topologies/permutation.h"

namespace bfly {
namespace {

// Collects errors, keeps the first kMaxFileErrors and counts the rest.
class FileErrors {
 public:
  explicit FileErrors(absl::string_view where) : where_(where) {}

  template <typename... Part>
  void At(int line, const Part&... parts) {
    Add(":", line, ": ", parts...);
  }
  // Adds an error that concerns the whole file and has no line.
  template <typename... Part>
  void Add(const Part&... parts) {
    if (++count_ <= kMaxFileErrors) messages_.push_back(absl::StrCat(where_, parts...));
  }
  bool any() const { return count_ > 0; }
  absl::Status status() const {
    std::string text = absl::StrJoin(messages_, "\n");
    if (count_ > kMaxFileErrors) {
      absl::StrAppend(&text, "\n", where_, ": and ", count_ - kMaxFileErrors, " more errors");
    }
    return absl::InvalidArgumentError(text);
  }

 private:
  const std::string where_;
  int count_ = 0;
  std::vector<std::string> messages_;
};

}  // namespace

absl::StatusOr<Permutation> PermutationFromText(absl::string_view text, uint32_t rows,
                                                absl::string_view where) {
  FileErrors errors(where);
  Permutation permutation;
  std::vector<int> line_of(rows);  // the line that gave an output first; 0: none did yet
  int line = 0;
  for (absl::string_view rest : absl::StrSplit(text, '\n')) {
    ++line;
    const absl::string_view word = absl::StripAsciiWhitespace(rest.substr(0, rest.find('#')));
    if (word.empty()) continue;
    Row output = 0;
    if (!absl::SimpleAtoi(word, &output) || output >= rows) {
      errors.At(line, "\"", word.substr(0, 40), "\" is not an output row, 0..", rows - 1);
    } else if (line_of[output] != 0) {
      errors.At(line, "output ", output, " is already on line ", line_of[output]);
    } else {
      line_of[output] = line;
    }
    permutation.push_back(output);
  }
  if (permutation.size() != rows) {
    errors.Add(": ", permutation.size(), " outputs given, the network has ", rows, " rows");
  }
  if (errors.any()) return errors.status();
  return permutation;
}

absl::StatusOr<Permutation> ReadPermutationFile(const std::string& path, uint32_t rows) {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (file == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("permutation: cannot open ", path, ": ", std::strerror(errno)));
  }
  // The bound keeps a device or a huge file from filling the memory.
  const size_t most_bytes = (size_t{1} << 20) + 64 * size_t{rows};
  std::string text(most_bytes + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get())) {
    return absl::InvalidArgumentError(
        absl::StrCat("permutation: cannot read ", path, ": ", std::strerror(errno)));
  }
  if (text.size() > most_bytes) {
    return absl::InvalidArgumentError(absl::StrCat("permutation: ", path, " is longer than the ",
                                                   most_bytes, " bytes that ", rows,
                                                   " rows may take"));
  }
  return PermutationFromText(text, rows, path);
}

}  // namespace bfly

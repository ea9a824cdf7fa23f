// SPDX-License-Identifier: Apache-2.0
#include <fstream>
#include <iterator>

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
    if (++count_ <= kMaxFileErrors)
      messages_.push_back(absl::StrCat(where_, ":", line, ": ", parts...));
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
  std::vector<int> line_of(rows);  // where an output was given first, 0: nowhere yet
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
    errors.At(line, permutation.size(), " outputs given, the network has ", rows, " rows");
  }
  if (errors.any()) return errors.status();
  return permutation;
}

absl::StatusOr<Permutation> ReadPermutationFile(const std::string& path, uint32_t rows) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError(absl::StrCat("permutation: cannot open ", path));
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (file.bad()) return absl::DataLossError(absl::StrCat("permutation: cannot read ", path));
  return PermutationFromText(text, rows, path);
}

}  // namespace bfly

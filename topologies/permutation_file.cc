// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "topologies/permutation.h"
#include "topologies/text_file.h"

namespace bfly {

absl::StatusOr<Permutation> PermutationFromText(absl::string_view text, uint32_t rows,
                                                absl::string_view where) {
  FileErrors errors(where, kMaxFileErrors);
  Permutation permutation;
  std::vector<int> line_of(rows);  // the line that gave an output first; 0: none did yet
  int line = 0;
  for (absl::string_view rest : absl::StrSplit(text, '\n')) {
    ++line;
    const absl::string_view word = WithoutComment(rest);
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
  const absl::StatusOr<std::string> text =
      ReadTextFile("permutation", path, (size_t{1} << 20) + 64 * size_t{rows}, rows);
  if (!text.ok()) return text.status();
  return PermutationFromText(*text, rows, path);
}

}  // namespace bfly

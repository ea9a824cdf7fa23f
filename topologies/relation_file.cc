// SPDX-License-Identifier: Apache-2.0
#include "topologies/relation_file.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "topologies/text_file.h"

namespace bfly {

absl::StatusOr<Relation> RelationFromText(absl::string_view text, uint32_t rows,
                                          absl::string_view where) {
  FileErrors errors(where, kMaxFileErrors);
  Relation relation;
  uint32_t inputs = 0;
  int line = 0;
  for (const absl::string_view rest : absl::StrSplit(text, '\n')) {
    ++line;
    const absl::string_view entry = WithoutComment(rest);
    if (entry.empty()) continue;
    ++inputs;
    if (inputs <= rows)
      relation.first.push_back(static_cast<uint32_t>(relation.destinations.size()));
    if (entry == "-") continue;
    for (const absl::string_view word :
         absl::StrSplit(entry, absl::ByAnyChar(" \t\r,"), absl::SkipEmpty())) {
      Row output = 0;
      if (!absl::SimpleAtoi(word, &output) || output >= rows) {
        errors.At(line, "\"", word.substr(0, 40), "\" is not an output row, 0..", rows - 1,
                  "; - is an input that sends nothing");
        break;
      }
      if (relation.destinations.size() == kMaxFileMessages) {
        errors.At(line, "more than ", kMaxFileMessages, " messages");
        return errors.status();
      }
      relation.destinations.push_back(output);
    }
  }
  if (inputs != rows) {
    errors.Add(": ", inputs, " lines of inputs given, the network has ", rows, " rows");
  }
  if (errors.any()) return errors.status();
  relation.first.push_back(static_cast<uint32_t>(relation.destinations.size()));
  return relation;
}

absl::StatusOr<Relation> ReadRelationFile(const std::string& path, uint32_t rows) {
  // Eight characters a message are enough for rows below 2^20, and a line may have a comment.
  const size_t most_bytes = (size_t{1} << 20) + 64 * size_t{rows} + 8 * kMaxFileMessages;
  const absl::StatusOr<std::string> text = ReadTextFile("destinations", path, most_bytes, rows);
  if (!text.ok()) return text.status();
  return RelationFromText(*text, rows, path);
}

}  // namespace bfly

// SPDX-License-Identifier: Apache-2.0
// Text files that users write, with an entry for each row: reading them, and what is wrong in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace bfly {

// Collects errors, keeps the first `most` and counts the rest.
class FileErrors {
 public:
  // `where` names the text in messages.
  FileErrors(absl::string_view where, int most) : where_(where), most_(most) {}

  template <typename... Part>
  void At(int line, const Part&... parts) {
    Add(":", line, ": ", parts...);
  }
  // Adds an error that concerns the whole file and has no line.
  template <typename... Part>
  void Add(const Part&... parts) {
    if (++count_ <= most_) messages_.push_back(absl::StrCat(where_, parts...));
  }
  bool any() const { return count_ > 0; }
  absl::Status status() const;

 private:
  const std::string where_;
  const int most_;
  int count_ = 0;
  std::vector<std::string> messages_;
};

// The line without what stands behind '#' and without white space at its ends.
absl::string_view WithoutComment(absl::string_view line);

// Reads a whole file about a network of `rows` rows. NotFound: it cannot be opened.
// InvalidArgument: it cannot be read, or it is longer than `most_bytes`, which keeps a device or a
// huge file from filling the memory. Messages begin with `what`.
absl::StatusOr<std::string> ReadTextFile(absl::string_view what, const std::string& path,
                                         size_t most_bytes, uint32_t rows);

}  // namespace bfly

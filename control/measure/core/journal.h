// SPDX-License-Identifier: Apache-2.0
// The folder of an experiment while it runs: every finished trial is a line in trials.jsonl, so
// that a run cut short loses nothing and can be continued.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/measure/core/measurement.h"

namespace bfly::control {

class Journal {
 public:
  // Opens `folder`: makes it, or continues one whose experiment.yaml says the same as
  // `configuration` and which is not complete. AlreadyExists otherwise, with what to do; the folder
  // is then untouched.
  static absl::StatusOr<Journal> Open(const std::string& folder, const std::string& configuration);

  // The trial of (point number, seed), if an earlier run finished it.
  const Trial* Find(size_t point, uint64_t seed) const;
  // Appends and flushes. ResourceExhausted or another status if the disk does not take it: the line
  // is then not counted on when the folder is opened again.
  absl::Status Add(size_t point, const Trial& trial);

  const std::string& folder() const { return folder_; }

 private:
  std::string folder_;
  std::map<std::pair<size_t, uint64_t>, Trial> trials_;
};

// Writes the whole text or nothing: to a file beside it, then renamed. The message names the file
// and the reason.
absl::Status WriteFile(const std::string& path, const std::string& text);
absl::StatusOr<std::string> ReadFile(const std::string& path);

}  // namespace bfly::control

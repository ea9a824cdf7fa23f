// SPDX-License-Identifier: Apache-2.0
// The folder of an experiment while it runs. Every finished trial is a line in trials.jsonl, so
// that an interrupted run loses nothing and can be continued.
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
  // Opens `folder`: creates it, or continues it if it is incomplete and its experiment.yaml equals
  // `configuration`. Otherwise AlreadyExists says what to do, and the folder stays untouched.
  static absl::StatusOr<Journal> Open(const std::string& folder, const std::string& configuration);
  // The same, but a complete folder is opened too. All its trials are found, so that nothing of it
  // runs again.
  static absl::StatusOr<Journal> Continue(const std::string& folder,
                                          const std::string& configuration);

  // Returns the trial of (point number, seed) if an earlier run finished it, and otherwise null.
  const Trial* Find(size_t point, uint64_t seed) const;
  // Appends the trial and flushes. ResourceExhausted or another status: the disk did not take the
  // line, and the next Open ignores it.
  absl::Status Add(size_t point, const Trial& trial);

  const std::string& folder() const { return folder_; }

 private:
  std::string folder_;
  std::map<std::pair<size_t, uint64_t>, Trial> trials_;
};

// Whether `folder` holds nothing, or nothing but what a WriteFile of `folder`/`first` left when it
// was killed. `first` is the file that is written first into such a folder.
bool IsUnused(const std::string& folder, const std::string& first);

// Whether the results of `folder` say that every trial was run and every plot was drawn.
bool IsComplete(const std::string& folder);

// Writes the whole text or nothing: it writes `path`.part and renames it. The message names the
// file and the reason.
absl::Status WriteFile(const std::string& path, const std::string& text);
// Whether WriteFile can make the file beside `path`. Leaves no file, and `path` as it is. The
// message is that of WriteFile.
absl::Status CheckWriteFile(const std::string& path);
absl::StatusOr<std::string> ReadFile(const std::string& path);

}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
// The folder of a reproduction: index.html, results/NAME of every experiment, and
// reproduction.json, which says what measured them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace bfly::control {

// What earlier runs left of an experiment.
struct RunRecord {
  bool finished = false;
  double seconds = 0;                // that all runs of it took, less a second for each kill
  std::string machine = {};          // that measured last
  std::vector<std::string> figures;  // names of its drawings, if it is finished
};

class RunFolder {
 public:
  // Opens `folder`: creates it, or goes on with what the same bfly measured there in the same way.
  // A folder with only the rest of a killed Open counts as empty.
  // AlreadyExists: it is a file, or it holds something else, or results of another bfly, or of the
  // other kind of run; it stays untouched. Other statuses: it cannot be written.
  static absl::StatusOr<RunFolder> Open(const std::string& folder, const std::string& version,
                                        bool quick);

  // The results folder of an experiment.
  std::string ResultsOf(const std::string& name) const;
  std::string page() const { return folder_ + "/index.html"; }
  // What is known of the experiment; nothing is finished if nothing is known.
  RunRecord Find(const std::string& name) const;
  absl::Status Save(const std::string& name, const RunRecord& record);

 private:
  absl::Status Write() const;

  std::string folder_, version_;
  bool quick_ = false;
  std::map<std::string, RunRecord> records_;
};

}  // namespace bfly::control

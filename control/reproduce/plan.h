// SPDX-License-Identifier: Apache-2.0
// What `bfly reproduce` runs: the list of papers and experiments, and the experiments that it
// names.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bfly/v1/reproduction.pb.h"
#include "control/measure/core/experiment.h"

namespace bfly::control {

struct PlannedExperiment {
  std::string name;  // the stem of its file, and the name of its results folder
  std::string file;  // its path: relative to the working directory if it is below it, else absolute
  std::string paper;
  std::string note;
  std::vector<std::string> settings;  // laid over the file by --quick
  double seconds = 0;                 // about how long it takes
  std::unique_ptr<Experiment> experiment;
};

struct ReproductionPlan {
  v1::Reproduction list;
  std::vector<std::string> chosen;             // names of papers, in the order of the list
  std::vector<PlannedExperiment> experiments;  // of these papers, in the order of the list
};

// The list that is shipped, found beside the running program: in the tree where it was built, or
// where it was installed. NotFound names the places.
absl::StatusOr<std::string> ShippedReproductionList();

// InvalidArgument has all errors of the file, one a line.
absl::StatusOr<v1::Reproduction> ReadReproductionList(const std::string& path);

// Reads the list `path` and every experiment of the papers named; of all papers if none is named.
// NotFound: `papers` has a name that the list does not have; the message lists the names.
// InvalidArgument: the list or an experiment is wrong.
absl::StatusOr<ReproductionPlan> MakePlan(const std::string& path,
                                          const std::vector<std::string>& papers, bool quick);

}  // namespace bfly::control

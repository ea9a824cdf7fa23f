// SPDX-License-Identifier: Apache-2.0
// A step program as `bfly measure` sees it. Each program is one file of this room, with a line in
// step_programs.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/measure/core/claim.h"
#include "control/measure/core/report.h"
#include "control/measure/steps/shared_figures.h"
#include "control/measure/steps/step_point.h"

namespace bfly::control {

// A key of bfly.v1.StepExperiment that the program has, and its value where the file leaves it out.
struct StepKey {
  std::string name;
  std::string default_value;  // as in the file
  // A number of rows: the default is at most the rows of the network.
  bool at_most_rows = false;
};

// A figure of trials that is drawn. If it is drawn over log n, its growth is fitted too.
struct StepFigure {
  std::string name;         // the name of the figure of the trials
  std::string label;        // the label of the y axis
  std::string over = "d";   // the key on the x axis; d stands for log n
  std::string panel = {};   // a key: each of its values has its own panel
  std::string shape = {};   // the shape of growth_fit.h that theory states for the figure
  std::string source = {};  // where theory states the shape
  // The value that the paper gives for a point of results.json; NaN: none. Drawn as a ring.
  double (*published)(const nlohmann::ordered_json& point) = nullptr;
};

struct StepRun {
  uint64_t seed = 0;
  int workers = 1;                           // threads; the results do not depend on it
  const std::function<bool()>& interrupted;  // true: the trial should end with CANCELLED
  SharedFigures* shared = nullptr;           // may be null
};

struct StepProgram {
  std::string name;           // as in the file, in lower case
  std::vector<StepKey> keys;  // besides d; the first one changes most slowly
  // What the values of a point must be beyond the limits of the schema. The network of the point
  // exists. InvalidArgument begins with the key: "waves: 64 is ...".
  absl::Status (*check)(const StepPoint& point);
  // Runs one trial and returns its figures by name. It is a pure function of the point and the
  // seed.
  absl::StatusOr<std::map<std::string, double>> (*run)(const StepPoint& point, const StepRun& run);
  // Claims about points of this program. The experiment adds that they are about no other.
  std::vector<Claim> (*claims)();
  std::vector<StepFigure> figures;
  // What the points say together, as a table for people and for results.json under the name of the
  // program; empty if no point is of this program. May be null.
  std::string (*table)(const Report& report) = nullptr;
  nlohmann::ordered_json (*results)(const Report& report) = nullptr;
};

// All programs, in the order of the schema.
const std::vector<StepProgram>& StepPrograms();
// Null: no program has the name.
const StepProgram* FindStepProgram(const std::string& name);

}  // namespace bfly::control

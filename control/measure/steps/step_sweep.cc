// SPDX-License-Identifier: Apache-2.0
#include "control/measure/steps/step_sweep.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/measure/core/sweep.h"
#include "control/measure/steps/step_keys.h"
#include "control/measure/steps/step_program.h"

namespace bfly::control {
namespace {

absl::StatusOr<std::vector<const StepProgram*>> ProgramsOf(const v1::StepExperiment& experiment) {
  std::vector<const StepProgram*> programs;
  for (int i = 0; i < experiment.program_size(); ++i) {
    const std::string name =
        absl::AsciiStrToLower(v1::StepExperiment::Program_Name(experiment.program(i)));
    const StepProgram* program = FindStepProgram(name);
    if (program == nullptr) {
      const auto name_of = [](std::string* out, const StepProgram& p) { out->append(p.name); };
      return absl::InvalidArgumentError(absl::StrCat(
          "program[", i, "]: ", name,
          " is not measured (allowed: ", absl::StrJoin(StepPrograms(), ", ", name_of), ")"));
    }
    if (std::find(programs.begin(), programs.end(), program) != programs.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("program[", i, "]: ", name, " is listed twice"));
    }
    programs.push_back(program);
  }
  return programs;
}

const StepKey* KeyOf(const StepProgram& program, const std::string& key) {
  const auto at = std::find_if(program.keys.begin(), program.keys.end(),
                               [&](const StepKey& known) { return known.name == key; });
  return at == program.keys.end() ? nullptr : &*at;
}

absl::Status CheckGivenKeys(const v1::StepExperiment& experiment,
                            const std::vector<const StepProgram*>& programs) {
  for (const std::string& key : StepKeys()) {
    if (GivenValues(experiment, key).empty()) continue;
    const bool known = std::any_of(programs.begin(), programs.end(),
                                   [&](const StepProgram* p) { return KeyOf(*p, key) != nullptr; });
    if (known) continue;
    const auto name_of = [](std::string* out, const auto& named) { out->append(named.name); };
    const StepProgram& first = *programs.front();
    return absl::InvalidArgumentError(absl::StrCat(key, ": ", first.name,
                                                   " does not have this key (its keys: d, ",
                                                   absl::StrJoin(first.keys, ", ", name_of), ")"));
  }
  return absl::OkStatus();
}

// Networks take time to make, and many points share one.
class NetworkCheck {
 public:
  absl::Status operator()(const StepPoint& point) {
    const NetworkSpec spec = StepNetworkSpec(point, 0);
    const std::string name = absl::StrCat(
        spec.rows, " ", KindName(spec.kind), " ", spec.multiplicity, " ", spec.extra_stages, " ",
        static_cast<int>(spec.parallel_edges.value_or(kDefaultEdges)));
    if (!made_.insert(name).second) return absl::OkStatus();
    return StepNetwork(point, 0).status();
  }

 private:
  std::set<std::string> made_;
};

absl::Status CheckPoints(const std::vector<StepPoint>& points) {
  NetworkCheck check_network;
  for (const StepPoint& point : points) {
    absl::Status status = check_network(point);
    if (status.ok() && point.Find("permutation") != nullptr) {
      status = PermutationByName(point.word("permutation"), 2, 0).status();
      if (!status.ok()) status = StepPermutation(point, 0).status();
    }
    if (status.ok()) status = FindStepProgram(point.program)->check(point);
    if (status.ok()) continue;
    return absl::Status(status.code(), absl::StrCat(status.message(), ", at ", point.ToString()));
  }
  return absl::OkStatus();
}

}  // namespace

void FillStepDefaults(v1::StepExperiment* experiment) {
  const auto programs = ProgramsOf(*experiment);
  if (!programs.ok()) return;
  for (const std::string& key : StepKeys()) {
    if (!GivenValues(*experiment, key).empty()) continue;
    std::set<std::string> defaults;
    for (const StepProgram* program : *programs) {
      const StepKey* known = KeyOf(*program, key);
      if (known != nullptr && !known->at_most_rows) defaults.insert(known->default_value);
    }
    if (defaults.size() == 1) SetValue(key, *defaults.begin(), experiment);
  }
}

absl::StatusOr<std::vector<StepPoint>> StepPointsOf(const v1::StepExperiment& experiment) {
  const auto programs = ProgramsOf(experiment);
  if (!programs.ok()) return programs.status();
  if (absl::Status status = CheckGivenKeys(experiment, *programs); !status.ok()) return status;
  std::vector<StepPoint> all;
  for (const StepProgram* program : *programs) {
    std::vector<StepPoint> points = {{.program = program->name}};
    for (const StepKey& key : program->keys) {
      std::vector<StepValue> values = GivenValues(experiment, key.name);
      if (values.empty()) values = {ValueOf(key.default_value)};
      std::vector<StepPoint> swept;
      for (const StepPoint& point : points) {
        for (const StepValue& value : values) {
          swept.push_back(point);
          if (!HasStepKey(point, key.name)) break;
          swept.back().values.emplace_back(key.name, value);
        }
      }
      points = std::move(swept);
    }
    Sweep(points, experiment.d(), [](StepPoint& x, uint32_t d) { x.d = static_cast<int>(d); });
    for (const StepKey& key : program->keys) {
      if (!key.at_most_rows || !GivenValues(experiment, key.name).empty()) continue;
      for (StepPoint& point : points) point.LimitToRows(key.name);
    }
    all.insert(all.end(), points.begin(), points.end());
  }
  if (absl::Status status = CheckPoints(all); !status.ok()) return status;
  return all;
}

}  // namespace bfly::control

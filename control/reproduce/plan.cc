// SPDX-License-Identifier: Apache-2.0
#include "control/reproduce/plan.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/measure/experiment_file.h"
#include "control/measure/settings.h"
#include "control/topology_file/message_reader.h"
#include "control/topology_file/reader.h"
#include "control/topology_file/schema.h"

namespace bfly::control {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> NamesOf(const v1::Reproduction& list) {
  std::vector<std::string> names;
  for (const v1::Paper& paper : list.papers()) names.push_back(paper.name());
  return names;
}

bool Has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string NameOf(const v1::ReproducedExperiment& entry) {
  return fs::path(entry.file()).stem().string();
}

// Checks what must hold between the fields of the list.
void CheckList(const v1::Reproduction& list, MessageReader& reader) {
  const auto complain = [&reader](const std::string& field, const std::string& value,
                                  const std::string& message) {
    reader.Complain(reader.PlaceOf(field), field, value, message);
  };
  const std::vector<std::string> names = NamesOf(list);
  std::set<std::string> papers, experiments;
  for (int i = 0; i < list.papers_size(); ++i) {
    const std::string& name = list.papers(i).name();
    if (papers.insert(name).second) continue;
    complain(absl::StrCat("papers[", i, "].name"), name, "another paper has this name");
  }
  for (int i = 0; i < list.experiments_size(); ++i) {
    const v1::ReproducedExperiment& entry = list.experiments(i);
    const std::string field = absl::StrCat("experiments[", i, "].");
    if (!papers.contains(entry.paper())) {
      complain(field + "paper", entry.paper(),
               absl::StrCat("no paper has this name (known: ", absl::StrJoin(names, ", "), ")"));
    }
    if (!experiments.insert(NameOf(entry)).second) {
      complain(field + "file", entry.file(), "another experiment has a file of this name");
    }
  }
}

absl::Status CheckNames(const std::vector<std::string>& asked,
                        const std::vector<std::string>& known) {
  for (const std::string& name : asked) {
    if (Has(known, name)) continue;
    const auto near = Nearest(name, known);
    return absl::NotFoundError(absl::StrCat("--paper: no paper is called \"", Quotable(name), "\"",
                                            near ? absl::StrCat("; did you mean ", *near, "?") : "",
                                            " (", absl::StrJoin(known, ", "), ")"));
  }
  return absl::OkStatus();
}

// A path that names the existing `file` in the working directory, as short as that goes.
std::string PathFromHere(const fs::path& file) {
  std::error_code error;
  // Links are followed first, because ".." after a link is not the directory above the link.
  const fs::path folder = fs::canonical(file.parent_path(), error);
  if (error) return file.string();
  const fs::path whole = folder / file.filename();
  const fs::path below = whole.lexically_relative(fs::current_path(error));
  const bool is_below = !error && !below.empty() && *below.begin() != "..";
  return (is_below ? below : whole).string();
}

}  // namespace

absl::StatusOr<std::string> ShippedReproductionList() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  const fs::path above = program.parent_path().parent_path();
  const fs::path built = above / "topologies/reproduction.yaml";
  const fs::path installed = above / "share/bfly/topologies/reproduction.yaml";
  for (const fs::path& place : {built, installed}) {
    if (fs::exists(place, error)) return place.string();
  }
  return absl::NotFoundError(absl::StrCat("the list of papers and experiments is neither ",
                                          built.string(), " nor ", installed.string(),
                                          "; name it with --list FILE"));
}

absl::StatusOr<v1::Reproduction> ReadReproductionList(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadTopologyText(path);
  if (!text.ok()) return text.status();
  v1::Reproduction list;
  std::vector<Diagnostic> diagnostics;
  MessageReader reader(path, &diagnostics);
  if (reader.Read(*text, "a list of papers and experiments", "papers and experiments", &list) &&
      diagnostics.empty()) {
    FillDefaults(&list);
    CheckList(list, reader);
  }
  reader.Sort();
  if (!diagnostics.empty()) return ToStatus(diagnostics);
  return list;
}

absl::StatusOr<ReproductionPlan> MakePlan(const std::string& path,
                                          const std::vector<std::string>& papers, bool quick) {
  absl::StatusOr<v1::Reproduction> list = ReadReproductionList(path);
  if (!list.ok()) return list.status();
  const std::vector<std::string> names = NamesOf(*list);
  if (absl::Status status = CheckNames(papers, names); !status.ok()) return status;
  ReproductionPlan plan{.list = *std::move(list), .chosen = {}, .experiments = {}};
  for (const std::string& name : names) {
    if (papers.empty() || Has(papers, name)) plan.chosen.push_back(name);
  }
  const fs::path folder = fs::absolute(path).parent_path();
  for (const v1::ReproducedExperiment& entry : plan.list.experiments()) {
    if (!Has(plan.chosen, entry.paper())) continue;
    PlannedExperiment planned{
        .name = NameOf(entry),
        .file = PathFromHere(folder / entry.file()),
        .paper = entry.paper(),
        .note = entry.note(),
        .settings = {},
        .seconds = static_cast<double>(quick ? entry.quick_seconds() : entry.seconds()),
        .experiment = nullptr};
    if (quick) planned.settings.assign(entry.quick().begin(), entry.quick().end());
    auto experiment = ReadExperiment((folder / entry.file()).string(), planned.settings);
    if (!experiment.ok()) return experiment.status();
    planned.experiment = *std::move(experiment);
    plan.experiments.push_back(std::move(planned));
  }
  return plan;
}

}  // namespace bfly::control

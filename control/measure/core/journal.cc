// SPDX-License-Identifier: Apache-2.0
#include "control/measure/core/journal.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace bfly::control {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kPart[] = ".part";  // at the end of the name of a file that is not whole yet
constexpr char kConfiguration[] = "experiment.yaml";  // the first file of a results folder

absl::Status FileError(const std::string& path, const char* what, int error) {
  const std::string message = absl::StrCat(
      path, ": cannot ", what, ": ", std::error_code(error, std::generic_category()).message());
  if (error == ENOSPC || error == EDQUOT) return absl::ResourceExhaustedError(message);
  if (error == ENOENT) return absl::NotFoundError(message);
  return absl::FailedPreconditionError(message);
}

// Writes and syncs the whole text or returns an error. Closes the file in any case.
absl::Status WriteAll(const std::string& path, int flags, const std::string& text) {
  const int file = open(path.c_str(), flags | O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) return FileError(path, "open", errno);
  size_t written = 0;
  while (written < text.size()) {
    const ssize_t n = write(file, text.data() + written, text.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const int error = errno;
      close(file);
      return FileError(path, "write", error);
    }
    written += static_cast<size_t>(n);
  }
  const int synced = fsync(file);
  const int error = errno;
  close(file);
  return synced == 0 ? absl::OkStatus() : FileError(path, "write", error);
}

Json ToJson(size_t point, const Trial& t) {
  Json stages = Json::array();
  for (const StageTime& stage : t.stages) stages.push_back({stage.mean, stage.p50, stage.p99});
  return Json{{"point", point},
              {"seed", t.seed},
              {"offered", t.offered},
              {"accepted", t.accepted},
              {"mean_delay", t.mean_delay},
              {"p50", t.p50},
              {"p99", t.p99},
              {"mean_population", t.mean_population},
              {"straight_utilisation", t.straight_utilisation},
              {"cross_utilisation", t.cross_utilisation},
              {"measured", t.measured},
              {"unfinished", t.unfinished},
              {"batch_delays", t.batch_delays},
              {"stages", stages},
              {"figures", t.figures},
              {"set_up_seconds", t.set_up_seconds}};
}

Trial FromJson(const Json& json) {
  Trial trial{.seed = json.at("seed"),
              .offered = json.at("offered"),
              .accepted = json.at("accepted"),
              .mean_delay = json.at("mean_delay"),
              .p50 = json.at("p50"),
              .p99 = json.at("p99"),
              .mean_population = json.at("mean_population"),
              .straight_utilisation = json.at("straight_utilisation"),
              .cross_utilisation = json.at("cross_utilisation"),
              .measured = json.at("measured"),
              .unfinished = json.at("unfinished"),
              .batch_delays = json.at("batch_delays"),
              .figures = json.at("figures"),
              .set_up_seconds = json.value("set_up_seconds", 0.0)};
  for (const Json& stage : json.at("stages")) {
    trial.stages.push_back({stage.at(0), stage.at(1), stage.at(2)});
  }
  return trial;
}

}  // namespace

absl::Status WriteFile(const std::string& path, const std::string& text) {
  const std::string beside = path + kPart;
  if (absl::Status status = WriteAll(beside, O_TRUNC, text); !status.ok()) {
    unlink(beside.c_str());
    return status;
  }
  if (rename(beside.c_str(), path.c_str()) != 0) return FileError(path, "write", errno);
  return absl::OkStatus();
}

absl::Status CheckWriteFile(const std::string& path) {
  const std::string beside = path + kPart;
  if (const int older = open(beside.c_str(), O_WRONLY | O_CLOEXEC); older >= 0) {
    close(older);
    return absl::OkStatus();
  }
  absl::Status status = WriteAll(beside, O_EXCL, "");
  if (status.ok()) unlink(beside.c_str());
  return status;
}

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return FileError(path, "open", errno);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

bool IsUnused(const std::string& folder, const std::string& first) {
  std::error_code error;
  std::filesystem::directory_iterator files(folder, error);
  for (; !error && files != std::filesystem::directory_iterator(); files.increment(error)) {
    if (files->path().filename() != first + kPart) return false;
  }
  return !error;
}

bool IsComplete(const std::string& folder) {
  const absl::StatusOr<std::string> results = ReadFile(folder + "/results.json");
  const Json parsed = Json::parse(results.ok() ? *results : "", nullptr, false);
  return parsed.is_object() && parsed.value("complete", false);
}

absl::StatusOr<Journal> Journal::Open(const std::string& folder, const std::string& configuration) {
  const absl::StatusOr<std::string> before = ReadFile(folder + "/experiment.yaml");
  if (before.ok() && *before == configuration && IsComplete(folder)) {
    return absl::AlreadyExistsError(absl::StrCat(
        "--out: ", folder,
        " already holds this experiment, complete; choose another folder, or draw its plots "
        "again with bfly measure --plot ",
        folder));
  }
  return Continue(folder, configuration);
}

absl::StatusOr<Journal> Journal::Continue(const std::string& folder,
                                          const std::string& configuration) {
  namespace fs = std::filesystem;
  Journal journal;
  journal.folder_ = folder;
  std::error_code error;
  if (!fs::exists(folder, error)) {
    if (!fs::create_directories(folder, error))
      return FileError(folder, "make the folder", error.value());
  } else if (!IsUnused(folder, kConfiguration)) {
    const absl::StatusOr<std::string> before = ReadFile(absl::StrCat(folder, "/", kConfiguration));
    if (!before.ok() || *before != configuration) {
      return absl::AlreadyExistsError(absl::StrCat(
          "--out: ", folder, before.ok() ? " holds another experiment" : " exists and is not empty",
          "; choose a folder that does not exist, or remove this one"));
    }
  }
  if (absl::Status status = WriteFile(absl::StrCat(folder, "/", kConfiguration), configuration);
      !status.ok()) {
    return status;
  }
  std::ifstream lines(folder + "/trials.jsonl");
  std::string kept;
  for (std::string line; std::getline(lines, line);) {
    // A full disk or a kill can cut a line short. Such a line is not JSON, and its trial is run
    // again.
    const Json json = Json::parse(line, nullptr, false);
    if (json.is_discarded()) continue;
    try {
      journal.trials_.emplace(
          std::pair(json.at("point").get<size_t>(), json.at("seed").get<uint64_t>()),
          FromJson(json));
    } catch (const Json::exception&) {
      continue;
    }
    absl::StrAppend(&kept, line, "\n");
  }
  lines.close();
  if (absl::Status status = WriteFile(folder + "/trials.jsonl", kept); !status.ok()) return status;
  return journal;
}

const Trial* Journal::Find(size_t point, uint64_t seed) const {
  const auto found = trials_.find({point, seed});
  return found == trials_.end() ? nullptr : &found->second;
}

absl::Status Journal::Add(size_t point, const Trial& trial) {
  if (absl::Status status = WriteAll(folder_ + "/trials.jsonl", O_APPEND,
                                     absl::StrCat(ToJson(point, trial).dump(), "\n"));
      !status.ok()) {
    return status;
  }
  trials_.insert_or_assign({point, trial.seed}, trial);
  return absl::OkStatus();
}

}  // namespace bfly::control

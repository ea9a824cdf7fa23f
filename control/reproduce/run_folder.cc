// SPDX-License-Identifier: Apache-2.0
#include "control/reproduce/run_folder.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/measure/core/journal.h"

namespace bfly::control {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kRecords[] = "reproduction.json";

const char* KindOfRun(bool quick) { return quick ? "a quick run" : "a full run"; }

absl::Status Refuse(const std::string& folder, const std::string& why) {
  return absl::AlreadyExistsError(absl::StrCat("--out: ", folder, " ", why));
}

RunRecord RecordFrom(const Json& json) {
  return {.finished = json.at("finished"),
          .seconds = json.at("seconds"),
          .machine = json.at("machine"),
          .figures = json.at("figures")};
}

}  // namespace

absl::StatusOr<RunFolder> RunFolder::Open(const std::string& folder, const std::string& version,
                                          bool quick) {
  namespace fs = std::filesystem;
  RunFolder opened;
  opened.folder_ = folder;
  opened.version_ = version;
  opened.quick_ = quick;
  const std::string records = absl::StrCat(folder, "/", kRecords);
  std::error_code error;
  if (fs::exists(folder, error) && !fs::is_directory(folder, error)) {
    return Refuse(folder, "is a file; name a folder that does not exist");
  }
  if (!fs::exists(records, error)) {
    if (fs::exists(folder, error) && !IsUnused(folder, kRecords)) {
      return Refuse(folder,
                    "holds something else than a reproduction; name a folder that does not exist");
    }
    fs::create_directories(folder, error);
    if (error) {
      return absl::FailedPreconditionError(
          absl::StrCat("--out: cannot make the folder ", folder, ": ", error.message()));
    }
    if (absl::Status status = opened.Write(); !status.ok()) return status;
    return opened;
  }
  const absl::StatusOr<std::string> text = ReadFile(records);
  if (!text.ok()) return text.status();
  const Json json = Json::parse(*text, nullptr, false);
  try {
    if (const std::string before = json.at("bfly"); before != version) {
      return Refuse(folder,
                    absl::StrCat("holds results of bfly ", before, ", and this is bfly ", version,
                                 ". Results of different versions are not mixed: "
                                 "name another folder, or remove this one"));
    }
    if (const bool was_quick = json.at("quick"); was_quick != quick) {
      return Refuse(folder, absl::StrCat("holds ", KindOfRun(was_quick), ", and this is ",
                                         KindOfRun(quick), ": name another folder, or ",
                                         quick ? "leave out" : "add", " --quick"));
    }
    for (const auto& [name, record] : json.at("experiments").items()) {
      opened.records_[name] = RecordFrom(record);
    }
  } catch (const Json::exception&) {
    return Refuse(folder, "has a reproduction.json that bfly did not write; name another folder");
  }
  return opened;
}

std::string RunFolder::ResultsOf(const std::string& name) const {
  return absl::StrCat(folder_, "/results/", name);
}

RunRecord RunFolder::Find(const std::string& name) const {
  const auto found = records_.find(name);
  return found == records_.end() ? RunRecord() : found->second;
}

absl::Status RunFolder::Save(const std::string& name, const RunRecord& record) {
  records_[name] = record;
  return Write();
}

absl::Status RunFolder::Write() const {
  Json json{{"bfly", version_}, {"quick", quick_}, {"experiments", Json::object()}};
  for (const auto& [name, record] : records_) {
    json["experiments"][name] = {{"finished", record.finished},
                                 {"seconds", record.seconds},
                                 {"machine", record.machine},
                                 {"figures", record.figures}};
  }
  return WriteFile(absl::StrCat(folder_, "/", kRecords), json.dump(2) + "\n");
}

}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
#include "control/server/privileges.h"

#include <cap-ng.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace bfly::control {
namespace {

constexpr int kMostCapabilities = 64;  // that the kernel can have
constexpr int kFileCapabilities[] = {CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH};
constexpr auto kHeld = static_cast<capng_type_t>(CAPNG_EFFECTIVE | CAPNG_PERMITTED);
constexpr auto kAll = static_cast<capng_type_t>(CAPNG_EFFECTIVE | CAPNG_PERMITTED |
                                                CAPNG_INHERITABLE | CAPNG_BOUNDING_SET);

absl::Status Refused(const char* what) {
  return absl::InternalError(
      absl::StrCat("privileges: the kernel does not let this process ", what));
}

bool MayAccess(const std::filesystem::path& path, int how) {
  return faccessat(AT_FDCWD, path.c_str(), how, AT_EACCESS) == 0;
}

bool OthersMayMakeFilesIn(const std::filesystem::path& directory) {
  struct stat info {};
  return stat(directory.c_str(), &info) != 0 || (info.st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

bool MayUse(const NeededFile& file) {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::absolute(file.path, error);
  const bool exists = std::filesystem::exists(path, error);
  if (error) return false;  // not even its name can be read
  if (file.use == FileUse::kReads) return !exists || MayAccess(path, R_OK);
  const bool is_directory = exists && std::filesystem::is_directory(path, error);
  if (exists && !is_directory && !MayAccess(path, R_OK | W_OK)) return false;
  // A directory is named for the files in it.
  std::filesystem::path directory = is_directory ? path : path.parent_path();
  while (!std::filesystem::exists(directory, error) && directory.has_relative_path()) {
    if (error) return false;
    directory = directory.parent_path();
  }
  if (file.use == FileUse::kMeets && OthersMayMakeFilesIn(directory)) return false;
  return MayAccess(directory, R_OK | W_OK | X_OK);
}

// Whether every file can be used without the capabilities for files of others.
absl::StatusOr<bool> MayUseWithoutCapability(const std::vector<NeededFile>& files) {
  void* before = capng_save_state();
  for (const int capability : kFileCapabilities) {
    capng_update(CAPNG_DROP, CAPNG_EFFECTIVE, static_cast<unsigned>(capability));
  }
  if (capng_apply(CAPNG_SELECT_CAPS) != 0) return Refused("put a capability aside");
  const bool may = std::all_of(files.begin(), files.end(), MayUse);
  capng_restore_state(&before);
  if (capng_apply(CAPNG_SELECT_CAPS) != 0) return Refused("take a capability again");
  return may;
}

}  // namespace

absl::Status KeepCapabilities(const std::vector<int>& needed,
                              const std::vector<NeededFile>& files) {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return Refused("give up what programs could add");
  if (capng_get_caps_process() != 0) return Refused("read its capabilities; it needs /proc");
  std::vector<int> kept = needed;
  if (capng_have_capability(CAPNG_EFFECTIVE, CAP_DAC_OVERRIDE) != 0) {
    const absl::StatusOr<bool> may = MayUseWithoutCapability(files);
    if (!may.ok()) return may.status();
    if (!*may) kept.push_back(CAP_DAC_OVERRIDE);
  }
  const bool may_bound = capng_have_capability(CAPNG_EFFECTIVE, CAP_SETPCAP) != 0;
  bool has_more = false;
  for (int capability = 0; capability < kMostCapabilities; ++capability) {
    if (std::find(kept.begin(), kept.end(), capability) != kept.end()) continue;
    const auto number = static_cast<unsigned>(capability);
    has_more = has_more || capng_have_capability(CAPNG_PERMITTED, number) != 0;
    capng_update(CAPNG_DROP, may_bound ? kAll : kHeld, number);
  }
  // The filter of a unit that gives no more may have no system call for it.
  if (!has_more) return absl::OkStatus();
  if (capng_apply(may_bound ? CAPNG_SELECT_BOTH : CAPNG_SELECT_CAPS) != 0) {
    return Refused("give up capabilities");
  }
  return absl::OkStatus();
}

}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
// Takes from a daemon the capabilities that it does not need.
#pragma once

#include <linux/capability.h>

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace bfly::control {

// How a daemon uses a file.
enum class FileUse {
  kReads,
  kMakes,  // the daemon makes it, or replaces it, and writes into it
  kMeets,  // the daemon or another user makes it
};

struct NeededFile {
  std::string path;
  FileUse use = FileUse::kReads;
};

// Gives up for good every capability of this process that is not in `needed` (CAP_NET_ADMIN, ...),
// also for programs that it would start, and what it could gain from set-user-id programs. Keeps
// CAP_DAC_OVERRIDE too if without it the process could not use one of `files`, or if other users
// may make one of kMeets. A directory stands for the files in it. Call it before there are other
// threads: Linux changes the calling thread alone. INTERNAL: the kernel refuses.
absl::Status KeepCapabilities(const std::vector<int>& needed, const std::vector<NeededFile>& files);

}  // namespace bfly::control

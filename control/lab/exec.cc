// SPDX-License-Identifier: Apache-2.0
#include "control/lab/exec.h"

#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "control/topology_file/diagnostic.h"

namespace bfly::control {
namespace {

absl::Status CannotEnter(const std::string& why) {
  return absl::InternalError(
      absl::StrCat("cannot enter the network namespace: ", why, ": ", std::strerror(errno)));
}

absl::Status Enter(const NetNamespace& where) {
  if (setns(where.descriptor(), CLONE_NEWNET) != 0) return CannotEnter("setns");
  // /sys/class/net shows the namespace in which /sys was mounted.
  if (unshare(CLONE_NEWNS) != 0 || mount("", "/", "none", MS_SLAVE | MS_REC, nullptr) != 0) {
    return CannotEnter("unshare");
  }
  umount2("/sys", MNT_DETACH);
  if (mount("bfly", "/sys", "sysfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0) {
    return CannotEnter("sysfs");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ExecIn(const NetNamespace& where, const std::vector<std::string>& command) {
  if (absl::Status entered = Enter(where); !entered.ok()) return entered;
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execvp(words[0], words.data());
  const int error = errno;
  const std::string message =
      absl::StrCat("cannot run ", Quotable(command[0]), ": ", std::strerror(error));
  return error == ENOENT ? absl::NotFoundError(message) : absl::PermissionDeniedError(message);
}

}  // namespace bfly::control

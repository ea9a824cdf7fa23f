// SPDX-License-Identifier: Apache-2.0
#include "control/lab/net_namespace.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace bfly::control {
namespace {

constexpr char kNames[] = "/run/netns";

absl::Status Failed(const std::string& what) { return absl::ErrnoToStatus(errno, what); }

std::string PathOf(const std::string& name) { return absl::StrCat(kNames, "/", name); }

// A file descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  int get() const { return number_; }

 private:
  int number_;
};

std::string OwnPath(int descriptor) { return absl::StrCat("/proc/self/fd/", descriptor); }

bool HasMark(const std::string& path, const std::string& mark) {
  // A file of another kind may block, have no end, or, as that of a namespace, fail to be read.
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode) ||
      info.st_size != static_cast<off_t>(mark.size())) {
    return false;
  }
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return text == mark;
}

// Makes /run/netns a mount of its own that others share, which names of namespaces need.
absl::Status ShareNames() {
  if (mount("", kNames, "none", MS_SHARED | MS_REC, nullptr) == 0) return absl::OkStatus();
  if (errno != EINVAL) return Failed("cannot share /run/netns");
  if (mount(kNames, kNames, "none", MS_BIND | MS_REC, nullptr) != 0 ||
      mount("", kNames, "none", MS_SHARED | MS_REC, nullptr) != 0) {
    return Failed("cannot make /run/netns a mount");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<NetNamespace> NetNamespace::Open(const NamespaceRef& where) {
  // Whatever has the name must not block.
  const int descriptor = open(where.path().c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  NetNamespace opened(descriptor);
  const absl::Status status = descriptor < 0 ? Failed("cannot open it") : opened.ReadCookie();
  if (status.ok()) return opened;
  return absl::Status(status.code(),
                      absl::StrCat(where.text(), ": ", status.message(),
                                   absl::IsPermissionDenied(status) ? "; try with sudo" : ""));
}

absl::StatusOr<NetNamespace> NetNamespace::Make() {
  int descriptor = -1;
  int error = 0;
  std::thread([&] {
    if (unshare(CLONE_NEWNET) == 0) {
      descriptor = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    }
    error = errno;
  }).join();
  if (descriptor < 0) return absl::ErrnoToStatus(error, "cannot make a network namespace");
  NetNamespace made(descriptor);
  if (absl::Status status = made.ReadCookie(); !status.ok()) return status;
  return made;
}

NetNamespace::~NetNamespace() {
  if (descriptor_ >= 0) close(descriptor_);
}

absl::Status NetNamespace::Run(const std::function<absl::Status()>& work) const {
  absl::Status status;
  std::thread([&] {
    status =
        setns(descriptor_, CLONE_NEWNET) == 0 ? work() : Failed("cannot enter a network namespace");
  }).join();
  return status;
}

absl::Status NetNamespace::ReadCookie() {
  return Run([this] {
    const Descriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    socklen_t size = sizeof(cookie_);
    if (socket.get() < 0 ||
        getsockopt(socket.get(), SOL_SOCKET, SO_NETNS_COOKIE, &cookie_, &size) != 0) {
      return Failed("cannot read the number of a network namespace (Linux 5.14 or later has it)");
    }
    return absl::OkStatus();
  });
}

bool IsGone(const absl::Status& opened) {
  return absl::IsNotFound(opened) || absl::IsInvalidArgument(opened);  // EINVAL of setns()
}

absl::Status PrepareNames() {
  if (mkdir(kNames, 0755) != 0 && errno != EEXIST) return Failed("cannot make /run/netns");
  return ShareNames();
}

absl::Status NamesAreSeenByOthers() {
  // In a mount namespace that only receives, the mount of /run/netns, or the one that contains it,
  // has a "master:" among its optional fields (proc(5), mountinfo).
  std::ifstream mounts("/proc/self/mountinfo");
  std::string point, fields;
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words(line);
    std::string id, parent, device, root, at, options;
    words >> id >> parent >> device >> root >> at >> options;
    const bool contains = at == kNames || at == "/" || absl::StartsWith(kNames, at + "/");
    // Of mounts at one point the later one counts.
    if (!contains || at.size() < point.size()) continue;
    point = at;
    fields.clear();
    for (std::string field; words >> field && field != "-";) absl::StrAppend(&fields, " ", field);
  }
  if (!absl::StrContains(fields, " master:")) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "the mounts of this process are not seen outside, as inside of `ip netns exec`, so the names "
      "of network namespaces would not be either; run it outside");
}

bool NameIsTaken(const std::string& name) {
  struct stat info {};
  return lstat(PathOf(name).c_str(), &info) == 0;
}

absl::Status NameNamespace(const NetNamespace& made, const std::string& name,
                           const std::string& mark, const BetweenEffects& between) {
  const std::string path = PathOf(name);
  const Descriptor file(open(kNames, O_WRONLY | O_TMPFILE | O_CLOEXEC, 0444));
  if (file.get() < 0 ||
      write(file.get(), mark.data(), mark.size()) != static_cast<ssize_t>(mark.size())) {
    return Failed("cannot make a file in /run/netns");
  }
  between();
  if (linkat(AT_FDCWD, OwnPath(file.get()).c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) !=
      0) {
    return Failed("cannot make network namespace " + name);
  }
  between();
  if (mount(OwnPath(made.descriptor()).c_str(), path.c_str(), "none", MS_BIND, nullptr) != 0) {
    return Failed("cannot mount network namespace " + name);
  }
  between();
  return absl::OkStatus();
}

absl::StatusOr<bool> RemoveName(const std::string& name, uint64_t cookie, const std::string& mark) {
  const std::string path = PathOf(name);
  bool removed = false;
  {
    const absl::StatusOr<NetNamespace> there = NetNamespace::Open(NamespaceRef::Named(name));
    if (!there.ok() && !IsGone(there.status())) return there.status();
    if (there.ok() && there->cookie() == cookie) {
      if (umount2(path.c_str(), MNT_DETACH) != 0) return Failed("cannot unmount " + path);
      removed = true;
    }
  }
  if (!HasMark(path, mark)) return removed;
  if (unlink(path.c_str()) != 0) return Failed("cannot remove " + path);
  return true;
}

}  // namespace bfly::control

// SPDX-License-Identifier: Apache-2.0
#include "control/cli/tap_pair.h"

#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "absl/strings/str_cat.h"

namespace bfly::control {
namespace {

constexpr size_t kMaxFrame = 9018;

absl::Status TapFailed(const std::string& what) {
  const int error = errno;
  if (error == EPERM || error == EACCES) {
    return absl::PermissionDeniedError(
        absl::StrCat(what, ": ", std::strerror(error), "; run it as root (sudo)"));
  }
  return absl::UnavailableError(absl::StrCat(what, ": ", std::strerror(error)));
}

ifreq RequestFor(const char* name) {
  ifreq request{};
  std::strncpy(request.ifr_name, name, sizeof(request.ifr_name) - 1);
  return request;
}

// Returns the descriptor of a new interface.
absl::StatusOr<int> MakeTap(const char* name) {
  const int tap = open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK);
  if (tap < 0) return TapFailed("cannot open /dev/net/tun");
  ifreq request = RequestFor(name);
  request.ifr_flags = IFF_TAP | IFF_NO_PI;
  if (ioctl(tap, TUNSETIFF, &request) == 0) return tap;
  const absl::Status failed = TapFailed(absl::StrCat("cannot make the interface ", name));
  close(tap);
  return failed;
}

absl::Status BringUp(const char* name) {
  // Linux sends router solicitations and the like of its own accord.
  std::ofstream(absl::StrCat("/proc/sys/net/ipv6/conf/", name, "/disable_ipv6")) << 1;
  const int any = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq request = RequestFor(name);
  bool up = any >= 0 && ioctl(any, SIOCGIFFLAGS, &request) == 0;
  if (up) {
    request.ifr_flags |= IFF_UP;
    up = ioctl(any, SIOCSIFFLAGS, &request) == 0;
  }
  const absl::Status status =
      up ? absl::OkStatus() : TapFailed(absl::StrCat("cannot bring ", name, " up"));
  if (any >= 0) close(any);
  return status;
}

}  // namespace

absl::StatusOr<std::unique_ptr<TapPair>> TapPair::Make() {
  if (unshare(CLONE_NEWNET) != 0) return TapFailed("cannot make a network namespace");
  std::unique_ptr<TapPair> pair(new TapPair);
  for (int which = 0; which < 2; ++which) {
    const absl::StatusOr<int> tap = MakeTap(kNames[which]);
    if (!tap.ok()) return tap.status();
    pair->descriptors_[which] = *tap;
    if (absl::Status status = BringUp(kNames[which]); !status.ok()) return status;
  }
  return pair;
}

TapPair::~TapPair() {
  for (const int descriptor : descriptors_) {
    if (descriptor >= 0) close(descriptor);
  }
}

void TapPair::Send(int which, const std::string& frame) {
  (void)!write(descriptors_[which], frame.data(), frame.size());
}

bool TapPair::Receive(int which, std::chrono::milliseconds patience, std::string* frame) {
  pollfd ready{.fd = descriptors_[which], .events = POLLIN, .revents = 0};
  if (poll(&ready, 1, static_cast<int>(patience.count())) <= 0) return false;
  frame->resize(kMaxFrame);
  const ssize_t size = read(descriptors_[which], frame->data(), frame->size());
  frame->resize(size > 0 ? static_cast<size_t>(size) : 0);
  return size > 0;
}

}  // namespace bfly::control

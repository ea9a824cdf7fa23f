// SPDX-License-Identifier: Apache-2.0
#include "dataplane/xdp/xdp_edge.h"

#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "dataplane/runtime/device_string.h"
#include "dataplane/xdp/edge_object.h"

namespace bfly::dataplane {
namespace {

constexpr char kAfXdpDriver[] = "net_af_xdp";

absl::StatusOr<OwnedFd> ObjectInMemory() {
  OwnedFd file(memfd_create("bfly_edge", MFD_CLOEXEC));
  if (!file) return absl::UnavailableError(absl::StrCat("memfd_create: ", strerror(errno)));
  size_t size = 0;
  const char* bytes = static_cast<const char*>(EdgeObject(&size));
  while (size > 0) {
    const ssize_t written = write(file.get(), bytes, size);
    if (written < 0) return absl::UnavailableError(absl::StrCat("memfd: ", strerror(errno)));
    bytes += written;
    size -= static_cast<size_t>(written);
  }
  return file;
}

absl::Status BringUp(const std::string& interface) {
  const OwnedFd socket_fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request = {};
  interface.copy(request.ifr_name, IFNAMSIZ - 1);
  if (ioctl(socket_fd.get(), SIOCGIFFLAGS, &request) != 0) {
    return absl::UnavailableError(
        absl::StrCat("interface ", interface, ": cannot read its flags: ", strerror(errno)));
  }
  if (request.ifr_flags & IFF_UP) return absl::OkStatus();
  request.ifr_flags = static_cast<int16_t>(request.ifr_flags | IFF_UP);
  if (ioctl(socket_fd.get(), SIOCSIFFLAGS, &request) != 0) {
    return absl::UnavailableError(absl::StrCat("interface ", interface, ": cannot bring it up: ",
                                               strerror(errno), " (needs CAP_NET_ADMIN)"));
  }
  return absl::OkStatus();
}

absl::Status MakeFree(const std::string& interface, int index) {
  const auto program = AttachedProgram::On(interface, index);
  if (!program.ok()) return program.status();
  if (program->id() == 0) return absl::OkStatus();
  const auto maps = EdgeMaps::OfProgram(program->id());
  if (absl::IsNotFound(maps.status())) {
    return absl::FailedPreconditionError(
        absl::StrCat("interface ", interface, ": ", maps.status().message(),
                     "; if nothing needs it: ip link set dev ", interface, " xdp off"));
  }
  if (!maps.ok()) return maps.status();
  const auto lives = maps->OwnerLives();
  if (!lives.ok()) return lives.status();
  if (*lives) {
    return absl::FailedPreconditionError(
        absl::StrCat("interface ", interface, ": another running bfly data plane has it"));
  }
  return program->Detach();
}

}  // namespace

bool XdpEdge::Wanted(absl::string_view device) {
  return absl::StartsWith(device, kAfXdpDriver) && !DeviceArgument(device, "xdp_prog").has_value();
}

absl::StatusOr<std::unique_ptr<XdpEdge>> XdpEdge::Prepare(absl::string_view device) {
  const std::optional<std::string> interface = DeviceArgument(device, "iface");
  if (!interface.has_value() || interface->empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("device '", device, "' names no interface; it takes iface=NAME"));
  }
  const unsigned index = if_nametoindex(interface->c_str());
  if (index == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "device '", device, "': this network namespace has no interface '", *interface, "'"));
  }
  if (absl::Status status = BringUp(*interface); !status.ok()) return status;
  if (absl::Status status = MakeFree(*interface, static_cast<int>(index)); !status.ok()) {
    return status;
  }
  auto object = ObjectInMemory();
  if (!object.ok()) return object.status();
  std::string probe = absl::StrCat(device, ",xdp_prog=/proc/self/fd/", object->get());
  return std::unique_ptr<XdpEdge>(
      new XdpEdge(*interface, static_cast<int>(index), std::move(*object), std::move(probe)));
}

XdpEdge::XdpEdge(std::string interface, int index, OwnedFd object, std::string device)
    : interface_(std::move(interface)),
      index_(index),
      object_(std::move(object)),
      device_(std::move(device)) {}

// The driver removes the program when the port is closed. The destructor covers a port that never
// got that far.
XdpEdge::~XdpEdge() { (void)Stop(); }

absl::Status XdpEdge::Start(const EdgeRules& rules) {
  const auto program = AttachedProgram::On(interface_, index_);
  if (!program.ok()) return program.status();
  if (program->id() == 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("interface ", interface_, ": the driver has not attached the XDP program"));
  }
  auto maps = EdgeMaps::OfProgram(program->id());
  if (!maps.ok()) return maps.status();
  if (absl::Status status = maps->Configure(rules); !status.ok()) return status;
  program_ = *program;
  maps_ = std::move(*maps);
  return absl::OkStatus();
}

bool XdpEdge::Stop() {
  const auto now = AttachedProgram::On(interface_, index_);
  return now.ok() && now->id() == program_.id() && program_.Detach().ok();
}

absl::StatusOr<XdpCounters> XdpEdge::counters() const {
  if (!maps_.has_value()) {
    return absl::FailedPreconditionError(
        absl::StrCat("interface ", interface_, ": the XDP program is not started"));
  }
  return maps_->Read();
}

}  // namespace bfly::dataplane

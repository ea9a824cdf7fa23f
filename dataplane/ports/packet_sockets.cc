// SPDX-License-Identifier: Apache-2.0
#include "dataplane/ports/packet_sockets.h"

#include <linux/filter.h>
#include <linux/if_packet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace bfly::dataplane {
namespace {

// What the kernel charges a socket for a frame that waits to be sent: the frame, which is in the
// ring, and less than this for the kernel's description of it.
constexpr uint64_t kBytesBesideFrame = 2048;

// Writes the argument `key` of the device to `out`, if it is given.
absl::Status ReadOnce(absl::string_view device, absl::string_view key, uint32_t& out) {
  bool given = false;
  for (absl::string_view part : absl::StrSplit(device, ',')) {
    const std::pair<absl::string_view, absl::string_view> argument =
        absl::StrSplit(part, absl::MaxSplits('=', 1));
    if (argument.first != key) continue;
    if (std::exchange(given, true)) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", device, "\" gives ", key, " twice; give it once"));
    }
    int32_t number = 0;  // as the driver's
    if (!absl::SimpleAtoi(argument.second, &number) || number <= 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(key, " is \"", argument.second, "\", which is not a number above 0"));
    }
    out = static_cast<uint32_t>(number);
  }
  return absl::OkStatus();
}

// The index of the interface to which an AF_PACKET socket is bound; nullopt: it is another file.
std::optional<int> InterfaceOf(int fd) {
  int domain = AF_UNSPEC;
  socklen_t size = sizeof(domain);
  if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0 || domain != AF_PACKET) {
    return std::nullopt;
  }
  sockaddr_ll address{};
  size = sizeof(address);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return std::nullopt;
  return address.sll_ifindex;
}

absl::Status KernelRefuses(absl::string_view what) {
  return absl::UnavailableError(absl::StrCat(what, ": ", std::strerror(errno)));
}

// Accepts every frame except those that this kernel sends. The option PACKET_IGNORE_OUTGOING would
// have no effect, because the driver has put the socket into a fanout group.
absl::Status IgnoreOutgoing(int fd) {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(SKF_AD_OFF + SKF_AD_PKTTYPE)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PACKET_OUTGOING, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, 0),
      BPF_STMT(BPF_RET | BPF_K, std::numeric_limits<uint32_t>::max()),
  };
  const sock_fprog program = {.len = std::size(code), .filter = code};
  if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) == 0) {
    return absl::OkStatus();
  }
  return KernelRefuses("its socket cannot ignore the frames that this machine sends");
}

// The kernel doubles the number, and a socket can be written while it is charged less than half of
// its limit: less than the number.
absl::Status HoldAFullRing(int fd, const PacketRing& ring) {
  const uint64_t bytes = ring.slots * (ring.slot_bytes + kBytesBesideFrame);
  const int limit =
      static_cast<int>(std::min<uint64_t>(bytes, std::numeric_limits<int>::max() / 2));
  if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &limit, sizeof(limit)) == 0) {
    return absl::OkStatus();
  }
  if (errno == EPERM) {
    return absl::PermissionDeniedError(
        "its socket cannot hold a ring of frames: this needs CAP_NET_ADMIN of the machine's first "
        "user namespace; run the data plane outside of user namespaces such as those of rootless "
        "containers");
  }
  return KernelRefuses("its socket cannot hold a ring of frames");
}

}  // namespace

absl::StatusOr<PacketRing> PacketRing::Of(const std::string& device) {
  PacketRing ring;
  auto block_bytes = static_cast<uint32_t>(getpagesize());  // the driver's default
  absl::Status status = ReadOnce(device, "framesz", ring.slot_bytes);
  if (status.ok()) status = ReadOnce(device, "blocksz", block_bytes);
  if (status.ok()) status = ReadOnce(device, "framecnt", ring.slots);
  if (!status.ok()) return status;
  if (block_bytes % ring.slot_bytes != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("framesz is ", ring.slot_bytes, " and does not divide blocksz, which is ",
                     block_bytes, "; give a framesz that does, such as ", PacketRing{}.slot_bytes,
                     ", or a blocksz that is a multiple of framesz and of ", getpagesize()));
  }
  return ring;
}

// In front of a received frame the kernel writes TPACKET2_HDRLEN bytes, and begins the frame so
// that what follows the Ethernet header is aligned. A frame that fills the rest of the slot may be
// one that the kernel cut.
uint32_t PacketRing::longest_frame() const {
  constexpr uint32_t kBefore = TPACKET_ALIGN(TPACKET2_HDRLEN + 16) - 14;
  return slot_bytes - std::min(slot_bytes, kBefore + 1);
}

PacketSockets::PacketSockets(uint32_t interface) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", error)) {
    int fd = -1;
    if (absl::SimpleAtoi(entry.path().filename().string(), &fd) &&
        InterfaceOf(fd) == static_cast<int>(interface)) {
      sockets_.push_back(fd);
    }
  }
}

absl::Status PacketSockets::SetUp(const PacketRing& ring) const {
  if (sockets_.empty()) {
    return absl::UnavailableError("its AF_PACKET sockets are not in /proc/self/fd; mount /proc");
  }
  for (const int fd : sockets_) {
    if (absl::Status status = IgnoreOutgoing(fd); !status.ok()) return status;
    if (absl::Status status = HoldAFullRing(fd, ring); !status.ok()) return status;
  }
  return absl::OkStatus();
}

uint64_t PacketSockets::TakeDropped() const {
  uint64_t dropped = 0;
  for (const int fd : sockets_) {
    tpacket_stats stats{};
    socklen_t size = sizeof(stats);
    // The kernel counts from 0 again after each call.
    if (getsockopt(fd, SOL_PACKET, PACKET_STATISTICS, &stats, &size) == 0) {
      dropped += stats.tp_drops;
    }
  }
  return dropped;
}

}  // namespace bfly::dataplane

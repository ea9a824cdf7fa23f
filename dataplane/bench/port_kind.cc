// SPDX-License-Identifier: Apache-2.0
#include "dataplane/bench/port_kind.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "dataplane/bench/xdp_load.h"

namespace bfly::dataplane {
namespace {

std::string MemifSocket(int port, const std::string& directory) {
  return absl::StrCat(directory, "/memif", port, ".sock");
}

std::string VhostSocket(int port, const std::string& directory) {
  return absl::StrCat(directory, "/vhost", port, ".sock");
}

template <auto kMake>
absl::StatusOr<LoadPorts> TwoOf(const Frames& frames, bool) {
  auto in = kMake(frames);
  if (!in.ok()) return in.status();
  auto out = kMake(frames);
  if (!out.ok()) return out.status();
  return LoadPorts{.in = *std::move(in), .out = *std::move(out)};
}

// A memif server copies frames out of and into the client's memory.
constexpr PortKind kMemifPorts = {
    .name = "memif",
    .title = "memif servers; the load is a client without a driver",
    .prepare = nullptr,
    .device =
        [](int port, const std::string& directory) {
          return absl::StrCat("net_memif", port, ",role=server,socket-abstract=no,socket=",
                              MemifSocket(port, directory));
        },
    .socket = MemifSocket,
    .sees_taken = true,
    .load = TwoOf<MakeMemifLoad>};

// The back end copies frames out of and into the buffers of the front end, as a switch does with
// those of a virtual machine.
constexpr PortKind kVhostPorts = {
    .name = "vhost",
    .title = "vhost-user back ends; the load is a virtio-net front end without a driver",
    .prepare = nullptr,
    .device =
        [](int port, const std::string& directory) {
          return absl::StrCat("net_vhost", port, ",queues=1,iface=", VhostSocket(port, directory));
        },
    .socket = VhostSocket,
    .sees_taken = true,
    .load = TwoOf<MakeVhostLoad>};

// veth copies every frame, so the kernel sets the pace of the device.
constexpr PortKind kAfXdpPorts = {
    .name = "af_xdp",
    .title = "AF_XDP on veth interfaces; at their other ends, XDP programs send and count",
    .prepare = MakeVethPairs,
    .device =
        [](int port, const std::string&) {
          return absl::StrCat("net_af_xdp", port, ",iface=device", port);
        },
    .socket = [](int, const std::string&) { return std::string(); },
    .sees_taken = false,
    .load = MakeXdpLoad};

constexpr PortKind kPortKinds[] = {kMemifPorts, kVhostPorts, kAfXdpPorts};

}  // namespace

std::span<const PortKind> PortKinds() { return kPortKinds; }

const PortKind* FindPortKind(std::string_view name) {
  for (const PortKind& kind : kPortKinds) {
    if (kind.name == name) return &kind;
  }
  return nullptr;
}

}  // namespace bfly::dataplane

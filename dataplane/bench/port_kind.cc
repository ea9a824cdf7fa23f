// SPDX-License-Identifier: Apache-2.0
#include "dataplane/bench/port_kind.h"

#include "absl/strings/str_cat.h"

namespace bfly::dataplane {
namespace {

std::string MemifSocket(int port, const std::string& directory) {
  return absl::StrCat(directory, "/memif", port, ".sock");
}

std::string VhostSocket(int port, const std::string& directory) {
  return absl::StrCat(directory, "/vhost", port, ".sock");
}

// A memif server copies frames out of and into the client's memory.
constexpr PortKind kMemifPorts = {
    .name = "memif",
    .title = "memif servers; the load is a client without a driver",
    .device =
        [](int port, const std::string& directory) {
          return absl::StrCat("net_memif", port, ",role=server,socket-abstract=no,socket=",
                              MemifSocket(port, directory));
        },
    .socket = MemifSocket,
    .load = MakeMemifLoad};

// The back end copies frames out of and into the buffers of the front end, as a switch does with
// those of a virtual machine.
constexpr PortKind kVhostPorts = {
    .name = "vhost",
    .title = "vhost-user back ends; the load is a virtio-net front end without a driver",
    .device =
        [](int port, const std::string& directory) {
          return absl::StrCat("net_vhost", port, ",queues=1,iface=", VhostSocket(port, directory));
        },
    .socket = VhostSocket,
    .load = MakeVhostLoad};

constexpr PortKind kPortKinds[] = {kMemifPorts, kVhostPorts};

}  // namespace

std::span<const PortKind> PortKinds() { return kPortKinds; }

const PortKind* FindPortKind(std::string_view name) {
  for (const PortKind& kind : kPortKinds) {
    if (kind.name == name) return &kind;
  }
  return nullptr;
}

}  // namespace bfly::dataplane

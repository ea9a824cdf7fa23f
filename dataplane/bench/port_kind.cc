// SPDX-License-Identifier: Apache-2.0
#include "dataplane/bench/port_kind.h"

#include "absl/strings/str_cat.h"

namespace bfly::dataplane {
namespace {

std::string Memif(int port, const std::string& directory, const char* arguments) {
  return absl::StrCat("net_memif", port, ",socket-abstract=no,socket=", directory, "/memif", port,
                      ".sock,", arguments);
}

// A memif server copies frames out of and into the client's memory. The generator's sending client
// lends its buffers. Its receiving client copies too: with two clients that lend their buffers in
// one process, DPDK 22.11 passes a wrong file to the second server, which then dies of SIGBUS.
constexpr PortKind kMemifPorts = {
    .name = "memif",
    .title = "memif servers; the generator's sending client lends its buffers (zero copy)",
    .device = [](int port,
                 const std::string& directory) { return Memif(port, directory, "role=server"); },
    .generator =
        [](int port, const std::string& directory) {
          return Memif(port, directory, port == 0 ? "role=client,zero-copy=yes" : "role=client");
        }};

// The back end copies frames out of and into the buffers of the front end, as a switch does with
// those of a virtual machine.
constexpr PortKind kVhostPorts = {
    .name = "vhost",
    .title = "vhost-user back ends, the generator's virtio-user front ends lend their buffers",
    .device =
        [](int port, const std::string& directory) {
          return absl::StrCat("net_vhost", port, ",iface=", directory, "/vhost", port,
                              ".sock,queues=1");
        },
    .generator =
        [](int port, const std::string& directory) {
          return absl::StrCat("net_virtio_user", port, ",path=", directory, "/vhost", port,
                              ".sock,queues=1,queue_size=1024");
        }};

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

// SPDX-License-Identifier: Apache-2.0
// The smallest receiver behind an AF_XDP interface: it takes the frames that bfly's XDP program
// hands over, and counts them. Usage: xdp_receiver mac|ipv4 INTERFACE. 16 rows; ipv4:
// 10.77.0.16/28. It prints "ready" and then one line of JSON for every line on stdin, and ends with
// stdin.
#include <poll.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <string>

#include "dataplane/ports/ethdev.h"
#include "dataplane/ports/frame_pool.h"
#include "dataplane/runtime/eal.h"

namespace bfly::dataplane {
namespace {

void PrintCounters(uint64_t received, const XdpCounters& xdp) {
  std::cout << "{\"received\": " << received << ", \"rows\": {";
  const char* comma = "";
  for (const XdpCounters::RowCount& count : xdp.rows) {
    std::cout << comma << '"' << count.row << "\": " << count.packets;
    comma = ", ";
  }
  std::cout << "}, \"actions\": {";
  comma = "";
  for (const XdpCounters::ActionCount& count : xdp.actions) {
    std::cout << comma << '"' << count.name << "\": " << count.packets;
    comma = ", ";
  }
  std::cout << "}}" << std::endl;
}

int Main(const std::string& mode, const std::string& interface) {
  if (const auto eal = StartEal({.memory_mb = 64, .use_hugepages = false}); !eal.ok()) {
    std::cerr << eal.status() << "\n";
    return 1;
  }
  FabricConfig config;
  config.mbufs = 8192;
  config.ports.resize(1);
  config.ports[0].device = "net_af_xdp";  // its pools are special
  auto pool = MakeFramePool("receiver", config);
  if (!pool.ok()) {
    std::cerr << pool.status() << "\n";
    return 1;
  }
  EthdevConfig device;
  device.field = "port";
  device.device = "net_af_xdp,iface=" + interface;
  device.pool = pool->get();
  device.edge.frames.rows = 16;
  device.edge.frames.tags = TagLayout::Of(8, 1);
  if (mode == "ipv4") {
    device.edge.frames.mode = AddressingMode::kIpv4Prefix;
    device.edge.frames.ipv4_base = 0x0a4d0010;
    device.edge.frames.ipv4_addresses = 16;
  }
  const auto port = Ethdev::Open(device);
  if (!port.ok()) {
    std::cerr << port.status() << "\n";
    return 1;
  }
  std::cout << "ready" << std::endl;

  uint64_t received = 0;
  for (;;) {
    rte_mbuf* frames[32];
    const uint16_t count = rte_eth_rx_burst((*port)->id(), 0, frames, 32);
    rte_pktmbuf_free_bulk(frames, count);
    received += count;
    if (count != 0) continue;
    // The ring is empty: wait a millisecond.
    pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    if (poll(&input, 1, 1) <= 0) continue;
    char line[64];
    if (read(STDIN_FILENO, line, sizeof(line)) <= 0) return 0;
    PrintCounters(received, (*port)->xdp());
  }
}

}  // namespace
}  // namespace bfly::dataplane

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: xdp_receiver mac|ipv4 INTERFACE\n";
    return 2;
  }
  return bfly::dataplane::Main(argv[1], argv[2]);
}

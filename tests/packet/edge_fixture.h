// SPDX-License-Identifier: Apache-2.0
// Host ports over rings whose other ends the test holds. Between the ports is the slowest possible
// fabric: it walks each packet through the wiring hop by hop.
#pragma once

#include <gtest/gtest.h>
#include <rte_mbuf.h>

#include <memory>
#include <string>
#include <vector>

#include "dataplane/core/route_table.h"
#include "dataplane/ports/egress.h"
#include "dataplane/ports/frame_pool.h"
#include "dataplane/ports/host_port.h"
#include "tests/packet/frame_bytes.h"
#include "tests/packet/ring_peer.h"

namespace bfly::dataplane {

class EdgeTest : public testing::Test {
 protected:
  struct Setup {
    uint32_t rows = 16;
    AddressingConfig addressing = {};
    std::vector<std::vector<Row>> ports;  // rows of each port
    std::vector<std::string> devices =
        {};  // of each port; "" or missing: a ring whose end the test holds
    bool translate_mac = true;
    WithoutCircuit without_circuit = WithoutCircuit::kBestEffort;
    uint32_t max_frame_bytes = 1518;
    unsigned ring = 1024;
    uint32_t mbufs = 4095;
  };

  ~EdgeTest() override;
  void Build(const Setup& setup);

  void Send(int port, const Bytes& frame, size_t piece = 1 << 16) {
    peers_[port]->Send(pool_.get(), frame, piece);
  }
  std::vector<Bytes> Take(int port) { return peers_[port]->Take(); }

  // Passes of a worker that runs every stage: receives at most `room` from each port, walks, sends.
  // Conservation is asserted after each.
  void Run(int passes = 1, int room = kBurst);
  uint64_t dropped(DropReason reason) const { return ledger_.dropped[static_cast<int>(reason)]; }
  PortCounters counters(int port) const { return ports_[port]->counters(); }
  HostInlet& inlet(int port) { return ports_[port]->inlet(0); }
  HostTransmitter& transmitter(int port) { return ports_[port]->transmitter(0); }
  void InstallCircuit(Row input, Tag tag) { routes_->Install(input, tag); }

  Ledger ledger_;
  std::unique_ptr<Egress> egress_;
  std::vector<Descriptor> seen_;  // every descriptor that entered

 private:
  std::unique_ptr<Network> network_;
  std::unique_ptr<RouteTable> routes_;
  std::vector<Row> attached_;
  FramePool pool_;
  std::vector<std::unique_ptr<RingPeer>> peers_;
  std::vector<std::unique_ptr<HostPort>> ports_;
};

}  // namespace bfly::dataplane

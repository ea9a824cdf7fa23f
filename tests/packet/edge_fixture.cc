// SPDX-License-Identifier: Apache-2.0
#include "tests/packet/edge_fixture.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace bfly::dataplane {

void EdgeTest::Build(const Setup& setup) {
  auto network = Network::Make({.kind = NetworkKind::kButterfly, .rows = setup.rows});
  ASSERT_TRUE(network.ok());
  network_ = std::make_unique<Network>(*std::move(network));
  routes_ = std::make_unique<RouteTable>(*network_, setup.without_circuit);
  FabricConfig config;
  config.max_frame_bytes = setup.max_frame_bytes;
  config.mbufs = setup.mbufs;
  auto pool = MakeFramePool("edge_test", config);
  ASSERT_TRUE(pool.ok()) << pool.status();
  pool_ = *std::move(pool);
  egress_ = std::make_unique<Egress>(setup.rows);
  for (const auto& rows : setup.ports) attached_.insert(attached_.end(), rows.begin(), rows.end());
  std::sort(attached_.begin(), attached_.end());
  const HostPortContext context{
      .routes = routes_.get(),
      .rules = MakeFrameRules(*network_, setup.addressing, setup.max_frame_bytes),
      .flood = &attached_,
      .pool = pool_.get()};
  for (size_t i = 0; i < setup.ports.size(); ++i) {
    const bool own = i < setup.devices.size() && !setup.devices[i].empty();
    peers_.push_back(own ? nullptr
                         : std::make_unique<RingPeer>(absl::StrCat("edge", i), setup.ring));
    HostPortConfig port_config;
    port_config.name = absl::StrCat("h", i);
    port_config.device = own ? setup.devices[i] : peers_.back()->device();
    port_config.rows = setup.ports[i];
    port_config.translate_mac = setup.translate_mac;
    auto port = HostPort::Open(absl::StrCat("ports[", i, "]"), port_config, context);
    ASSERT_TRUE(port.ok()) << port.status();
    egress_->Attach(setup.ports[i], &(*port)->transmitter(0));
    ports_.push_back(*std::move(port));
  }
}

void EdgeTest::Run(int passes, int room) {
  for (int pass = 0; pass < passes; ++pass) {
    for (const auto& port : ports_) {
      Descriptor burst[kBurst];
      const int count = port->inlet(0).Receive(burst, room, ledger_);
      ASSERT_LE(count, room);
      for (int i = 0; i < count; ++i) {
        Descriptor& packet = burst[i];
        seen_.push_back(packet);
        ASSERT_LT(packet.row, network_->rows());
        for (int hop = 0; hop < network_->hops(); ++hop, packet.tag <<= 1) {
          packet.row =
              network_->next_row(network_->stage_of_hop(hop), packet.row, packet.tag >> 63);
        }
        ASSERT_EQ(packet.tag, kWireTagDone);
      }
      ASSERT_EQ(egress_->Send(burst, count, ledger_), count);
    }
    egress_->Flush(ledger_);
    ASSERT_EQ(ledger_.injected, ledger_.delivered + ledger_.dropped_total() + egress_->held());
  }
}

// Every buffer is back in the pool once the ports and the peers are gone.
EdgeTest::~EdgeTest() {
  if (egress_ != nullptr) ledger_.Drop(DropReason::kUnloaded, egress_->Discard());
  EXPECT_EQ(ledger_.injected, ledger_.delivered + ledger_.dropped_total());
  ports_.clear();
  peers_.clear();
  if (pool_ != nullptr) {
    EXPECT_EQ(rte_mempool_avail_count(pool_.get()), pool_->size);
  }
}

}  // namespace bfly::dataplane

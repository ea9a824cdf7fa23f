// SPDX-License-Identifier: Apache-2.0
// A trunk: an ethdev that carries the boundary after one stage to another data plane. The device's
// MTU must let a host's frame pass with kTrunkOverhead more bytes; Open asks for that, and the
// other end's kernel or peer must allow it too.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "dataplane/core/config.h"
#include "dataplane/core/inlet.h"
#include "dataplane/core/snapshot.h"
#include "dataplane/frames/trunk_frame.h"
#include "dataplane/frames/trunk_sequence.h"
#include "dataplane/ports/attached_device.h"
#include "dataplane/ports/port_queue_counters.h"

namespace bfly::dataplane {

// The sending end. Steers packets over the queues by their destination bits. A queue of the device
// that is full stops the burst: what waits, waits on the links of the stage.
class TrunkOutlet final : public Outlet {
 public:
  TrunkOutlet(const DeviceGate* gate, const TrunkRules& rules, rte_mempool* pool);
  ~TrunkOutlet() override { Discard(); }

  int Send(const Descriptor* burst, int count, Ledger& ledger) override;
  uint64_t held() const override;
  void Flush(Ledger& ledger) override;
  // Numbers of packets that were never sent are given to the next ones: the receiver misses
  // nothing.
  uint64_t Discard() override;

  const PortQueueCounters& counters() const { return counters_; }

 private:
  struct Queue {
    rte_mbuf*
        frames[kBurst];  // with their trunk header, numbered in a row; the first is next to go
    uint32_t count = 0;
    uint64_t sequence = 0;  // of the next packet
  };
  // False: no buffer for it now.
  bool Append(const Descriptor& packet, uint32_t queue, uint64_t now);
  void Transmit(uint32_t queue, Ledger& ledger);

  const DeviceGate* const gate_;
  const TrunkRules rules_;
  rte_mempool* const pool_;
  const double ns_per_tick_;
  const uint32_t session_;
  std::vector<Queue> queues_;
  PortQueueCounters counters_;
};

// The receiving end. Trusts nothing; what the sequence numbers show missing is taken over and
// dropped as kTrunkLost, so that the account over both data planes stays exact. Frames that the
// sender did not send, or that come twice, enter the account and are dropped here.
class TrunkInlet final : public Inlet {
 public:
  TrunkInlet(const DeviceGate* gate, const TrunkRules& rules, rte_mempool* pool);

  int Receive(Descriptor* burst, int room, Ledger& ledger) override;

  const PortQueueCounters& counters() const { return counters_; }

 private:
  bool Admit(rte_mbuf* frame, uint64_t now, Descriptor& out, Ledger& ledger);
  void CountLost(uint64_t packets, Ledger& ledger);

  const DeviceGate* const gate_;
  const TrunkRules rules_;
  rte_mempool* const pool_;
  const double ticks_per_ns_;
  uint16_t next_queue_ = 0;               // polled first, in turn
  std::vector<TrunkSequence> sequences_;  // by the sender's queue
  PortQueueCounters counters_;
};

class Trunk {
 public:
  // `field` is the trunk's place in the config, "trunks[0]"; `pool` and `keeper` outlive the trunk.
  static absl::StatusOr<std::unique_ptr<Trunk>> Open(const std::string& field,
                                                     const TrunkConfig& config,
                                                     const Network& network,
                                                     uint32_t max_frame_bytes, rte_mempool* pool,
                                                     DeviceKeeper* keeper);

  const TrunkConfig& config() const { return config_; }
  // By config().sends one of the two, the other is null.
  TrunkOutlet* outlet() { return outlet_.get(); }
  TrunkInlet* inlet() { return inlet_.get(); }
  PortCounters counters() const;
  std::string problem() const { return device_->problem(); }

 private:
  Trunk() = default;

  TrunkConfig config_;
  std::unique_ptr<AttachedDevice> device_;
  std::unique_ptr<TrunkOutlet> outlet_;
  std::unique_ptr<TrunkInlet> inlet_;
};

}  // namespace bfly::dataplane

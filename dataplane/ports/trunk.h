// SPDX-License-Identifier: Apache-2.0
// A trunk: an ethdev that carries the boundary after one stage to another data plane. The device's
// MTU must let a host's frame pass with kTrunkOverhead more bytes. Open sets the MTU, and raises
// that of a kernel interface; the other end's kernel or peer must allow it too.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "dataplane/core/config.h"
#include "dataplane/core/inlet.h"
#include "dataplane/core/port_status.h"
#include "dataplane/core/snapshot.h"
#include "dataplane/frames/trunk_frame.h"
#include "dataplane/frames/trunk_sequence.h"
#include "dataplane/in_band/program_wire.h"
#include "dataplane/ports/attached_device.h"
#include "dataplane/ports/port_queue_counters.h"
#include "dataplane/ports/trunk_wire.h"

namespace bfly::dataplane {

// The sending end distributes packets over the queues by their rows. One worker uses an outlet and
// all queues that packets given to the outlet need. If a queue of the device is full, the burst
// ends at the packet for that queue, and the rest waits on the links of the stage. A queue that has
// taken no packet for 100 ms counts as dead: until it takes a packet again, the outlet drops the
// packets for it as kPortFull in the pass that brings them, and packets for other queues pass.
class TrunkOutlet final : public Outlet {
 public:
  TrunkOutlet(const DeviceGate* gate, const TrunkRules& rules, rte_mempool* pool);
  ~TrunkOutlet() override { Discard(); }

  int Send(const Descriptor* burst, int count, Ledger& ledger) override;
  uint64_t held() const override;
  void Flush(Ledger& ledger) override;
  // The numbers of packets that were never sent go to the next packets, so the receiver misses
  // none.
  uint64_t Discard() override;

  const PortQueueCounters& counters() const { return counters_; }

 private:
  struct Queue {
    rte_mbuf*
        frames[kBurst];  // with their trunk header and consecutive numbers; the first goes next
    uint32_t count = 0;
    uint64_t sequence = 0;  // the number of the next packet
    // TSC of the first attempt in a row in which the device took no packet; 0: it takes packets.
    uint64_t stuck_since = 0;
  };
  // Returns false if there is no buffer for the packet now.
  bool Append(const Descriptor& packet, uint32_t queue, uint64_t now);
  void Transmit(uint32_t queue, Ledger& ledger);
  // The device took no packet of the queue. Drops the packets if the queue is dead.
  void WaitOrGiveUp(Queue& queue, Ledger& ledger);
  // Frees the packets of the queue and returns how many there were.
  static uint64_t Empty(Queue& queue);

  const DeviceGate* const gate_;
  const TrunkRules rules_;
  rte_mempool* const pool_;
  const double ns_per_tick_;
  const uint64_t patience_;  // in TSC ticks
  const uint32_t session_;
  std::vector<Queue> queues_;
  PortQueueCounters counters_;
};

// The receiving end trusts nothing. Packets that the sequence numbers show to be missing are
// counted as received and dropped as kTrunkLost, so that the account over both data planes stays
// exact. Frames that the sender did not send, or that come twice, are counted as received and
// dropped too.
class TrunkInlet final : public Inlet {
 public:
  // The inlet polls the queues `queues` of the device. `keeps_queues`: the device delivers a frame
  // at the queue pair at which the frame was sent; a frame that names another queue pair does not
  // come from the sender. `joins` as in TrunkConfig.
  TrunkInlet(const DeviceGate* gate, const TrunkRules& rules, rte_mempool* pool,
             std::vector<uint16_t> queues, bool keeps_queues, bool joins);

  int Receive(Descriptor* burst, int room, Ledger& ledger) override;
  // Sets where frames with messages of programs go. Call it before the worker starts. Without this
  // call such frames are dropped.
  void SetProgramFrames(ProgramFrames* to) { program_frames_ = to; }

  const PortQueueCounters& counters() const { return counters_; }

 private:
  bool Admit(rte_mbuf* frame, uint16_t queue, uint64_t now, Descriptor& out, Ledger& ledger);
  // Returns whether it takes the frame. It then frees the frame.
  bool TakeMessages(rte_mbuf* frame, DropReason& reason);
  void CountLost(uint64_t packets, Ledger& ledger);

  const DeviceGate* const gate_;
  const TrunkRules rules_;
  rte_mempool* const pool_;
  const std::vector<uint16_t> queues_;
  const bool keeps_queues_;
  ProgramFrames* program_frames_ = nullptr;
  const double ticks_per_ns_;
  // Index of the queue that is polled first. A pass over all queues leaves it where it was.
  size_t next_ = 0;
  // Index of the queue whose missing packets Receive asked for last. Each call asks for another.
  size_t quiet_ = 0;
  std::vector<TrunkSequence> sequences_;  // one for each queue of the sender
  PortQueueCounters counters_;
};

// The worker that has `row` at the stage before or behind a trunk.
using WorkerOfRow = std::function<int(Row)>;

// For each queue pair of a trunk: the worker that has the first of its rows. For a queue pair
// without rows, the worker of row 0.
std::vector<int> WorkersOfTrunkQueues(const TrunkRules& rules, const WorkerOfRow& worker_of);

class Trunk {
 public:
  // A way in for one worker.
  struct WayIn {
    int worker = 0;
    std::vector<Row> rows;  // the rows at which its packets may begin
    std::unique_ptr<TrunkInlet> inlet;
  };
  // A way out for one worker.
  struct WayOut {
    int worker = 0;
    std::vector<Row> rows;  // the rows at which its packets begin behind the trunk
    std::unique_ptr<TrunkOutlet> outlet;
  };

  // `field` is the trunk's place in the config, "trunks[0]". `pool` and `keeper` must outlive the
  // trunk. `worker_of` tells the workers of `after_stage` at the sending end, and of the next stage
  // at the receiving end. Each worker sends on the queue pairs whose first row it has. If the
  // device keeps queues apart (KeepsQueues), or does so by flow rules, each worker also receives
  // only from these queue pairs. Otherwise the worker of row 0 receives from all queue pairs.
  static absl::StatusOr<std::unique_ptr<Trunk>> Open(const std::string& field,
                                                     const TrunkConfig& config,
                                                     const Network& network,
                                                     uint32_t max_frame_bytes, rte_mempool* pool,
                                                     DeviceKeeper* keeper,
                                                     const WorkerOfRow& worker_of);

  const TrunkConfig& config() const { return config_; }
  // A trunk that sends has ways out, and one that receives has ways in. The first way has row 0 and
  // queue pair 0, and the messages of programs use it.
  const std::vector<WayOut>& ways_out() const { return ways_out_; }
  const std::vector<WayIn>& ways_in() const { return ways_in_; }
  // How frames come to their workers at the receiving end; kNone at the sending end.
  Steering steering() const { return steering_; }
  TrunkWire* wire() { return wire_.get(); }
  PortCounters counters() const;
  std::string problem() const { return device_->problem(); }
  bool link_up() const { return device_->link_up(); }

 private:
  Trunk() = default;

  TrunkConfig config_;
  std::unique_ptr<AttachedDevice> device_;
  Steering steering_ = Steering::kNone;
  std::vector<WayOut> ways_out_;
  std::vector<WayIn> ways_in_;
  std::unique_ptr<TrunkWire> wire_;
};

}  // namespace bfly::dataplane

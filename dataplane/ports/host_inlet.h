// SPDX-License-Identifier: Apache-2.0
// Brings frames from a receive queue of a host port into the fabric.
#pragma once

#include <atomic>
#include <vector>

#include "dataplane/core/inlet.h"
#include "dataplane/core/route_table.h"
#include "dataplane/frames/frame.h"
#include "dataplane/ports/device_gate.h"
#include "dataplane/ports/learned_mac.h"
#include "dataplane/ports/port_queue_counters.h"
#include "dataplane/taps/tap_table.h"

struct rte_mempool;

namespace bfly::dataplane {

struct HostInletConfig {
  const DeviceGate* gate = nullptr;
  uint16_t queue = 0;
  FrameRules rules;
  const RouteTable* routes = nullptr;
  std::vector<Row> rows;                    // the rows that are attached to this port
  const std::vector<Row>* flood = nullptr;  // all rows that are attached to any port, ascending
  rte_mempool* pool = nullptr;              // the pool from which copies of frames are made
  // Frames come from a kernel, which may have left the checksum to the device.
  bool kernel_interface = false;
  LearnedMac* learned = nullptr;  // null: no address translation
  bool several_workers = false;   // other workers return buffers that this worker takes
};

class HostInlet final : public Inlet {
 public:
  explicit HostInlet(HostInletConfig config);
  ~HostInlet() override;

  int Receive(Descriptor* burst, int room, Ledger& ledger) override;

  // Control: from now on the table's taps note the packets that come in, by input row. Null: no tap
  // does. The worker may use the previous table until it has answered its epoch.
  void SetTaps(const TapTable* taps) { taps_.store(taps, std::memory_order_release); }
  // Control: broadcasts go to these rows, ascending, from the worker's next take-up on. The worker
  // may use the previous list until it has answered its epoch.
  void SetFlood(const std::vector<Row>* rows) {
    offered_flood_.store(rows, std::memory_order_release);
  }
  Inlet* Front() override;
  void Leave(Ledger& ledger) override;

  const PortQueueCounters& counters() const { return counters_; }

 private:
  // The worker polls this wrapper while the inlet is tapped, so that an inlet without taps checks
  // nothing per burst.
  class Tapped final : public Inlet {
   public:
    explicit Tapped(HostInlet& inlet) : inlet_(inlet) {}
    int Receive(Descriptor* burst, int room, Ledger& ledger) override;

   private:
    HostInlet& inlet_;
  };

  // Admits frames, at most `room`, up to the first frame that is not plain or needs more than a
  // route. Returns the number of descriptors written. Admit decides on the frame that it stops at.
  int AdmitPlain(uint64_t now, Descriptor* out, int room, Ledger& ledger);
  // Sets the input that InputOf gives to a frame that names no input.
  bool PlainInputOf(MacAddress from, Row& input) const {
    if (single_row_) {
      input = config_.rows[0];
      return true;
    }
    input = RowOfMac(from);
    return IsRowMac(from) && input < attached_.size() && attached_[input] != 0;
  }
  // Decides on the frame: writes it to `burst`, drops it, or keeps it as the flood in progress.
  // Returns the number of descriptors written.
  int Admit(rte_mbuf* frame, uint64_t now, Descriptor* out, Ledger& ledger);
  void TakeUpFlood();
  // Copies the flood in progress to the next rows. Returns the number of descriptors written.
  int ContinueFlood(uint64_t now, Descriptor* burst, int room, Ledger& ledger);
  static int Inject(rte_mbuf* frame, Row input, Route route, uint64_t now, Descriptor* out);
  int Reject(rte_mbuf* frame, DropReason reason, Ledger& ledger);
  bool InputOf(const uint8_t* frame, const Verdict& verdict, Row& input) const;

  const HostInletConfig config_;
  const bool single_row_;
  const bool reads_plain_;         // frames go to rows by MAC address
  std::vector<uint8_t> attached_;  // for each row, 1 if it is attached to this port, otherwise 0;
                                   // empty for a port of one row
  PortQueueCounters counters_;

  // Frames that were received and are not admitted yet: frames_[next_ .. count_). They do not count
  // as injected.
  rte_mbuf* frames_[kBurst];
  int next_ = 0;
  int count_ = 0;

  // A frame that is being copied to one row after another, and its place in the list of rows.
  rte_mbuf* flooding_ = nullptr;
  Row flood_input_ = 0;
  size_t flood_next_ = 0;
  const std::vector<Row>* flood_;                       // worker only
  std::atomic<const std::vector<Row>*> offered_flood_;  // control: writes, worker: acquire loads

  Tapped tapped_{*this};
  std::atomic<const TapTable*> taps_{nullptr};  // control: writes, worker: acquire loads
};

}  // namespace bfly::dataplane

// SPDX-License-Identifier: Apache-2.0
// The ways by which packets of a schedule turn back, from the last stage to the gates of the input
// rows. They are open from the start of a schedule that sends packets by an intermediate row until
// the last such packet has turned back. Workers look for packets that turn back only while they are
// open.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "dataplane/core/ring.h"
#include "dataplane/fabric/worker.h"
#include "dataplane/ports/egress.h"
#include "dataplane/runtime/grace_period.h"
#include "dataplane/slots/slot_gate.h"
#include "dataplane/slots/turn_back.h"

namespace bfly::dataplane {

class WaysBack {
 public:
  // `workers` are all workers of the fabric, which must outlive the object.
  explicit WaysBack(const Workers& workers) : workers_(workers) {}
  ~WaysBack() { StopWaiting(); }

  // AddGate adds the gate of some rows, and AddWayOut a way out of the fabric. Call them before the
  // workers start.
  void AddGate(SlotGate* gate, Worker* gate_worker) {
    gates_.push_back(gate);
    gate_workers_.push_back(gate_worker);
  }
  void AddWayOut(Egress* way_out) { ways_out_.push_back(way_out); }
  bool lead_anywhere() const { return !ways_out_.empty(); }
  // The bytes that Open would take. The ways keep them until the workers have ended.
  uint64_t MemoryNeed() const;
  // How many packets were dropped because a way was full.
  uint64_t dropped() const;

  // Opens the ways. Packets may be sent by an intermediate row when it returns.
  void Open();
  // Closes the ways when the last packet has turned back. After `last_entered` no packet is sent by
  // an intermediate row until Open is called.
  void CloseWhenEmpty(GracePeriod last_entered);
  bool open() const;

  // Call it after the workers stopped: drops the packets that are turning back.
  void Discard();

 private:
  void Make();
  // Ends the thread that waits for the last packet.
  void StopWaiting();
  void WaitForLast(const std::stop_token& stop);
  // Returns false while a packet may be on its way. The caller holds mutex_.
  bool CloseIfEmpty();
  bool IsEmpty() const;
  void SetOpen(bool open);

  const Workers& workers_;
  std::vector<SlotGate*> gates_;
  std::vector<Worker*> gate_workers_;  // the worker of each gate
  std::vector<Egress*> ways_out_;
  mutable std::mutex mutex_;  // guards the members below; no worker takes it
  std::condition_variable_any changed_;
  bool open_ = false;
  bool closing_ = false;  // when the last packet has turned back
  GracePeriod last_entered_;
  // These exist from the first Open until the workers have ended.
  std::vector<std::unique_ptr<Ring>> rings_;
  std::vector<std::unique_ptr<TurnBackOut>> ways_;  // one for each way out
  std::jthread waiting_;
};

}  // namespace bfly::dataplane

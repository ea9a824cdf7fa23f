// SPDX-License-Identifier: Apache-2.0
// The ways into a segment: its inlets, which are polled in turn, and the gate that may hold packets
// back until their slot is on.
#pragma once

#include <vector>

#include "dataplane/core/account.h"
#include "dataplane/core/inlet.h"
#include "dataplane/slots/slot_gate.h"
#include "dataplane/telemetry/worker_cost.h"

namespace bfly::dataplane {

// One worker uses it.
class Entrances {
 public:
  void Add(Inlet* inlet, bool trunk) {
    inlets_.push_back({inlet, trunk, !inlet->within_worker()});
    behind_.push_back(inlet);
    within_worker_ = within_worker_ || inlet->within_worker();
  }
  void SetGate(SlotGate* gate) { gate_ = gate; }
  // Whether packets come from other segments of the same worker.
  bool within_worker() const { return within_worker_; }

  // Takes a burst from each inlet in turn until `room` is filled or a whole round found nothing.
  // With `leaves`, frames that leave the fabric here go through a burst at a time, so that they are
  // still in the core's nearest cache when a device sends and frees them.
  int Gather(Descriptor* batch, int room, bool leaves, Account& account);

  // Takes up what the gate and the inlets were given last. Call it before the worker answers its
  // epoch.
  void Refresh(Ledger& ledger);
  // Packets that wait for their slot.
  uint64_t waiting() const { return waiting_; }
  // The TSC at which a packet is due, as far as inlets and gate know.
  uint64_t NextDue() const;
  // Frees the packets that wait and returns how many there were.
  uint64_t Discard();

  // Any thread: polls of inlets, without those whose packets come from this worker.
  const PollMeter& polls() const { return polls_; }

 private:
  struct Entrance {
    Inlet* inlet;  // behind_->Front()
    bool trunk;
    bool counted;  // its polls
  };
  int GatherBySlots(Descriptor* batch, int room, Account& account);
  int ReceiveFrom(const Entrance& from, Descriptor* packets, int room, Account& account);

  std::vector<Entrance> inlets_;
  std::vector<Inlet*> behind_;  // by inlet, as they were added
  bool within_worker_ = false;
  size_t next_inlet_ = 0;  // polled first, in turn, so that none starves
  SlotGate* gate_ = nullptr;
  bool gated_ = false;    // the gate is in use
  uint64_t waiting_ = 0;  // at the gate
  PollMeter polls_;
};

}  // namespace bfly::dataplane

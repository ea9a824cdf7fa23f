// SPDX-License-Identifier: Apache-2.0
// The ways into a segment: its inlets, which are polled in turn, and the gate that may hold packets
// back until their slot is on.
#pragma once

#include <memory>
#include <vector>

#include "dataplane/core/account.h"
#include "dataplane/core/inlet.h"
#include "dataplane/runtime/replaceable.h"
#include "dataplane/slots/slot_gate.h"
#include "dataplane/telemetry/worker_cost.h"

namespace bfly::dataplane {

// One worker uses it.
class Entrances {
 public:
  // Before the worker starts.
  void Add(Inlet* inlet, bool trunk) { doors_.BeforeStart().Add(inlet, trunk); }
  // Control: whether the inlet is polled, or will be.
  bool Has(const Inlet* inlet) const;
  // Control, one thread at a time: from its next take-up on the worker polls `added` too, and no
  // longer polls `removed`. Returns what must stay until the worker has answered its epoch.
  std::shared_ptr<const void> Change(const std::vector<Inlet*>& added,
                                     const std::vector<Inlet*>& removed);
  void SetGate(SlotGate* gate) { gate_ = gate; }
  // Whether packets come from other segments of the same worker.
  bool within_worker() const { return doors_.current().within_worker; }

  // Takes a burst from each inlet in turn until `room` is filled or a whole round found nothing.
  // With `leaves`, frames that leave the fabric here go through a burst at a time, so that they are
  // still in the core's nearest cache when a device sends and frees them.
  int Gather(Descriptor* batch, int room, bool leaves, Account& account);
  // The same for links that take time. An only inlet gives its packets in order (inlet.h).
  int GatherForTimed(Descriptor* batch, int room, Account& account);

  // Takes up the schedule and the inlets that control published last. Call it before the worker
  // answers its epoch.
  void Refresh(Ledger& ledger);
  // Packets that wait for their slot.
  uint64_t waiting() const { return waiting_; }
  // The TSC at which the next packet is due, as far as the inlets and the gate know.
  uint64_t NextDue() const;
  // No packet comes that arrived before this TSC. UINT64_MAX: it is unknown, or no packet will
  // come. It is known if the only inlet knows when its next packet is due, as one with built-in
  // sources does. If several inlets did, one that is always behind would hold back the packets of
  // others.
  uint64_t NoneBefore() const {
    const Doors& doors = doors_.current();
    return gated_ || doors.inlets.size() != 1 ? UINT64_MAX : doors.inlets[0].inlet->NextDue();
  }
  // Frees the packets that wait and returns how many there were.
  uint64_t Discard();

  // Any thread: polls of inlets, without those whose packets come from this worker.
  const PollMeter& polls() const { return polls_; }

 private:
  struct Entrance {
    Inlet* inlet;  // behind[i]->Front()
    bool trunk;
    bool counted;  // whether its polls are counted
  };
  struct Doors {
    std::vector<Entrance> inlets;
    std::vector<Inlet*> behind;  // the inlets as they were added, in the order of `inlets`
    bool within_worker = false;

    void Add(Inlet* inlet, bool trunk) {
      inlets.push_back({inlet, trunk, !inlet->within_worker()});
      behind.push_back(inlet);
      within_worker = within_worker || inlet->within_worker();
    }
  };
  void Replace(const Doors& old, const Doors& next, Ledger& ledger);
  int GatherBySlots(Descriptor* batch, int room, Account& account);
  int ReceiveFrom(const Entrance& from, Descriptor* packets, int room, bool in_order,
                  Account& account);

  Replaceable<Doors> doors_{std::make_shared<Doors>()};
  // The inlet that is polled first; it changes in turn, so that no inlet starves.
  size_t next_inlet_ = 0;
  SlotGate* gate_ = nullptr;
  bool gated_ = false;    // the gate is in use
  uint64_t waiting_ = 0;  // packets that wait at the gate
  PollMeter polls_;
};

}  // namespace bfly::dataplane

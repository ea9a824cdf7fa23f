// SPDX-License-Identifier: Apache-2.0
// The seam between the stages and everything that feeds or empties them: host ports, trunks, rings
// from other workers, built-in sources and sinks. One virtual call per burst, never per packet.
#pragma once

#include "dataplane/core/descriptor.h"
#include "dataplane/core/ledger.h"

namespace bfly::dataplane {

// An inlet gives descriptors to a worker's first stage. Only one worker calls it.
class Inlet {
 public:
  virtual ~Inlet() = default;
  // Fills at most `room` (<= kBurst) descriptors and returns how many. Each descriptor is ready for
  // its stage: its tag is in wire form, and its row is inside the network. Counts in `ledger` the
  // packets that it injected, took over or dropped; a dropped frame is counted as injected and as
  // dropped.
  virtual int Receive(Descriptor* burst, int room, Ledger& ledger) = 0;
  // The same, for links that take time and get packets from this inlet alone. An inlet that knows
  // when its packets were due gives them in the order of these times, over all calls.
  virtual int ReceiveInOrder(Descriptor* burst, int room, Ledger& ledger) {
    return Receive(burst, room, ledger);
  }
  // The TSC at which the next packet is due, if the inlet knows it (a paced source): an idle worker
  // does not sleep longer, and packets that arrive at a link later may wait for it. UINT64_MAX: it
  // is unknown, or no packet will come.
  virtual uint64_t NextDue() const { return UINT64_MAX; }
  // Worker: returns the inlet to poll from the next take-up (worker.h) on: this one, or one that
  // wraps it.
  virtual Inlet* Front() { return this; }
  // Worker: drops the packets that the inlet has received and not given out. This is the last call.
  virtual void Leave(Ledger&) {}
  // Whether its packets come from another segment of the same worker.
  virtual bool within_worker() const { return false; }
};

// How long an outlet waits for a device that takes nothing.
inline constexpr double kOutletPatienceSeconds = 0.1;

// An outlet takes descriptors from a worker's last stage. Only one worker calls it.
class Outlet {
 public:
  virtual ~Outlet() = default;
  // Takes a prefix of the burst and returns its length; the rest still belongs to the caller, which
  // offers it again (backpressure). A descriptor that was taken belongs to the outlet, which counts
  // it in `ledger` as delivered, handed on or dropped.
  virtual int Send(const Descriptor* burst, int count, Ledger& ledger) = 0;
  // The descriptors that were taken but neither delivered nor handed on yet. They are part of the
  // worker's `held`.
  virtual uint64_t held() const { return 0; }
  // Takes up what control offered. The worker calls it before it answers its epoch.
  virtual void TakeUp(Ledger&) {}
  // Called once per pass. Pushes out the buffered packets.
  virtual void Flush(Ledger&) {}
  // Called once per pass that changed the worker's account, after the account was published.
  virtual void HandOver() {}
  // Frees the packets that are held and returns how many there were. It is the last call: after the
  // worker stopped, or by the worker when it gives up this way out.
  virtual uint64_t Discard() { return 0; }
};

}  // namespace bfly::dataplane

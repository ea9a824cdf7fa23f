// SPDX-License-Identifier: Apache-2.0
// A lane is one way out of a segment: a ring to another worker, a later segment of the same worker,
// a trunk, or the egress of this worker, with the packets that were not taken yet.
#pragma once

#include <memory>

#include "dataplane/core/account.h"
#include "dataplane/core/descriptor.h"
#include "dataplane/core/inlet.h"
#include "dataplane/core/ring.h"
#include "dataplane/stages/stage.h"

namespace bfly::dataplane {

// The packets that a segment takes in at once. There are more of them than kBurst, so that
// publishing and polling cost little per packet.
inline constexpr int kBatch = 4 * kBurst;

// A lane shares no cache line with data that another worker writes.
class alignas(RTE_CACHE_LINE_SIZE) Lane {
 public:
  // For packets to another worker. `last` is the stage on whose links the packets wait if the ring
  // is full (null: they wait on no link). A link with a queue limit keeps at most that many
  // packets; the others are dropped.
  static Lane ToRing(Ring* ring, Stage* last);
  // For packets to a later segment of the same worker, which takes them in the same pass through a
  // LocalInlet. Until then they count as held.
  static Lane ToLater(Stage* last);
  // For packets to another data plane. They wait as packets for a ring do. But a trunk that has
  // neither sent nor given up a packet for 100 ms counts as dead: until it does so again, the lane
  // drops its packets as kPortFull. A TrunkOutlet gives up the packets of its dead queues itself,
  // so to the lane a trunk is dead only if there are no buffers.
  static Lane ToTrunk(Outlet* outlet, Stage* last);
  // For packets that leave the fabric here.
  static Lane ToEgress(Outlet* outlet);

  // While true the segment takes no new input, so a batch always finds the lane empty.
  bool blocked() const { return count_ > 0; }

  // How many packets may be added.
  int room() const { return kBatch - static_cast<int>(count_); }

  // Where a segment may build its batch in place.
  Descriptor* batch() { return waiting_.get(); }
  uint32_t* batch_links() { return links_.get(); }  // null if occupancy is not counted
  bool notes_links() const { return links_ != nullptr; }
  void SetCount(int count) { count_ = static_cast<uint32_t>(count); }
  // Adds a batch behind the packets in the lane. `links` is as in batch_links(); it is null if the
  // packets left their links.
  void Append(const Descriptor* batch, const uint32_t* links, int count);
  static constexpr uint32_t kNoLink = UINT32_MAX;
  // Adds one packet. If batch_links() is not null, the caller gives the packet's link too, or
  // kNoLink.
  void Add(const Descriptor& d) { waiting_[count_++] = d; }
  void Add(const Descriptor& d, uint32_t link) {
    links_[count_] = link;
    waiting_[count_++] = d;
  }

  bool leaves_fabric() const { return kind_ == Kind::kEgress; }
  // In a lane to the egress: gives the egress all packets at once. Settle, later in the pass, makes
  // the egress send the packets that it still buffers.
  void SendOut(Ledger& ledger) { RemoveFront(OfferToOutlet(ledger)); }

  // Call it before the worker answers its epoch.
  void TakeUp(Ledger& ledger) {
    if (outlet_ != nullptr) outlet_->TakeUp(ledger);
  }

  // A lane to a later segment gives out at most `room` packets.
  uint32_t Take(Descriptor* burst, uint32_t room);

  // Once a pass, after the segments ran: gives outlets the packets that they take, and promises
  // rings the packets for which they have room. Promised packets count as handed on, but are pushed
  // only after the account is published, so that no reader sees a packet as taken over before it
  // sees it as handed on.
  void Settle(Account& account);
  // Called once a pass, after the account was published.
  void HandOver();
  // How many packets are in the lane after Settle. They are part of the worker's `held`.
  uint64_t held() const { return count_ - promised_ + (outlet_ != nullptr ? outlet_->held() : 0); }

  // Called after the worker stopped. Frees the packets that wait and returns how many there were.
  uint64_t Discard();

 private:
  enum class Kind : uint8_t { kRing, kLater, kTrunk, kEgress };
  Lane(Kind kind, Ring* ring, Outlet* outlet, Stage* last);

  // Returns how many of the packets the outlet took.
  uint32_t OfferToOutlet(Ledger& ledger);
  void SendToOutlet(Account& account);
  void RemoveFront(uint32_t taken);
  void CountOccupancy(Ledger& ledger);
  void ForgetOccupancy();

  Kind kind_;
  bool dead_ = false;      // the lane leads to a trunk that stopped taking packets
  bool occupied_ = false;  // the lane counts in the occupancy of some link
  uint32_t count_ = 0;
  uint32_t promised_ = 0;  // packets promised to the ring
  uint32_t taken_ = 0;  // packets that a later segment took in this pass; still included in count_
  // The trunk has neither sent nor given up a packet in the latest passes: TSC at the end of the
  // first and of the last of them. stuck_since_ is 0 if the last pass sent or gave up a packet, or
  // had none.
  uint64_t stuck_since_ = 0;
  uint64_t stuck_until_ = 0;
  Ring* ring_;
  Outlet* outlet_;
  Stage* last_;
  std::unique_ptr<Descriptor[]> waiting_;  // room for kBatch packets
  // For each packet, the link of `last_` on which it waits; or null.
  std::unique_ptr<uint32_t[]> links_;
  // The link of each packet that this lane counts in an occupancy. On a second pass over the stages
  // another lane counts on the same links.
  std::unique_ptr<uint32_t[]> counted_;
  uint32_t counted_packets_ = 0;
};

// The other end of a ring.
class RingInlet final : public Inlet {
 public:
  explicit RingInlet(Ring* ring) : ring_(ring) {}
  int Receive(Descriptor* burst, int room, Ledger& ledger) override {
    const uint32_t n = ring_->Pop(burst, static_cast<uint32_t>(room));
    ledger.taken_over += n;
    return static_cast<int>(n);
  }

 private:
  Ring* ring_;
};

}  // namespace bfly::dataplane

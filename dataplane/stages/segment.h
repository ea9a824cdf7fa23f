// SPDX-License-Identifier: Apache-2.0
// A segment: consecutive hops over which one worker carries a batch before it takes the next batch.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "dataplane/core/account.h"
#include "dataplane/stages/entrances.h"
#include "dataplane/stages/fused_stages.h"
#include "dataplane/stages/lane.h"
#include "dataplane/stages/stage.h"
#include "dataplane/telemetry/lateness.h"
#include "dataplane/telemetry/worker_cost.h"

namespace bfly::dataplane {

// A segment shares no cache line with data that another worker writes.
class alignas(RTE_CACHE_LINE_SIZE) Segment {
 public:
  // `hops` may be empty: such a segment only moves packets between a port queue and another worker.
  explicit Segment(std::vector<Stage*> hops)
      : hops_(std::move(hops)),
        fused_(hops_.size()),
        samples_(std::make_unique<Samples[]>(hops_.size())),
        arriving_{std::make_unique<Descriptor[]>(kBatch), std::make_unique<Descriptor[]>(kBatch)},
        links_(std::make_unique<uint32_t[]>(kBatch)) {}

  void AddInlet(Inlet* inlet, bool trunk) { entrances_.Add(inlet, trunk); }
  // Sets the gate that may hold packets back before the first hop.
  void SetGate(SlotGate* gate) { entrances_.SetGate(gate); }
  // Takes up what control last published for the gate, the inlets and the ways out. Call it before
  // the worker answers its epoch.
  void Refresh(Ledger& ledger) {
    entrances_.Refresh(ledger);
    for (Lane& lane : lanes_) lane.TakeUp(ledger);
  }
  // Control: see Entrances.
  bool HasInlet(const Inlet* inlet) const { return entrances_.Has(inlet); }
  std::shared_ptr<const void> ChangeInlets(const std::vector<Inlet*>& added,
                                           const std::vector<Inlet*>& removed) {
    return entrances_.Change(added, removed);
  }
  void AddLane(Lane lane) { lanes_.push_back(std::move(lane)); }
  size_t lanes() const { return lanes_.size(); }
  Lane& lane(size_t index) { return lanes_[index]; }
  // The lanes for packets that crossed the last hop. A packet at `row` goes to one of the lanes of
  // groups[group_of_row[row]]; packets of one input always go to the same lane. If packets wait in
  // the lanes on links, every group has one lane. A segment without groups uses lane 0.
  struct LaneGroups {
    std::vector<uint16_t> group_of_row;
    std::vector<std::vector<uint16_t>> groups;
  };
  void SetLaneGroups(LaneGroups lane_groups);
  // Set if packets cross the same stages several times. A packet that crossed hop h of the network
  // goes on at hop `index` of next_hops[h].segment, or to that segment's lanes if `index` is one
  // past its last hop.
  struct NextHop {
    Segment* segment = nullptr;
    size_t index = 0;
  };
  void SetNextHops(std::vector<NextHop> next_hops) { next_hops_ = std::move(next_hops); }

  // The hops from `index` on are these stages, and a batch crosses them in one step while they are
  // plain. They must not include the last hop of a segment that notes links.
  void Fuse(size_t index, FusedStages* stages) { fused_[index] = stages; }
  // Whether the lanes ask for the links of the last hop, because packets may wait on them.
  bool notes_links() const { return !lanes_.empty() && lanes_[0].notes_links(); }

  // A pass has three steps. A worker takes each step for all of its segments before it takes the
  // next step.
  void Run(Account& account);
  // The same step if links take time: packets that come in are put on the links, and packets that
  // have arrived by `now` (TSC, the same for all segments of a pass) go on. If the only inlet has
  // earlier packets that there was no room for, packets go on that arrived before these. OpenRoom
  // is called before, for all segments of the worker. TakeInEarly may be called in between, before
  // `now` is read, so that packets that have come need not wait for the next pass: it takes in the
  // packets that come from outside of the worker, if links take time and all packets come from
  // outside.
  void OpenRoom() {
    room_ = blocked() ? 0 : kBatch;
    came_ = kNotTakenIn;
  }
  void TakeInEarly(Account& account);
  void RunTimed(uint64_t now, Account& account, LatenessMeter& lateness);
  // The TSC at which an inlet has its next packet, as far as the inlet knows.
  uint64_t NextDue() const { return entrances_.NextDue(); }
  // Sends out packets that crossed the last hop by other means, as the segment's own packets. Takes
  // a prefix for which there is room, and returns its length. Call it between Run and Settle.
  int SendOut(const Descriptor* packets, int count);
  void Settle(Account& account) {
    for (Lane& lane : lanes_) lane.Settle(account);
  }
  void HandOver() {
    for (Lane& lane : lanes_) lane.HandOver();
  }
  uint64_t held() const;
  // Packets that wait for their slot. They are not in held().
  uint64_t waiting() const { return entrances_.waiting(); }
  uint64_t Discard();

  // Worker: how many hops all packets have made so far.
  uint64_t hops_made() const { return hops_made_; }
  // Any thread: polls of inlets, without those whose packets come from this worker.
  const PollMeter& polls() const { return entrances_.polls(); }
  // The clock is read between the stages once in this many batches, or, if links take time, once in
  // this many passes.
  static constexpr uint32_t kSampledBatches = 256;
  // Any thread: adds the costs of the stages in these batches.
  void AddCosts(std::vector<StageCost>& costs) const;

 private:
  struct Samples {
    HopMeter single, in_one_step;
  };
  static constexpr int kNotTakenIn = -1;

  bool blocked() const;
  bool IsTimed() const;
  void GatherTimed(Account& account);
  // Takes in packets, at most `room`, and carries them over the hops into the lanes. Returns how
  // many packets came in. `leaves`: the only lane leads to the egress.
  int TakeIn(int room, bool leaves, Account& account);
  void Scatter(const Descriptor* batch, const uint32_t* links, int count);
  int RoomBehindTimed() const;
  // Carries the batch from `hop` over fused stages, if fused stages begin there and are plain.
  // Returns how many hops the batch crossed.
  size_t CrossFused(size_t hop, Descriptor* batch, int count) {
    FusedStages* const fused = fused_[hop];
    if (fused == nullptr || !fused->plain()) return 0;
    fused->Cross(batch, count);
    return static_cast<size_t>(fused->stages());
  }
  bool IsSampled() { return ++batches_ % kSampledBatches == 0; }
  // Notes that `count` packets crossed `stages` stages from `hop` on. In a sampled batch `since` is
  // the TSC at which the packets began to cross these stages, and is set to the TSC at which they
  // begin to cross the next ones. In other batches it is 0.
  void NoteHops(size_t hop, size_t stages, int count, uint64_t& since) {
    hops_made_ += stages * static_cast<uint64_t>(count);
    if (since != 0) [[unlikely]]
      since = Sample(hop, stages, count, since);
  }
  uint64_t Sample(size_t hop, size_t stages, int count, uint64_t since);
  // Whether a batch is the last that comes to a hop in a pass.
  enum class Batch : uint8_t { kOneOfSeveral, kLast };
  void Carry(size_t hop, Descriptor* batch, int count, Batch is, Account& account);
  void CarryOn(size_t hop, Descriptor* batch, int count, Batch is, Account& account);
  void Enter(size_t hop, Descriptor* batch, int count, Batch is, Ledger& ledger);
  // Returns how many packets crossed.
  static int EnterOneByOne(Stage& stage, Descriptor* batch, int count, Account& account);
  void PutOut(const Descriptor* batch, const uint32_t* links, int count);

  Entrances entrances_;
  std::vector<Stage*> hops_;
  // For each hop, the fused stages that begin there; null: none begin there.
  std::vector<FusedStages*> fused_;
  std::unique_ptr<Samples[]> samples_;  // one for each first hop
  uint64_t hops_made_ = 0;
  uint32_t batches_ = 0;
  bool sampling_ = false;  // whether this pass is sampled, if links take time
  std::vector<Lane> lanes_;
  LaneGroups lane_groups_;
  std::vector<uint16_t> lane_of_row_;  // filled in if every group has one lane
  std::vector<NextHop> next_hops_;
  int room_ = 0;            // the room of the lanes in this pass, if links take time
  int came_ = kNotTakenIn;  // packets that came in this pass, if links take time
  uint64_t now_ = 0;        // until when packets go on in this pass (TSC), if links take time
  size_t last_timed_ = 0;   // the last hop whose links take time
  bool left_over_ = false;  // the last pass had no room for some packets that had arrived
  // If links take time: room for kBatch packets each, one for packets that come to a stage and one
  // for packets that leave it.
  std::array<std::unique_ptr<Descriptor[]>, 2> arriving_;
  // The links of a batch that crosses the last hop or a hop whose links take time.
  std::unique_ptr<uint32_t[]> links_;
  // Only with lane groups; without them the batch is built in lane 0.
  std::unique_ptr<Descriptor[]> batch_;
};

// The other end of a segment's lane to a later segment.
class LocalInlet final : public Inlet {
 public:
  LocalInlet(Segment* from, size_t lane) : from_(from), lane_(lane) {}
  int Receive(Descriptor* burst, int room, Ledger&) override {
    return static_cast<int>(from_->lane(lane_).Take(burst, static_cast<uint32_t>(room)));
  }
  bool within_worker() const override { return true; }

 private:
  Segment* const from_;
  const size_t lane_;
};

}  // namespace bfly::dataplane

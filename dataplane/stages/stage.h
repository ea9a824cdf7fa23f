// SPDX-License-Identifier: Apache-2.0
// A stage and the loop that carries a burst across it: the hottest lines of bfly.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "dataplane/core/descriptor.h"
#include "dataplane/core/ledger.h"
#include "dataplane/core/row_range.h"
#include "dataplane/core/snapshot.h"
#include "dataplane/links/shape_table.h"
#include "dataplane/stages/port_picker.h"
#include "dataplane/stages/timed_links.h"
#include "dataplane/taps/tap_table.h"
#include "dataplane/telemetry/one_writer.h"
#include "topologies/network.h"

namespace bfly::dataplane {

// The counters that every hop touches, unless it leads into TimedLinks. The worker of the stage
// writes them, and snapshot readers load them relaxed.
struct LinkHot {
  std::atomic<uint64_t> packets{0};
  std::atomic<uint64_t> bytes{0};
};
static_assert(sizeof(LinkHot) == 16);

// The counters that only a full or broken link touches. They have the same writer and readers as
// LinkHot, except `down`, `avoided` and `tapped`.
struct LinkCold {
  std::atomic<uint64_t> queue_full{0};
  std::atomic<uint64_t> link_down{0};
  std::atomic<uint32_t> occupancy{0};  // packets on this link or waiting for it
  std::atomic<uint32_t> peak{0};
  std::atomic<bool> down{false};     // control: writes, worker: relaxed loads
  std::atomic<bool> avoided{false};  // control: writes, worker: relaxed loads
  std::atomic<bool> tapped{false};   // control: writes, worker: relaxed loads
};

// A figure of a link, less the packets that the link refused. The packets that a link without a
// rate refuses have crossed the stage before, so the figure has counted them.
struct RefusedFigure {
  std::atomic<uint64_t> refused{0};       // worker: writes, readers: relaxed loads
  mutable std::atomic<uint64_t> told{0};  // readers: the largest figure that one of them gave

  // `came` was loaded before the call. The result is never less than that of an earlier call. A
  // reader may have read between the crossing of packets and their refusal; then the figure stays
  // the same until the link has taken as many other packets.
  uint64_t Take(uint64_t came) const;
};
struct LinkRefused {
  RefusedFigure packets, bytes;
};

inline void TimedLink::NotePeak(LinkCold& cold) {
  if (packets <= most) return;
  most = packets;
  if (most > cold.peak.load(std::memory_order_relaxed)) {
    cold.peak.store(most, std::memory_order_relaxed);
  }
}

class FusedStages;

// All rows, or a block of rows, of one stage of one loaded fabric. The link of (row, port) has the
// number row * ports + port, no matter which block it is in.
class Stage {
 public:
  Stage(const Network& network, int stage, RowRange rows = {});

  // Carries packets over their next link: reads the top bits of the tag, picks a port if the bits
  // do not say which, counts, shifts the tag, sets the row. Returns how many packets are left in
  // `burst`, in order. These are fewer than `count` only while a link of the stage is down: its
  // packets are freed and counted in `ledger`. `links`, if given, gets the link of each packet.
  int Cross(Descriptor* burst, int count, uint32_t* links, Ledger& ledger) {
    return CrossBy(by_itself_, burst, count, links, ledger);
  }
  // The same for packets that go to timed(), which counts the packets that it takes.
  int CrossToTimed(Descriptor* burst, int count, uint32_t* links, Ledger& ledger) {
    return CrossBy(to_timed_, burst, count, links, ledger);
  }
  // Control, before the first OfferShapes: packets wait behind the stage, so links of the stage may
  // refuse packets.
  void SetMayRefuse() { may_refuse_ = true; }
  // Worker: drops a packet that crossed `link`, which takes no time, and finds its queue full.
  void Refuse(uint32_t link, const Descriptor& packet, Ledger& ledger);

  // Worker: counts a packet that has crossed a link by other means than Cross.
  void CountCrossing(uint32_t link, uint64_t bytes) {
    Bump<uint64_t>(hot_[link].packets, 1);
    Bump<uint64_t>(hot_[link].bytes, bytes);
  }

  // The stage's number in the network.
  int number() const { return number_; }
  // Tag bits that are not crossed behind this stage, if packets pass once.
  int tag_bits_behind() const { return tag_bits_behind_; }
  // Whether a direction has several ports.
  bool picks() const { return picker_ != nullptr; }

  // Worker: whether all links are up and none is tapped or takes time, so that Cross would only
  // count packets and set rows. While it is true, the worker may carry packets over this stage and
  // its neighbours in one step (fused_stages.h).
  bool plain() const {
    return links_to_check_.load(std::memory_order_relaxed) == 0 && in_use_ == nullptr;
  }
  // Control, before the worker starts: `fused` carries packets over this stage too, which is number
  // `position` of its stages. The figures of StageCounters include the packets that `fused` counts.
  void AddFused(const FusedStages* fused, int position) { fused_.push_back({fused, position}); }

  // Control, one thread at a time: takes a link down or brings it up. Workers see the change from
  // their next burst on.
  void SetLinkUp(uint32_t link, bool up);
  // Control, likewise: avoids a link that works but leads to a switch that counts as faulty, or no
  // longer avoids it. Packets pick another port of the direction while the direction has a port
  // that is neither down nor avoided. Packets whose tag names this port cross the link.
  void SetAvoided(uint32_t link, bool avoided);
  // Control, likewise: packets that come to a link of the table are noted there. Null: no link is
  // tapped. The worker may use the previous table until its pass ends.
  void SetTaps(const TapTable* taps);

  // Control: offers the links' settings, and the object that keeps packets on them. `timed` is
  // given once and is not null if `table` keeps packets. The worker adopts both when it is told to
  // (worker.h). Both must stay until then, and for good if the worker is never told.
  void OfferShapes(const ShapeTable* table, TimedLinks* timed);
  // Worker: adopts the offered settings at TSC `now`.
  void AdoptShapes(uint64_t now);
  // Worker: null if no link of the stage takes time and no packet is on the links any more.
  TimedLinks* timed() const { return in_use_; }
  // Worker: lets go of timed links that are no longer needed. Returns whether it let them go.
  bool DropEmptyTimed();
  // Worker: how many packets may wait for `link`, if it takes no time; 0: no limit.
  uint32_t queue_limit(uint32_t link) const {
    return table_in_use_ == nullptr ? 0 : table_in_use_->of(link).queue_limit;
  }
  // Any thread. Returns null if no link ever took time.
  const TimedLinks* timed_counters() const { return timed_.load(std::memory_order_acquire); }

  // The links that leave the rows: first_link() <= link < first_link() + links().
  uint32_t first_link() const { return first_link_; }
  uint32_t links() const { return links_; }
  const LinkHot& hot(uint32_t link) const { return hot_of_[link - first_link_]; }
  LinkCold& cold(uint32_t link) { return cold_of_[link - first_link_]; }
  const LinkCold& cold(uint32_t link) const { return cold_of_[link - first_link_]; }

 private:
  friend class StageCounters;
  using CrossFunction = int (Stage::*)(Descriptor*, int, uint32_t*, Ledger&);
  struct CrossFunctions {
    CrossFunction plain, checked;
  };
  struct FusedPart {
    const FusedStages* stages;
    int position;
  };

  int CrossBy(const CrossFunctions& functions, Descriptor* burst, int count, uint32_t* links,
              Ledger& ledger) {
    if (links_to_check_.load(std::memory_order_relaxed) == 0) [[likely]] {
      if (links != nullptr && !picks()) NoteLinks(burst, count, links);
      return (this->*functions.plain)(burst, count, links, ledger);
    }
    return (this->*functions.checked)(burst, count, links, ledger);
  }
  // kTable: the stage is wired by a table, not by one address bit. kChecked: a link may be down,
  // avoided or tapped. kCounts: packets are counted here.
  template <bool kTable, bool kChecked, bool kCounts>
  int CrossAs(Descriptor* burst, int count, uint32_t* links, Ledger& ledger);
  // Used if a direction has several ports. Writes `links` unless it is null.
  template <PortRule kRule, bool kChecked, bool kCounts>
  int CrossPicking(Descriptor* burst, int count, uint32_t* links, Ledger& ledger);
  template <bool kChecked, bool kCounts>
  static CrossFunction PickingBy(PortRule rule);
  template <bool kCounts>
  CrossFunctions FunctionsFor(const Network& network) const;
  void SetFlag(std::atomic<bool>& flag, bool value);
  void NoteAtTap(const Descriptor& packet, uint32_t link) const;
  void DropAtDownLink(const Descriptor& packet, uint32_t link, Ledger& ledger);
  static void NoteLinks(const Descriptor* burst, int count, uint32_t* links);

  const int number_;
  const uint32_t first_link_;
  const uint32_t links_;
  const uint32_t mask_;
  const Row* const next_row_;  // the next row behind each link, in the network's memory; null if
                               // the stage is wired by one address bit
  const uint32_t multiplicity_;
  const int field_bits_;  // bits of a field of a tag
  const int tag_bits_behind_;
  const std::unique_ptr<PortPicker> picker_;  // worker only; null if a direction has one port
  const CrossFunctions by_itself_;
  // How many links are down, avoided or tapped. Control: writes, worker: relaxed loads.
  std::atomic<uint32_t> links_to_check_{0};
  std::atomic<const TapTable*> taps_{nullptr};            // control: writes, worker: acquire loads
  std::atomic<const ShapeTable*> table_wanted_{nullptr};  // control: writes, worker: acquire loads
  std::atomic<TimedLinks*> timed_{nullptr};   // control: writes once, others: acquire loads
  const ShapeTable* table_in_use_ = nullptr;  // worker only
  TimedLinks* in_use_ = nullptr;              // worker only
  std::vector<FusedPart> fused_;              // control: writes before the worker starts
  std::unique_ptr<LinkHot[]> hot_of_;         // by link - first_link_
  std::unique_ptr<LinkCold[]> cold_of_;       // by link - first_link_
  LinkHot* const hot_;  // the place of link 0, so that the loop subtracts nothing
  LinkCold* const cold_;
  const CrossFunctions to_timed_;
  bool may_refuse_ = false;
  // By link - first_link_; null: no link refuses packets.
  std::unique_ptr<LinkRefused[]> refused_of_;
  // Points to refused_of_. Control: writes once, others: acquire loads.
  std::atomic<LinkRefused*> refused_{nullptr};
};

}  // namespace bfly::dataplane

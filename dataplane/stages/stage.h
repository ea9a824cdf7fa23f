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

// The counters that every hop touches, except where it leads into TimedLinks. The worker of the
// stage writes them, and snapshot readers load them relaxed.
struct LinkHot {
  std::atomic<uint64_t> packets{0};
  std::atomic<uint64_t> bytes{0};
};
static_assert(sizeof(LinkHot) == 16);

// The counters that only a full or broken link touches. Writer and readers are the same, except for
// `down`, `avoided` and `tapped`.
struct LinkCold {
  std::atomic<uint64_t> queue_full{0};
  std::atomic<uint64_t> link_down{0};
  std::atomic<uint32_t> occupancy{0};  // packets on this link or waiting for it
  std::atomic<uint32_t> peak{0};
  std::atomic<bool> down{false};     // control: writes, worker: relaxed loads
  std::atomic<bool> avoided{false};  // likewise
  std::atomic<bool> tapped{false};   // likewise
};

// A figure of a link without what the link refused. The packets that a link without a rate refuses
// have crossed the stage before, so the figure counted them.
struct RefusedFigure {
  std::atomic<uint64_t> refused{0};       // worker: writes, readers: relaxed loads
  mutable std::atomic<uint64_t> told{0};  // readers: the largest figure that one of them gave

  // `came` was loaded before. Never less than an earlier call told: a reader may have come between
  // the crossing of packets and their refusal, and then the figure stands still until the link has
  // taken as many others.
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
// number row * ports + port, whichever block it is in.
class Stage {
 public:
  Stage(const Network& network, int stage, RowRange rows = {});

  // Carries packets over their next link: reads the top bits of the tag, picks a port if they do
  // not say which, counts, shifts the tag, sets the row. Returns how many are left in `burst`, in
  // order: less than `count` only while a link of the stage is down, when its packets are freed and
  // counted in `ledger`. `links`, if given, gets the link of each.
  int Cross(Descriptor* burst, int count, uint32_t* links, Ledger& ledger) {
    return CrossBy(by_itself_, burst, count, links, ledger);
  }
  // The same for packets that come to timed(), which counts those that it takes.
  int CrossToTimed(Descriptor* burst, int count, uint32_t* links, Ledger& ledger) {
    return CrossBy(to_timed_, burst, count, links, ledger);
  }
  // Control, before the first OfferShapes: packets wait behind the stage, so it may refuse some.
  void SetMayRefuse() { may_refuse_ = true; }
  // Worker: drops a packet that crossed `link`, which takes no time, and finds its queue full.
  void Refuse(uint32_t link, const Descriptor& packet, Ledger& ledger);

  // Worker: counts a packet that has crossed a link by other means than Cross.
  void CountCrossing(uint32_t link, uint64_t bytes) {
    Bump<uint64_t>(hot_[link].packets, 1);
    Bump<uint64_t>(hot_[link].bytes, bytes);
  }

  // Its number in the network.
  int number() const { return number_; }
  int tag_bits_behind() const { return tag_bits_behind_; }  // not crossed, if they pass once
  // Whether a direction has several ports.
  bool picks() const { return picker_ != nullptr; }

  // Worker: whether all links are up and none is tapped or takes time, so that Cross would only
  // count packets and set rows. While it is true, the worker may carry packets over this stage and
  // its neighbours in one step (fused_stages.h).
  bool plain() const {
    return links_to_check_.load(std::memory_order_relaxed) == 0 && in_use_ == nullptr;
  }
  // Control, before the worker starts: `fused` carries packets over this stage too, which is number
  // `position` of its stages. What it counts is part of the figures of StageCounters.
  void AddFused(const FusedStages* fused, int position) { fused_.push_back({fused, position}); }

  // Control calls this, one thread at a time. Workers see the change from their next burst on.
  void SetLinkUp(uint32_t link, bool up);
  // The same for a link that works and leads to a switch that counts as faulty. Packets pick
  // another port of the direction while there is one that is neither down nor avoided. Packets
  // whose tag says this port cross the link.
  void SetAvoided(uint32_t link, bool avoided);
  // The same for taps: packets that come to a link of the table are noted there. Null: no link is
  // tapped. The worker may use the table before for as long as its pass lasts.
  void SetTaps(const TapTable* taps);

  // Control: what the links are like, and where packets on them are kept; `timed` is given once and
  // is not null if `table` keeps packets. The worker adopts them when it is told to (worker.h);
  // until then, and for good if it never is, both must stay.
  void OfferShapes(const ShapeTable* table, TimedLinks* timed);
  // Worker.
  void AdoptShapes(uint64_t now);
  // Worker: null where no link of the stage takes time and nothing is on the way any more.
  TimedLinks* timed() const { return in_use_; }
  // Worker: lets go of timed links that are no longer needed. Returns whether it did.
  bool DropEmptyTimed();
  // Worker: packets that may wait for `link` where it takes no time; 0: all.
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
  // kTable: wired by table rather than by one address bit. kChecked: a link may be down, avoided or
  // tapped. kCounts: packets are counted here.
  template <bool kTable, bool kChecked, bool kCounts>
  int CrossAs(Descriptor* burst, int count, uint32_t* links, Ledger& ledger);
  // Where a direction has several ports. Writes `links` unless it is null.
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
  const Row* const next_row_;  // by link, in the network; null if wired by one address bit
  const uint32_t multiplicity_;
  const int field_bits_;  // of a tag
  const int tag_bits_behind_;
  const std::unique_ptr<PortPicker> picker_;  // worker; null where a direction has one port
  const CrossFunctions by_itself_;
  // Links that are down, that are avoided, and that are tapped. Control: writes, worker: relaxed
  // loads.
  std::atomic<uint32_t> links_to_check_{0};
  std::atomic<const TapTable*> taps_{nullptr};            // control: writes, worker: acquire loads
  std::atomic<const ShapeTable*> table_wanted_{nullptr};  // control: writes, worker: acquire loads
  std::atomic<TimedLinks*> timed_{nullptr};   // control: writes once, others: acquire loads
  const ShapeTable* table_in_use_ = nullptr;  // worker
  TimedLinks* in_use_ = nullptr;              // worker
  std::vector<FusedPart> fused_;              // control: writes before the worker starts
  std::unique_ptr<LinkHot[]> hot_of_;         // by link - first_link_
  std::unique_ptr<LinkCold[]> cold_of_;       // by link - first_link_
  LinkHot* const hot_;                        // where link 0 would be: the loop subtracts nothing
  LinkCold* const cold_;
  const CrossFunctions to_timed_;
  bool may_refuse_ = false;
  std::unique_ptr<LinkRefused[]> refused_of_;   // by link - first_link_; null: none refuses packets
  std::atomic<LinkRefused*> refused_{nullptr};  // the same. Control: writes once, others: acquire
};

}  // namespace bfly::dataplane

// SPDX-License-Identifier: Apache-2.0
#include "dataplane/stages/stage.h"

#include <rte_mbuf.h>

#include <algorithm>
#include <bit>

#include "dataplane/slots/turn_back.h"
#include "dataplane/stages/stage_counters.h"

namespace bfly::dataplane {
namespace {

// Returns where element 0 would be if `array` began with element `first`. The result is a number,
// because such a pointer may lie outside of the array.
template <typename T>
T* Element0(T* array, uint32_t first) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(array) - first * sizeof(T);
  return reinterpret_cast<T*>(address);  // NOLINT(performance-no-int-to-ptr)
}

// Whether one of the links takes no time and has a queue limit.
bool Refuses(const ShapeTable& table, uint32_t first_link, uint32_t links) {
  if (table.keeps_packets()) return false;
  if (table.of_all() != nullptr) return table.of_all()->queue_limit != 0;
  for (uint32_t i = 0; i < links; ++i) {
    if (table.of(first_link + i).queue_limit != 0) return true;
  }
  return false;
}

uint32_t CountRows(const Network& network, RowRange rows) {
  return std::min(rows.last, network.rows() - 1) - rows.first + 1;
}

}  // namespace

Stage::Stage(const Network& network, int stage, RowRange rows)
    : number_(stage),
      first_link_(rows.first * static_cast<uint32_t>(network.ports())),
      links_(CountRows(network, rows) * static_cast<uint32_t>(network.ports())),
      mask_(network.wiring(stage).mask),
      next_row_(network.wiring(stage).table.empty() ? nullptr : network.wiring(stage).table.data()),
      multiplicity_(static_cast<uint32_t>(network.multiplicity())),
      field_bits_(network.tag_layout().field_bits),
      tag_bits_behind_((network.stages() - 1 - stage) * field_bits_),
      picker_(multiplicity_ > 1 ? std::make_unique<PortPicker>(network, stage, rows) : nullptr),
      by_itself_(FunctionsFor<true>(network)),
      hot_of_(std::make_unique<LinkHot[]>(links_)),
      cold_of_(std::make_unique<LinkCold[]>(links_)),
      hot_(Element0(hot_of_.get(), first_link_)),
      cold_(Element0(cold_of_.get(), first_link_)),
      to_timed_(FunctionsFor<false>(network)) {}

template <bool kCounts>
Stage::CrossFunctions Stage::FunctionsFor(const Network& network) const {
  if (picker_ != nullptr) {
    return {PickingBy<false, kCounts>(network.rule()), PickingBy<true, kCounts>(network.rule())};
  }
  if (next_row_ != nullptr) {
    return {&Stage::CrossAs<true, false, kCounts>, &Stage::CrossAs<true, true, kCounts>};
  }
  return {&Stage::CrossAs<false, false, kCounts>, &Stage::CrossAs<false, true, kCounts>};
}

template <bool kTable, bool kChecked, bool kCounts>
int Stage::CrossAs(Descriptor* burst, int count, [[maybe_unused]] uint32_t* links,
                   [[maybe_unused]] Ledger& ledger) {
  // These are locals, so that stores to the counters do not make the compiler read the members
  // again.
  const uint32_t mask = mask_;
  [[maybe_unused]] const Row* const table = next_row_;
  [[maybe_unused]] LinkHot* const hot = hot_;
  int kept = 0;
  for (int i = 0; i < count; ++i) {
    Descriptor& d = burst[i];
    const uint32_t port = static_cast<uint32_t>(d.tag >> 63);
    const uint32_t link = d.row * 2 + port;
    if constexpr (kChecked) {
      if (cold_[link].down.load(std::memory_order_relaxed)) {
        DropAtDownLink(d, link, ledger);
        continue;
      }
      if (cold_[link].tapped.load(std::memory_order_relaxed)) NoteAtTap(d, link);
      if (links != nullptr) links[kept] = link;
    }
    if constexpr (kCounts) {
      Bump<uint64_t>(hot[link].packets, 1);
      Bump<uint64_t>(hot[link].bytes, d.bytes);
    }
    d.tag <<= 1;
    if constexpr (kTable) {
      d.row = table[link];
    } else {
      d.row = (d.row & ~mask) | (mask & (0u - port));
    }
    if constexpr (kChecked) burst[kept++] = d;
  }
  return kChecked ? kept : count;
}

template <PortRule kRule, bool kChecked, bool kCounts>
int Stage::CrossPicking(Descriptor* burst, int count, uint32_t* links, Ledger& ledger) {
  const uint32_t mask = mask_;
  const Row* const table = next_row_;
  [[maybe_unused]] LinkHot* const hot = hot_;
  const PortChooser chooser = picker_->chooser();
  TimedLinks* const timed = in_use_;
  const LinkCold* const cold = cold_;
  const auto is_up = [cold](uint32_t link) {
    return !kChecked || !cold[link].down.load(std::memory_order_relaxed);
  };
  const auto may_pick = [cold, is_up](uint32_t link) {
    return is_up(link) && !(kChecked && cold[link].avoided.load(std::memory_order_relaxed));
  };
  // Crosses with a multiplicity that the compiler knows, and without a table. 0: with any
  // multiplicity.
  const auto cross = [&]<uint32_t kMultiplicity>() {
    const uint32_t multiplicity = kMultiplicity != 0 ? kMultiplicity : multiplicity_;
    const int field_bits =
        kMultiplicity != 0 ? 1 + std::countr_zero(kMultiplicity | 16u) : field_bits_;
    if (chooser.multiplicity() != multiplicity) __builtin_unreachable();
    int kept = 0;
    for (int i = 0; i < count; ++i) {
      Descriptor& d = burst[i];
      const auto direction = static_cast<uint32_t>(d.tag >> 63);
      const uint32_t group = d.row * kDirections + direction;
      uint32_t link;
      if (d.fixed) [[unlikely]] {
        // A tag comes from elsewhere, so its port is limited to the ports that there are.
        const auto port = static_cast<uint32_t>(d.tag << 1 >> (65 - field_bits));
        link = group * multiplicity + std::min(port, multiplicity - 1);
      } else {
        link = chooser.template Pick<kRule, kChecked>(d, group, timed, may_pick);
        if (kChecked && !may_pick(link)) {
          link = chooser.template Pick<kRule, kChecked>(d, group, timed, is_up);
        }
      }
      if (kChecked && !is_up(link)) {
        DropAtDownLink(d, link, ledger);
        continue;
      }
      if (kChecked && cold[link].tapped.load(std::memory_order_relaxed)) NoteAtTap(d, link);
      if (links != nullptr) links[kept] = link;
      if constexpr (kCounts) {
        Bump<uint64_t>(hot[link].packets, 1);
        Bump<uint64_t>(hot[link].bytes, d.bytes);
      }
      d.tag <<= field_bits;
      if (kMultiplicity == 0 && table != nullptr) {
        d.row = table[link];
      } else {
        d.row = (d.row & ~mask) | (mask & (0u - direction));
      }
      if (kChecked) burst[kept] = d;
      ++kept;
    }
    return kept;
  };
  if (!kChecked && table == nullptr) {
    if (multiplicity_ == 2) return cross.template operator()<2>();
    if (multiplicity_ == 4) return cross.template operator()<4>();
    if (multiplicity_ == 8) return cross.template operator()<8>();
  }
  return cross.template operator()<0>();
}

template <bool kChecked, bool kCounts>
Stage::CrossFunction Stage::PickingBy(PortRule rule) {
  switch (rule) {
    case PortRule::kFirstFree:
      return &Stage::CrossPicking<PortRule::kFirstFree, kChecked, kCounts>;
    case PortRule::kRoundRobin:
      return &Stage::CrossPicking<PortRule::kRoundRobin, kChecked, kCounts>;
    case PortRule::kLeastOccupied:
      return &Stage::CrossPicking<PortRule::kLeastOccupied, kChecked, kCounts>;
    case PortRule::kRandom:
      break;
  }
  return &Stage::CrossPicking<PortRule::kRandom, kChecked, kCounts>;
}

void Stage::DropAtDownLink(const Descriptor& packet, uint32_t link, Ledger& ledger) {
  Bump<uint64_t>(cold_[link].link_down, 1);
  DropOnWay(packet, tag_bits_behind_ + field_bits_, DropReason::kLinkDown, ledger);
}

// OfferShapes made `refused_of_` before the worker could adopt a queue limit.
void Stage::Refuse(uint32_t link, const Descriptor& packet, Ledger& ledger) {
  LinkRefused& refused = refused_of_[link - first_link_];
  Bump<uint64_t>(refused.packets.refused, 1);
  Bump<uint64_t>(refused.bytes.refused, packet.bytes);
  Bump<uint64_t>(cold_[link].queue_full, 1);
  DropOnWay(packet, tag_bits_behind_, DropReason::kQueueFull, ledger);
}

void Stage::NoteAtTap(const Descriptor& packet, uint32_t link) const {
  const TapTable* const taps = taps_.load(std::memory_order_acquire);
  if (taps != nullptr) taps->Note(link, packet);
}

void Stage::NoteLinks(const Descriptor* burst, int count, uint32_t* links) {
  for (int i = 0; i < count; ++i) {
    links[i] = burst[i].row * 2 + static_cast<uint32_t>(burst[i].tag >> 63);
  }
}

void Stage::SetLinkUp(uint32_t link, bool up) { SetFlag(cold_[link].down, !up); }

void Stage::SetAvoided(uint32_t link, bool avoided) { SetFlag(cold_[link].avoided, avoided); }

void Stage::SetTaps(const TapTable* taps) {
  const TapTable* const before = taps_.load(std::memory_order_relaxed);
  taps_.store(taps, std::memory_order_release);
  if (taps != nullptr) {
    for (const uint32_t link : taps->keys()) SetFlag(cold_[link].tapped, true);
  }
  if (before == nullptr) return;
  for (const uint32_t link : before->keys()) {
    if (taps == nullptr || !taps->has(link)) SetFlag(cold_[link].tapped, false);
  }
}

void Stage::SetFlag(std::atomic<bool>& flag, bool value) {
  if (flag.exchange(value, std::memory_order_relaxed) == value) return;
  if (value) {
    links_to_check_.fetch_add(1, std::memory_order_relaxed);
  } else {
    links_to_check_.fetch_sub(1, std::memory_order_relaxed);
  }
}

void Stage::OfferShapes(const ShapeTable* table, TimedLinks* timed) {
  timed_.store(timed, std::memory_order_release);
  if (may_refuse_ && refused_of_ == nullptr && Refuses(*table, first_link_, links_)) {
    refused_of_ = std::make_unique<LinkRefused[]>(links_);
    refused_.store(refused_of_.get(), std::memory_order_release);
    // Readers may have seen packets that wait already, so later readings must not be smaller.
    for (uint32_t i = 0; i < links_; ++i) StageCounters(*this).Of(first_link_ + i, 0);
  }
  table_wanted_.store(table, std::memory_order_release);
}

void Stage::AdoptShapes(uint64_t now) {
  const ShapeTable* const wanted = table_wanted_.load(std::memory_order_acquire);
  if (wanted == table_in_use_) return;
  table_in_use_ = wanted;
  TimedLinks* const timed = timed_.load(std::memory_order_relaxed);
  if (timed == nullptr) return;
  timed->SetTable(wanted, now);
  in_use_ = wanted->keeps_packets() || timed->held() > 0 ? timed : nullptr;
}

bool Stage::DropEmptyTimed() {
  if (in_use_ == nullptr || in_use_->held() > 0 || table_in_use_->keeps_packets()) return false;
  in_use_ = nullptr;
  return true;
}

}  // namespace bfly::dataplane

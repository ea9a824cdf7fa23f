// SPDX-License-Identifier: Apache-2.0
// How the nodes of a stage pick one of several ports of a direction (topologies/port_rule.h), for
// packets whose tag says only the direction. The state by which a node picks belongs to the node
// alone, so workers that share a stage by rows share nothing here.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "dataplane/core/descriptor.h"
#include "dataplane/core/row_range.h"
#include "dataplane/stages/timed_links.h"
#include "topologies/network.h"
#include "topologies/random.h"

namespace bfly::dataplane {

// The state by which a kernel picks. A kernel works on its own copy, so that the stores of turns,
// which may alias anything, do not make the compiler read the other members again.
class PortChooser {
 public:
  // Picks a link for which is_up(link) is true among the links first .. first + multiplicity - 1,
  // which are the links of one direction of a node. If no link is up, picks any of them. `group` is
  // the number of the direction among all directions of the stage's nodes. `timed` is null if the
  // stage's links take no time. Without kChecked all links are up.
  template <PortRule kRule, bool kChecked, typename IsUp>
  uint32_t Pick(const Descriptor& packet, uint32_t group, TimedLinks* timed,
                const IsUp& is_up) const {
    const uint32_t first = group * multiplicity_;
    if constexpr (kRule == PortRule::kRoundRobin) {
      return first + NextTurn<kChecked>(turn_[group - first_group_], first, is_up);
    } else if constexpr (kRule == PortRule::kRandom) {
      return AnyOf<kChecked>(state_[group - first_group_], first, is_up);
    } else if (timed == nullptr) {
      return kChecked ? FirstUp(first, is_up) : first;
    } else if constexpr (kRule == PortRule::kFirstFree) {
      return FirstFree(packet, first, *timed, is_up);
    } else {
      return LeastOccupied(packet, first, *timed, is_up);
    }
  }
  uint32_t multiplicity() const { return multiplicity_; }

 private:
  friend class PortPicker;

  template <bool kChecked, typename IsUp>
  uint32_t NextTurn(uint8_t& turn, uint32_t first, const IsUp& is_up) const {
    uint32_t port = turn;
    uint32_t next = After(port);
    for (uint32_t tried = 1; kChecked && tried < multiplicity_ && !is_up(first + port); ++tried) {
      port = next;
      next = After(port);
    }
    turn = static_cast<uint8_t>(next);
    return port;
  }
  uint32_t After(uint32_t port) const { return port + 1 == multiplicity_ ? 0 : port + 1; }

  template <bool kChecked, typename IsUp>
  uint32_t AnyOf(uint64_t& state, uint32_t first, const IsUp& is_up) const {
    if constexpr (!kChecked) return first + Below(multiplicity_, state);
    // Other threads take links down and bring them up at any time, so each link is asked once.
    static_assert(kMaxMultiplicity <= 32);
    uint32_t up = 0, count = 0;
    for (uint32_t i = 0; i < multiplicity_; ++i) {
      const uint32_t bit = is_up(first + i) ? 1u : 0u;
      up |= bit << i;
      count += bit;
    }
    if (count == 0) return first;
    for (uint32_t passed = Below(count, state); passed > 0; --passed) up &= up - 1;
    return first + static_cast<uint32_t>(std::countr_zero(up));
  }

  template <typename IsUp>
  uint32_t FirstUp(uint32_t first, const IsUp& is_up) const {
    for (uint32_t i = 0; i < multiplicity_; ++i) {
      if (is_up(first + i)) return first + i;
    }
    return first;
  }

  template <typename IsUp>
  uint32_t FirstFree(const Descriptor& packet, uint32_t first, TimedLinks& timed,
                     const IsUp& is_up) const {
    uint32_t with_room = ~0u;
    for (uint32_t link = first; link < first + multiplicity_; ++link) {
      if (!is_up(link)) continue;
      const TimedLinks::Standing found = timed.At(link, ArrivalOf(packet));
      if (found.packets == 0) return link;
      if (found.has_room && with_room == ~0u) with_room = link;
    }
    return with_room != ~0u ? with_room : FirstUp(first, is_up);
  }

  template <typename IsUp>
  uint32_t LeastOccupied(const Descriptor& packet, uint32_t first, TimedLinks& timed,
                         const IsUp& is_up) const {
    uint32_t best = ~0u;
    TimedLinks::Standing least;
    for (uint32_t link = first; link < first + multiplicity_; ++link) {
      if (!is_up(link)) continue;
      const TimedLinks::Standing found = timed.At(link, ArrivalOf(packet));
      if (best == ~0u || found.IsBefore(least)) {
        best = link;
        least = found;
      }
    }
    return best != ~0u ? best : first;
  }

  // A random number less than `bound`.
  static uint32_t Below(uint32_t bound, uint64_t& state) {
    return static_cast<uint32_t>((uint64_t{Draw(state)} * bound) >> 32);
  }
  // 32 random bits (splitmix64; Steele, Lea and Flood 2014).
  static uint32_t Draw(uint64_t& state) {
    return static_cast<uint32_t>(Mix(state += 0x9e3779b97f4a7c15) >> 32);
  }
  static uint64_t Mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  uint32_t multiplicity_ = 1;
  uint32_t first_group_ = 0;
  // One entry for each group, from first_group_ on; null if the rule does not need it.
  uint8_t* turn_ = nullptr;    // kRoundRobin: the next port
  uint64_t* state_ = nullptr;  // kRandom: the state of the group's generator
};

class PortPicker {
 public:
  // Picks for the nodes `rows` of a stage.
  PortPicker(const Network& network, int stage, RowRange rows) {
    chooser_.multiplicity_ = static_cast<uint32_t>(network.multiplicity());
    chooser_.first_group_ = rows.first * kDirections;
    const size_t groups =
        (size_t{std::min(rows.last, network.rows() - 1)} - rows.first + 1) * kDirections;
    if (network.rule() == PortRule::kRoundRobin) turn_.resize(groups);
    if (network.rule() == PortRule::kRandom) {
      const uint64_t start =
          Random64(network.spec().seed, RandomStream::kPortRule, static_cast<uint64_t>(stage));
      for (size_t group = 0; group < groups; ++group) {
        state_.push_back(PortChooser::Mix(start + chooser_.first_group_ + group));
      }
    }
    chooser_.turn_ = turn_.data();
    chooser_.state_ = state_.data();
  }

  PortChooser chooser() const { return chooser_; }

 private:
  std::vector<uint8_t> turn_;
  std::vector<uint64_t> state_;
  PortChooser chooser_;
};

}  // namespace bfly::dataplane

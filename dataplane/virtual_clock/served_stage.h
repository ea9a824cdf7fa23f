// SPDX-License-Identifier: Apache-2.0
// What stages whose links are not FIFO have in common (sharing_block.h, priority_block.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "dataplane/links/discipline.h"
#include "dataplane/virtual_clock/boundary.h"
#include "dataplane/virtual_clock/class_source.h"
#include "dataplane/virtual_clock/delay_histogram.h"
#include "dataplane/virtual_clock/fifo_lane.h"
#include "dataplane/virtual_clock/packet.h"

namespace bfly::dataplane {

inline constexpr size_t kNodePorts = 2;

// How the links of a run serve packets, and which packets are measured.
struct LinkService {
  Discipline discipline = Discipline::kFifo;
  Ticks unit = 0;  // the time that a packet takes alone on a link that takes time
  WordLayout words;
  // Packets born in [start, end) are measured. Plain FIFO stages measure all packets.
  Ticks start = 0;
  Ticks end = 0;
};

// The lists of packets that the nodes of a block read and write. Node j merges in[from[j]] and
// in[from[j] + 1]; the packets that leave by port p are out[to[2*j + p]]. Every list has its end
// mark.
struct NodeLists {
  const PacketList* in;
  const uint32_t* from;
  const uint32_t* to;
  PacketList* out;

  size_t Arrivals(size_t node) const {
    return size_t{in[from[node]].count} + in[from[node] + 1].count;
  }
};

// The packets that came to the links of a block that take time.
struct ServedCount {
  uint64_t handled = 0;   // packets that joined a link
  uint64_t measured = 0;  // packets that left a link and are measured
  TickSum delay = 0;      // the sum of departure - arrival over the measured packets
};

// Tells which packets are measured, for packets that have crossed `crossed` links.
class Measured {
 public:
  Measured(const LinkService& service, int crossed)
      : words_(service.words),
        crossed_(crossed),
        start_(service.start),
        length_(service.end - service.start) {}
  bool Is(PacketWord word) const { return words_.BirthOf(word, crossed_) - start_ < length_; }

 private:
  const WordLayout words_;
  const int crossed_;
  const Ticks start_;
  const Ticks length_;
};

// Merges the two lists of a node in order of time; at equal times the packet of the first list
// comes first. Puts every packet behind the line of its port, with its word as it is behind the
// hop. There is no branch (FifoLane::Step).
template <typename Entry>
struct PortMerge {
  const VirtualPacket* first;  // the rest of the two lists
  const VirtualPacket* second;
  Entry* end[kNodePorts];  // for each port: the place behind the last packet of its line
  uint32_t left;           // packets to come

  PortMerge(const NodeLists& lists, size_t node, Entry* straight, Entry* cross)
      : first(lists.in[lists.from[node]].first),
        second(lists.in[lists.from[node] + 1].first),
        end{straight, cross},
        left(static_cast<uint32_t>(lists.Arrivals(node))) {}

  void Step() {
    const Ticks first_time = first->time, second_time = second->time;
    const bool from_first = first_time <= second_time;
    const PacketWord word = (from_first ? first : second)->word;
    const unsigned port = PortOf(word);
    Entry* const place = port != 0 ? end[1] : end[0];
    place->time = Select(from_first, first_time, second_time);
    place->word = AfterHop(word);
    const uint64_t cross = uint64_t{0} - port;
    end[0] = NextIf(~cross, end[0]);
    end[1] = NextIf(cross, end[1]);
    first += from_first;
    second += !from_first;
  }
};

// Runs two nodes in turn: each is one chain of dependent loads, and two chains overlap.
template <typename Entry>
inline void RunMerges(PortMerge<Entry>& a, PortMerge<Entry>& b) {
  // Copies, so that the compiler knows that no store to a packet changes them.
  PortMerge<Entry> x = a, y = b;
  const uint32_t both = std::min(x.left, y.left);
  for (uint32_t i = 0; i < both; ++i) {
    x.Step();
    y.Step();
  }
  for (uint32_t i = both; i < x.left; ++i) x.Step();
  for (uint32_t i = both; i < y.left; ++i) y.Step();
  a = x;
  b = y;
}

// Merges the two lists of a node in order of time; at equal times the packet of the first list
// comes first. Puts every packet behind the line lines[line(word)] with its word as it is behind
// the hop. There is no branch (FifoLane::Step).
template <typename Entry, typename Line>
inline void PartArrivals(const PacketList& a, const PacketList& b, Entry** lines, Line&& line) {
  const VirtualPacket* first = a.first;
  const VirtualPacket* second = b.first;
  for (uint32_t left = a.count + b.count; left > 0; --left) {
    const Ticks first_time = first->time, second_time = second->time;
    const bool from_first = first_time <= second_time;
    const PacketWord word = (from_first ? first : second)->word;
    Entry*& end = lines[line(word)];
    Entry* const place = end;
    end = place + 1;
    place->time = Select(from_first, first_time, second_time);
    place->word = AfterHop(word);
    first += from_first;
    second += !from_first;
  }
}

}  // namespace bfly::dataplane

// SPDX-License-Identifier: Apache-2.0
#include "dataplane/virtual_clock/priority_block.h"

#include <algorithm>

namespace bfly::dataplane {
namespace {

// A link between its first and its last packet of the window.
template <int kClasses>
struct PriorityLane {
  // The next packet of each class; behind the last packet is an end mark.
  const VirtualPacket* next[kClasses];
  VirtualPacket* out;  // where the next departure goes
  Ticks free;
  Ticks service;
  Ticks limit;  // a packet that begins from here on leaves after the window

  // Sends the next packet if it leaves in the window. Returns when it came and when it leaves.
  struct Sent {
    Ticks arrival;
    Ticks departure;
  };
  bool Step(Sent& sent) {
    Ticks earliest = next[0]->time;
    for (int k = 1; k < kClasses; ++k) earliest = std::min(earliest, next[k]->time);
    const Ticks begin = std::max(free, earliest);
    if (begin >= limit) return false;
    int picked = kClasses - 1;
    for (int k = kClasses - 2; k >= 0; --k) picked = next[k]->time <= begin ? k : picked;
    const VirtualPacket packet = *next[picked];
    ++next[picked];
    free = begin + service;
    *out++ = {free, packet.word};
    sent = {packet.time, free};
    return true;
  }
};

}  // namespace

template <int kClassBits>
void PriorityBlock::Run(const LinkService& service, int crossed, const BlockWiring& wiring,
                        const NodeLists& lists, const StageWindow& window, VirtualPacket* place,
                        VirtualPacket* room, DelayHistogram* histogram) {
  constexpr int kClasses = 1 << kClassBits;
  constexpr size_t kLines = kNodePorts * kClasses;
  const Measured measured(service, crossed);
  // The shift for the word before the hop, whose class stands behind the routing bits that are
  // left.
  const int class_shift = 64 - (service.words.hops - crossed + 1) - kClassBits;
  uint64_t counted = 0;
  Ticks delay = 0;
  for (size_t node = 0; node < wiring.nodes(); ++node) {
    const size_t come = lists.Arrivals(node);
    VirtualPacket* free_room = room;
    VirtualPacket* first[kLines];
    VirtualPacket* end[kLines];
    size_t present[kNodePorts] = {};
    for (size_t line = 0; line < kLines; ++line) {
      first[line] = lines_.Open(node * kLines + line, come, free_room);
      const size_t waiting = lines_.waiting(node * kLines + line);
      present[line / kClasses] += waiting;
      end[line] = first[line] + waiting;
    }
    // Links that take no time have these lines too: packets of one class keep their order, and no
    // later link looks at the order between classes.
    PartArrivals(lists.in[lists.from[node]], lists.in[lists.from[node] + 1], end,
                 [&](PacketWord word) {
                   return PortOf(word) * kClasses + (word >> class_shift & (kClasses - 1));
                 });
    VirtualPacket* list[kNodePorts];
    PriorityLane<kClasses> lanes[kNodePorts];
    size_t joined[kNodePorts];
    for (size_t port = 0; port < kNodePorts; ++port) {
      const size_t link = kNodePorts * node + port;
      size_t packets = 0;
      for (size_t k = 0; k < kClasses; ++k) {
        const size_t line = port * kClasses + k;
        lanes[port].next[k] = first[line];
        end[line]->time = kNever;
        packets += static_cast<size_t>(end[line] - first[line]);
      }
      joined[port] = packets - present[port];
      lanes[port].out = list[port] = place;
      place += packets + 1;
      const Ticks ticks = wiring.service[link];
      lanes[port].service = ticks;
      lanes[port].free = links_[link].free;
      lanes[port].limit = window.end > ticks ? window.end - ticks : 0;
    }
    const auto account = [&](const typename PriorityLane<kClasses>::Sent& sent, PacketWord word) {
      const bool is_measured = measured.Is(word);
      counted += is_measured;
      delay += (sent.departure - sent.arrival) & (Ticks{0} - is_measured);
      if (histogram != nullptr && is_measured) histogram->Add(sent.departure - sent.arrival);
    };
    for (size_t port = 0; port < kNodePorts; ++port) {
      const size_t link = kNodePorts * node + port;
      PriorityLane<kClasses>& lane = lanes[port];
      typename PriorityLane<kClasses>::Sent sent;
      if (lane.service == 0) {
        while (lane.Step(sent)) {
        }
      } else {
        while (lane.Step(sent)) account(sent, lane.out[-1].word);
        count_.handled += joined[port];
        links_[link].packets += static_cast<size_t>(lane.out - list[port]);
      }
      links_[link].free = lane.free;
      lane.out->time = kNever;
      lists.out[lists.to[link]] = {list[port], static_cast<uint32_t>(lane.out - list[port]), 0};
      for (size_t k = 0; k < kClasses; ++k) {
        const size_t line = port * kClasses + k;
        lines_.Close(node * kLines + line, lane.next[k], end[line]);
      }
    }
  }
  count_.measured += counted;
  count_.delay += delay;
}

void PriorityBlock::RunWindow(const LinkService& service, int crossed, const BlockWiring& wiring,
                              const NodeLists& lists, const StageWindow& window,
                              PacketArena& places, LineScratch<VirtualPacket>& scratch,
                              DelayHistogram* histogram) {
  size_t arrivals = 0, most = 0;
  for (size_t node = 0; node < wiring.nodes(); ++node) {
    const size_t come = lists.Arrivals(node);
    arrivals += come;
    most = std::max(most, come);
  }
  const size_t room =
      (kNodePorts << service.words.class_bits) * LineStore<VirtualPacket>::PlacesOf(most);
  if (scratch.room.size() < room) scratch.room.resize(room);
  VirtualPacket* const place = places.Reserve(queued() + arrivals + links_.size());
  lines_.Begin(arrivals, scratch);
  VirtualPacket* const lines = scratch.room.data();
  switch (service.words.class_bits) {
    case 0:
      Run<0>(service, crossed, wiring, lists, window, place, lines, histogram);
      break;
    case 1:
      Run<1>(service, crossed, wiring, lists, window, place, lines, histogram);
      break;
    case 2:
      Run<2>(service, crossed, wiring, lists, window, place, lines, histogram);
      break;
    default:
      Run<kMostClassBits>(service, crossed, wiring, lists, window, place, lines, histogram);
  }
  lines_.End(scratch);
}

}  // namespace bfly::dataplane

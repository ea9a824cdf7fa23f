// SPDX-License-Identifier: Apache-2.0
#include "dataplane/virtual_clock/sharing_block.h"

#include <algorithm>
#include <span>

namespace bfly::dataplane {
namespace {

// Nodes that are open at once: their packets stay in the nearest cache.
constexpr size_t kOpenNodes = 4;

// The packets of a link in one window.
struct OpenLink {
  SharingLink* link;
  Ticks service;
  Sharer* first;  // the packets that were on the link, and behind them the packets that come
  Sharer* next;   // the first packet that comes
  Sharer* end;
  const Sharer* stays;  // the first packet that does not leave
};

// Runs links two at a time: each is one chain of dependent steps, and two chains overlap.
template <typename Time>
void RunLinks(std::span<OpenLink> links, Ticks window_end) {
  const auto open = [&](size_t number) {
    const OpenLink& link = links[number];
    return SharingLane<Time>(*link.link, link.service, link.first, link.next, link.end, window_end);
  };
  const auto close = [&](SharingLane<Time>& lane, size_t number) {
    lane.Close(*links[number].link);
    links[number].stays = lane.first();
  };
  size_t of_a = 0, of_b = 1, next = 2;
  SharingLane<Time> a = open(of_a), b = open(of_b);
  for (;;) {
    if (!a.Step()) {
      close(a, of_a);
      if (next == links.size()) {
        a = b;
        of_a = of_b;
        break;
      }
      a = open(of_a = next++);
    }
    if (!b.Step()) {
      close(b, of_b);
      if (next == links.size()) break;
      b = open(of_b = next++);
    }
  }
  while (a.Step()) {
  }
  close(a, of_a);
}

}  // namespace

void SharingBlock::RunWindow(const LinkService& service, int crossed, const BlockWiring& wiring,
                             const NodeLists& lists, const StageWindow& window, PacketArena& places,
                             LineScratch<Sharer>& scratch, DelayHistogram* histogram) {
  const size_t nodes = wiring.nodes();
  size_t arrivals = 0, most = 0;
  for (size_t node = 0; node < nodes; ++node) {
    const size_t come = lists.Arrivals(node);
    arrivals += come;
    most = std::max(most, come);
  }
  const size_t room = kNodePorts * kOpenNodes * LineStore<Sharer>::PlacesOf(most);
  if (scratch.room.size() < room) scratch.room.resize(room);
  VirtualPacket* place = places.Reserve(queued() + arrivals + links_.size());
  lines_.Begin(arrivals, scratch);
  const Measured measured(service, crossed);
  const Ticks length = window.end - window.start;
  uint64_t counted = 0;
  Ticks delay = 0;
  for (size_t first_node = 0; first_node < nodes; first_node += kOpenNodes) {
    const size_t end_node = std::min(first_node + kOpenNodes, nodes);
    const size_t first_link = kNodePorts * first_node, links = kNodePorts * (end_node - first_node);
    OpenLink open[kNodePorts * kOpenNodes];
    Sharer* free_room = scratch.room.data();
    bool fits = true;
    for (size_t node = first_node; node < end_node; node += 2) {
      OpenLink* const links_of = open + kNodePorts * (node - first_node);
      const size_t pair = std::min<size_t>(2, end_node - node);
      for (size_t i = 0; i < kNodePorts * pair; ++i) {
        const size_t link = kNodePorts * node + i;
        Sharer* const first = lines_.Open(link, lists.Arrivals(link / kNodePorts), free_room);
        Sharer* const next = first + lines_.waiting(link);
        links_of[i] = {&links_[link], wiring.service[link], first, next, next, nullptr};
      }
      const auto merge = [&](size_t i) {
        return PortMerge<Sharer>(lists, node + i, links_of[kNodePorts * i].next,
                                 links_of[kNodePorts * i + 1].next);
      };
      PortMerge<Sharer> merges[] = {merge(0), merge(pair - 1)};
      if (pair == 1) merges[1].left = 0;
      RunMerges(merges[0], merges[1]);
      for (size_t i = 0; i < kNodePorts * pair; ++i) {
        OpenLink& of = links_of[i];
        of.end = merges[i / kNodePorts].end[i % kNodePorts];
        fits = fits && SharingLane<uint64_t>::FitsInWords(length, service.unit,
                                                          static_cast<size_t>(of.end - of.first));
      }
    }
    if (fits) [[likely]] {
      RunLinks<uint64_t>({open, links}, window.end);
    } else {
      RunLinks<LinkTime>({open, links}, window.end);
    }
    for (size_t i = 0; i < links; ++i) {
      const size_t link = first_link + i;
      const OpenLink& of = open[i];
      const auto left = static_cast<size_t>(of.stays - of.first);
      VirtualPacket* const list = place;
      place += left + 1;
      const bool takes_time = of.service != 0;
      for (size_t k = 0; k < left; ++k) {
        const Sharer sharer = of.first[k];
        const Ticks departure = SharingLane<uint64_t>::TickOf(sharer.end, window.start);
        list[k] = {departure, sharer.word};
        const bool is_measured = measured.Is(sharer.word);
        counted += takes_time & is_measured;
        delay += (departure - sharer.time) & (Ticks{0} - is_measured);
      }
      list[left].time = kNever;
      lists.out[lists.to[link]] = {list, static_cast<uint32_t>(left), 0};
      lines_.Close(link, of.stays, of.end);
      if (!takes_time) continue;
      count_.handled += static_cast<size_t>(of.end - of.next);
      links_[link].packets += left;
      for (size_t k = 0; histogram != nullptr && k < left; ++k) {
        if (measured.Is(list[k].word)) histogram->Add(list[k].time - of.first[k].time);
      }
    }
  }
  count_.measured += counted;
  count_.delay += delay;
  lines_.End(scratch);
}

}  // namespace bfly::dataplane

// SPDX-License-Identifier: Apache-2.0
#include "dataplane/virtual_clock/stage_group.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

namespace bfly::dataplane {
namespace {

// A block has 2 to this power rows. The packets of a window of so many rows, and the queues of one
// stage of them, fit in a core's L2 cache.
constexpr int kGroupBits = 6;

// Address bits that stages first..last set, or all of them where a stage is wired by a table.
Row TouchedBits(const Network& network, int first, int last) {
  Row bits = 0;
  for (int stage = first; stage <= last; ++stage) {
    const StageWiring& wiring = network.wiring(stage);
    bits |= wiring.table.empty() ? wiring.mask : network.rows() - 1;
  }
  return bits;
}

// All values whose one bits lie in `mask`, ascending.
std::vector<Row> Subsets(Row mask) {
  std::vector<Row> rows;
  Row value = 0;
  do {
    rows.push_back(value);
    value = (value - mask) & mask;
  } while (value != 0);
  return rows;
}

// For each link of the stage, 2*row + port, the list that takes it: the two lists of a node are
// ordered by the row they come from.
std::vector<uint32_t> ListsOf(const Network& network, int stage) {
  std::vector<uint32_t> lists(2 * static_cast<size_t>(network.rows()));
  std::vector<uint8_t> met(network.rows());
  for (Row row = 0; row < network.rows(); ++row) {
    for (int port = 0; port < 2; ++port) {
      const Row next = network.next_row(stage, row, port);
      lists[2 * row + port] = 2 * next + met[next]++;
    }
  }
  return lists;
}

}  // namespace

namespace {

// The longest run of stages from `first`, up to `limit`, that touches at most `bits` address bits.
int LastStage(const Network& network, int first, int limit, int bits) {
  int last = first;
  while (last < limit && std::popcount(TouchedBits(network, first, last + 1)) <= bits) ++last;
  return last;
}

std::vector<StageRange> SplitBy(const Network& network, int first, int last, int bits) {
  std::vector<StageRange> ranges;
  while (first <= last) {
    ranges.push_back({first, LastStage(network, first, last, bits)});
    first = ranges.back().last + 1;
  }
  return ranges;
}

}  // namespace

std::vector<StageRange> StageGroup::Split(const Network& network, int first, int last) {
  std::vector<StageRange> ranges = SplitBy(network, first, last, kGroupBits);
  for (int bits = kGroupBits - 1; bits > 0; --bits) {
    std::vector<StageRange> smaller = SplitBy(network, first, last, bits);
    if (smaller.size() > ranges.size()) break;
    ranges = std::move(smaller);
  }
  return ranges;
}

StageGroup::StageGroup(const Network& network, StageRange stages, Ticks unit)
    : stages_(stages),
      row_of_node_(Subsets(TouchedBits(network, stages.first, stages.last))),
      row_of_block_(
          Subsets((network.rows() - 1) & ~TouchedBits(network, stages.first, stages.last))),
      by_link_(2 * row_of_node_.size()),
      by_node_(row_of_node_.size()),
      blocks_(depth() * row_of_block_.size()),
      nodes_(blocks_.size() * row_of_node_.size()) {
  const int first = stages.first, last = stages.last;
  std::iota(by_link_.begin(), by_link_.end(), 0);
  for (size_t node = 0; node < by_node_.size(); ++node) {
    by_node_[node] = static_cast<uint32_t>(2 * node);
  }
  // In-block node number of a row of block 0.
  const auto node_of = [this](Row row) {
    return static_cast<uint32_t>(std::lower_bound(row_of_node_.begin(), row_of_node_.end(), row) -
                                 row_of_node_.begin());
  };
  for (int stage = first; stage <= last; ++stage) {
    BlockWiring& wiring = wiring_.emplace_back();
    const std::vector<uint32_t> lists = ListsOf(network, stage);
    for (uint32_t node = 0; node < row_of_node_.size(); ++node) {
      const Row row = row_of_node_[node];
      wiring.in.push_back(2 * (stage == first ? row : node));
      for (int port = 0; port < 2; ++port) {
        const uint32_t list = lists[2 * row + port];
        wiring.out.push_back(stage == last ? list : 2 * node_of(list / 2) + list % 2);
        const bool takes_time =
            !network.straight_is_free() || network.next_row(stage, row, port) != row;
        wiring.service.push_back(takes_time ? unit : 0);
      }
    }
  }
}

PacketCount StageGroup::RunWindow(Crew& crew, const GroupEnds& ends, const StageWindow& window,
                                  std::vector<BlockScratch>& scratch) {
  const size_t lists = 2 * row_of_node_.size();
  for (BlockScratch& s : scratch) {
    s.generated = {};
    if (s.in.size() < lists) s.in.resize(lists), s.out.resize(lists);
  }
  crew.ForEach(row_of_block_.size(), [&](int worker, size_t block) {
    RunBlock(worker, block, ends, window, scratch[static_cast<size_t>(worker)]);
  });
  PacketCount generated;
  for (const BlockScratch& s : scratch) {
    generated.packets += s.generated.packets;
    generated.early += s.generated.early;
  }
  return generated;
}

void StageGroup::RunBlock(int worker, size_t block, const GroupEnds& ends,
                          const StageWindow& window, BlockScratch& scratch) {
  static constexpr VirtualPacket kNone{kNever, 0};
  const size_t nodes = row_of_node_.size(), base = 2 * static_cast<size_t>(row_of_block_[block]);
  if (ends.source != nullptr) {
    size_t used = 0;
    for (size_t node = 0; node < nodes; ++node) {
      const size_t count =
          ends.source->FillRow(RowOf(block, node), window.end, scratch.arrivals, used);
      scratch.in[2 * node].count = static_cast<uint32_t>(count);
      used += count;
      scratch.arrivals[used++].time = kNever;
    }
    scratch.generated.packets += used - nodes;
    const VirtualPacket* list = scratch.arrivals.data();
    for (size_t node = 0; node < nodes; ++node) {
      scratch.in[2 * node].first = list;
      scratch.generated.early += CountBefore(scratch.in[2 * node], window.inner);
      scratch.in[2 * node + 1] = {&kNone, 0, 0};
      list += scratch.in[2 * node].count + 1;
    }
  }
  for (int stage = stages_.first; stage <= stages_.last; ++stage) {
    const BlockWiring& wiring = wiring_[static_cast<size_t>(stage - stages_.first)];
    const bool from_boundary = stage == stages_.first && ends.in != nullptr;
    const bool is_last = stage == stages_.last;
    StageWindow when = window;
    when.from_source = stage == stages_.first && ends.source != nullptr;
    PacketArena& places = scratch.packets[stage & 1];
    places.Clear();
    blocks_[at(stage, block)].RunWindow(wiring, nodes_.data() + at(stage, block) * nodes,
                                        from_boundary ? ends.in->lists() + base : scratch.in.data(),
                                        from_boundary ? wiring.in : by_node_,
                                        is_last ? by_link_ : wiring.out, scratch.out.data(), places,
                                        when, scratch.kept);
    if (is_last) break;
    std::swap(scratch.in, scratch.out);
  }
  const std::vector<uint32_t>& to = wiring_.back().out;
  for (size_t link = 0; link < 2 * nodes; ++link) {
    if (ends.sinks != nullptr) {
      ends.sinks[worker].Take(scratch.out[link], window.inner);
    } else {
      ends.out->Store(worker, base + to[link], scratch.out[link]);
    }
  }
}

uint64_t StageGroup::queued() const {
  uint64_t sum = 0;
  for (const StageBlock& block : blocks_) sum += block.queued();
  return sum;
}

uint64_t StageGroup::handled(int stage) const {
  uint64_t sum = 0;
  for (size_t block = 0; block < row_of_block_.size(); ++block) {
    sum += blocks_[at(stage, block)].handled();
  }
  return sum;
}

TickSum StageGroup::delay_sum(int stage) const {
  TickSum sum = 0;
  for (size_t block = 0; block < row_of_block_.size(); ++block) {
    sum += blocks_[at(stage, block)].delay_sum();
  }
  return sum;
}

void StageGroup::CountLinks(int stage, uint64_t* counts) const {
  const size_t nodes = row_of_node_.size();
  for (size_t block = 0; block < row_of_block_.size(); ++block) {
    const NodeState* state = nodes_.data() + at(stage, block) * nodes;
    for (size_t node = 0; node < nodes; ++node) {
      for (size_t port = 0; port < 2; ++port) {
        counts[2 * RowOf(block, node) + port] +=
            blocks_[at(stage, block)].packets(state[node], 2 * node + port);
      }
    }
  }
}

size_t StageGroup::bytes() const {
  size_t sum = nodes_.bytes() + (row_of_node_.size() * 4 + row_of_block_.size()) * sizeof(Row);
  for (const BlockWiring& w : wiring_) {
    sum += w.nodes() * (2 * sizeof(Ticks) + 3 * sizeof(uint32_t));
  }
  for (const StageBlock& block : blocks_) sum += block.bytes();
  return sum;
}

}  // namespace bfly::dataplane

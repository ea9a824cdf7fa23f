// SPDX-License-Identifier: Apache-2.0
#include "dataplane/virtual_clock/stage_group.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "dataplane/virtual_clock/narrow_block.h"
#include "dataplane/virtual_clock/packet_vectors.h"

namespace bfly::dataplane {
namespace {

// A block has 2^kGroupBits rows. The packets of a window of this many rows, and the queues of these
// rows at one stage, fit in a core's L2 cache.
constexpr int kGroupBits = 6;

// A group has at most this many stages: vectors keep their routing bits (word_table.h).
constexpr int kMostStages = 8;
#if BFLY_HAS_NARROW_VECTORS
static_assert(kMostStages == kMostNarrowStages);
#endif

// The address bits that stages first..last set; all bits if a stage is wired by a table.
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

// The last stage of the longest run of at most kMostStages stages from `first`, up to `limit`, that
// touches at most `bits` address bits.
int LastStage(const Network& network, int first, int limit, int bits) {
  int last = first;
  while (last < limit && last + 1 - first < kMostStages &&
         std::popcount(TouchedBits(network, first, last + 1)) <= bits) {
    ++last;
  }
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

template <typename Make>
void StageGroup::MakeBlocks(size_t count, const Make& make) {
  auto& blocks = blocks_.emplace<std::vector<decltype(make())>>();
  blocks.reserve(count);
  for (size_t i = 0; i < count; ++i) blocks.push_back(make());
}

StageGroup::StageGroup(const Network& network, StageRange stages, const LinkService& service)
    : stages_(stages),
      service_(service),
      row_of_node_(Subsets(TouchedBits(network, stages.first, stages.last))),
      row_of_block_(
          Subsets((network.rows() - 1) & ~TouchedBits(network, stages.first, stages.last))),
      by_link_(2 * row_of_node_.size()),
      by_node_(row_of_node_.size()) {
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
        wiring.service.push_back(takes_time ? service.unit : 0);
      }
    }
  }
  const size_t blocks = depth() * row_of_block_.size(), nodes = row_of_node_.size();
  switch (service.discipline) {
    case Discipline::kFifo:
      blocks_ = std::vector<StageBlock>(blocks);
      nodes_ = PageArray<NodeState>(blocks * nodes);
      break;
    case Discipline::kProcessorSharing:
      MakeBlocks(blocks, [&] { return SharingBlock(nodes); });
      break;
    case Discipline::kPriority:
      MakeBlocks(blocks, [&] { return PriorityBlock(nodes, service.words.class_bits); });
      break;
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

void StageGroup::Generate(size_t block, const GroupEnds& ends, const StageWindow& window,
                          BlockScratch& scratch) {
  static constexpr VirtualPacket kNone{kNever, 0};
  const size_t nodes = row_of_node_.size();
  size_t used = 0;
  for (size_t node = 0; node < nodes; ++node) {
    const Row row = RowOf(block, node);
    const size_t count = ends.source->FillRow(row, window.end, scratch.arrivals, used);
    for (size_t i = used; ends.classes != nullptr && i < used + count; ++i) {
      PacketWord& word = scratch.arrivals[i].word;
      word = service_.words.WithClass(word, ends.classes->Draw(row));
    }
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

void StageGroup::RunStage(std::vector<StageBlock>& blocks, size_t number, int stage,
                          const NodeLists& lists, const StageWindow& window,
                          BlockScratch& scratch) {
  blocks[number].RunWindow(wiring(stage), nodes_.data() + number * row_of_node_.size(), lists,
                           scratch.packets[stage & 1], window, scratch.kept);
}

void StageGroup::RunStage(std::vector<SharingBlock>& blocks, size_t number, int stage,
                          const NodeLists& lists, const StageWindow& window,
                          BlockScratch& scratch) {
  blocks[number].RunWindow(service_, stage + 1, wiring(stage), lists, window,
                           scratch.packets[stage & 1], scratch.sharers, scratch.delays_of(stage));
}

void StageGroup::RunStage(std::vector<PriorityBlock>& blocks, size_t number, int stage,
                          const NodeLists& lists, const StageWindow& window,
                          BlockScratch& scratch) {
  blocks[number].RunWindow(service_, stage + 1, wiring(stage), lists, window,
                           scratch.packets[stage & 1], scratch.classed, scratch.delays_of(stage));
}

void StageGroup::RunBlock(int worker, size_t block, const GroupEnds& ends,
                          const StageWindow& window, BlockScratch& scratch) {
  const size_t nodes = row_of_node_.size(), base = 2 * static_cast<size_t>(row_of_block_[block]);
#if BFLY_HAS_NARROW_VECTORS
  if (window.narrow) {
    RunNarrow(worker, block, ends, window, scratch);
    return;
  }
#endif
  if (ends.source != nullptr) Generate(block, ends, window, scratch);
  for (int stage = stages_.first; stage <= stages_.last; ++stage) {
    const bool from_boundary = stage == stages_.first && ends.in != nullptr;
    const bool is_last = stage == stages_.last;
    StageWindow when = window;
    when.from_source = stage == stages_.first && ends.source != nullptr;
    when.from_boundary = from_boundary;
    scratch.packets[stage & 1].Clear();
    const NodeLists lists{
        .in = from_boundary ? ends.in->lists() + base : scratch.in.data(),
        .from = from_boundary ? wiring(stage).in.data() : by_node_.data(),
        .to = is_last ? by_link_.data() : wiring(stage).out.data(),
        .out = scratch.out.data(),
    };
    std::visit(
        [&](auto& blocks) { RunStage(blocks, at(stage, block), stage, lists, when, scratch); },
        blocks_);
    if (is_last) break;
    std::swap(scratch.in, scratch.out);
  }
  const std::vector<uint32_t>& to = wiring_.back().out;
  for (size_t link = 0; link < 2 * nodes; ++link) {
    const PacketList& list = scratch.out[link];
    if (ends.sinks != nullptr) {
      ends.sinks[worker].Take(list, window.inner);
#if BFLY_HAS_PACKET_VECTORS
    } else if (window.bucket_bits >= 0) {
      ends.out->Pack(worker, base + to[link], list, window.start, window.bucket_bits);
#endif
    } else {
      ends.out->Store(worker, base + to[link], list);
    }
  }
}

#if BFLY_HAS_NARROW_VECTORS
void StageGroup::RunNarrow(int worker, size_t block, const GroupEnds& ends,
                           const StageWindow& window, BlockScratch& scratch) {
  const size_t nodes = row_of_node_.size(), base = 2 * static_cast<size_t>(row_of_block_[block]);
  StageWindow when = window;
  when.from_source = ends.source != nullptr;
  NarrowBlock narrow(wiring_, when, scratch);
  for (size_t node = 0; ends.source != nullptr && node < nodes; ++node) {
    const size_t count = ends.source->FillRow(RowOf(block, node), window.end, scratch.arrivals, 0);
    const PacketList list{scratch.arrivals.data(), static_cast<uint32_t>(count), 0};
    scratch.generated.packets += count;
    scratch.generated.early += CountBefore(list, window.inner);
    narrow.TakeSource(node, list);
  }
  if (ends.source == nullptr) {
    narrow.TakePacked(ends.in->lists() + base, wiring_[0].in.data());
  }
  const size_t first = at(stages_.first, block);
  narrow.Run(std::span(std::get<std::vector<StageBlock>>(blocks_)).subspan(first, depth()),
             nodes_.data() + first * nodes);
  const std::vector<uint32_t>& to = wiring_.back().out;
  for (size_t link = 0; link < 2 * nodes; ++link) {
    if (ends.sinks != nullptr) {
      narrow.Deliver(link, ends.sinks[worker]);
    } else {
      narrow.Pack(link, *ends.out, worker, base + to[link]);
    }
  }
}
#endif

uint64_t StageGroup::queued() const {
  return std::visit(
      [](const auto& blocks) {
        uint64_t sum = 0;
        for (const auto& block : blocks) sum += block.queued();
        return sum;
      },
      blocks_);
}

ServedCount StageGroup::count(int stage) const {
  return std::visit(
      [&](const auto& blocks) {
        ServedCount sum;
        for (size_t block = 0; block < row_of_block_.size(); ++block) {
          const ServedCount count = blocks[at(stage, block)].count();
          sum.handled += count.handled;
          sum.measured += count.measured;
          sum.delay += count.delay;
        }
        return sum;
      },
      blocks_);
}

void StageGroup::CountLinks(int stage, uint64_t* counts) const {
  const size_t nodes = row_of_node_.size();
  const auto add = [&](const auto& packets_of) {
    for (size_t block = 0; block < row_of_block_.size(); ++block) {
      for (size_t link = 0; link < 2 * nodes; ++link) {
        counts[2 * RowOf(block, link / 2) + link % 2] += packets_of(at(stage, block), link);
      }
    }
  };
  if (const auto* fifo = std::get_if<std::vector<StageBlock>>(&blocks_)) {
    add([&](size_t number, size_t link) {
      return (*fifo)[number].packets(nodes_.data()[number * nodes + link / 2], link);
    });
  } else if (const auto* sharing = std::get_if<std::vector<SharingBlock>>(&blocks_)) {
    add([&](size_t number, size_t link) { return (*sharing)[number].packets(link); });
  } else if (const auto* priority = std::get_if<std::vector<PriorityBlock>>(&blocks_)) {
    add([&](size_t number, size_t link) { return (*priority)[number].packets(link); });
  }
}

size_t StageGroup::bytes() const {
  size_t sum = nodes_.bytes() + (row_of_node_.size() * 4 + row_of_block_.size()) * sizeof(Row);
  for (const BlockWiring& w : wiring_) {
    sum += w.nodes() * (2 * sizeof(Ticks) + 3 * sizeof(uint32_t));
  }
  std::visit(
      [&sum](const auto& blocks) {
        for (const auto& block : blocks) sum += block.bytes();
      },
      blocks_);
  return sum;
}

}  // namespace bfly::dataplane

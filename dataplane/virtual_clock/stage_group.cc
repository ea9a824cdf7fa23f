// SPDX-License-Identifier: Apache-2.0
#include "dataplane/virtual_clock/stage_group.h"

#include <algorithm>
#include <bit>

namespace bfly::dataplane {
namespace {

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

int StageGroup::LastStage(const Network& network, int first, int limit) {
  int last = first;
  while (last < limit && std::popcount(TouchedBits(network, first, last + 1)) <= kGroupBits) ++last;
  return last;
}

StageGroup::StageGroup(const Network& network, int first, int last, Ticks unit)
    : first_(first),
      last_(last),
      row_of_node_(Subsets(TouchedBits(network, first, last))),
      row_of_block_(Subsets((network.rows() - 1) & ~TouchedBits(network, first, last))),
      inner_{Boundary(2 * row_of_node_.size()), Boundary(2 * row_of_node_.size())} {
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
    for (size_t block = 0; block < row_of_block_.size(); ++block) {
      blocks_.emplace_back(row_of_node_.size());
    }
  }
}

void StageGroup::RunWindow(const Boundary& in, Boundary& out, Ticks window_end) {
  for (size_t block = 0; block < row_of_block_.size(); ++block) {
    const size_t base = 2 * static_cast<size_t>(row_of_block_[block]);
    for (int stage = first_; stage <= last_; ++stage) {
      const Boundary& from = stage == first_ ? in : inner_[stage & 1];
      Boundary& to = stage == last_ ? out : inner_[(stage + 1) & 1];
      if (stage != last_) to.Clear();
      at(stage, block)
          .RunWindow(wiring_[stage - first_], from, stage == first_ ? base : 0, to,
                     stage == last_ ? base : 0, window_end, scratch_);
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
  for (size_t block = 0; block < row_of_block_.size(); ++block) sum += at(stage, block).handled();
  return sum;
}

Ticks StageGroup::delay_sum(int stage) const {
  Ticks sum = 0;
  for (size_t block = 0; block < row_of_block_.size(); ++block) sum += at(stage, block).delay_sum();
  return sum;
}

void StageGroup::CountLinks(int stage, uint64_t* counts) const {
  for (size_t block = 0; block < row_of_block_.size(); ++block) {
    for (size_t node = 0; node < row_of_node_.size(); ++node) {
      for (size_t port = 0; port < 2; ++port) {
        counts[2 * RowOf(block, node) + port] += at(stage, block).packets(2 * node + port);
      }
    }
  }
}

size_t StageGroup::bytes() const {
  size_t sum = inner_[0].bytes() + inner_[1].bytes() + scratch_.capacity() * sizeof(VirtualPacket);
  for (const BlockWiring& w : wiring_) {
    sum += w.nodes() * (2 * sizeof(Ticks) + 3 * sizeof(uint32_t));
  }
  for (const StageBlock& block : blocks_) sum += block.bytes();
  return sum;
}

}  // namespace bfly::dataplane

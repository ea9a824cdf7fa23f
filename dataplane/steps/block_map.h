// SPDX-License-Identifier: Apache-2.0
// Finds the block of a node. Blocks are rectangles of levels and rows (topologies/crew.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "topologies/crew.h"
#include "topologies/wiring.h"

namespace bfly::dataplane {

// Cuts the rows of levels 0..levels-1 into `blocks` equal ranges. The last range may be shorter,
// and if there are fewer rows than `blocks`, there are fewer ranges.
inline std::vector<NodeBlock> RowBlocks(int levels, Row rows, uint32_t blocks) {
  const Row each = (rows + std::min(blocks, rows) - 1) / std::min(blocks, rows);
  std::vector<NodeBlock> all;
  for (Row first = 0; first < rows; first += each) {
    all.push_back({0, levels, first, std::min(first + each, rows)});
  }
  return all;
}

class BlockMap {
 public:
  // Every node of `levels` times `rows` is in one of the blocks.
  BlockMap(int levels, Row rows, std::vector<NodeBlock> blocks) : blocks_(std::move(blocks)) {
    for (int level = 0; level < levels; ++level) {
      std::vector<uint32_t> here;
      for (uint32_t i = 0; i < blocks_.size(); ++i) {
        if (level >= blocks_[i].first_level && level < blocks_[i].end_level) here.push_back(i);
      }
      std::ranges::sort(here, {}, [this](uint32_t i) { return blocks_[i].first_row; });
      if (level == 0 || !SameRows(here, of_level_.back())) {
        std::vector<uint16_t>& places = places_.emplace_back();
        for (size_t place = 0; place < here.size(); ++place) {
          places.resize(blocks_[here[place]].end_row, static_cast<uint16_t>(place));
        }
        places.resize(rows);
      }
      table_of_level_.push_back(places_.size() - 1);
      of_level_.push_back(std::move(here));
    }
  }

  const std::vector<NodeBlock>& blocks() const { return blocks_; }
  int levels() const { return static_cast<int>(of_level_.size()); }
  // The blocks that have nodes of a level, in the order of rows.
  const std::vector<uint32_t>& of_level(int level) const {
    return of_level_[static_cast<size_t>(level)];
  }
  // For each row of a level: the place of the row's block in of_level(level).
  const uint16_t* places(int level) const {
    return places_[table_of_level_[static_cast<size_t>(level)]].data();
  }
  uint32_t BlockOf(int level, Row row) const { return of_level(level)[places(level)[row]]; }

 private:
  bool SameRows(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b) const {
    return std::ranges::equal(
        a, b, [this](uint32_t i, uint32_t j) { return blocks_[i].end_row == blocks_[j].end_row; });
  }

  std::vector<NodeBlock> blocks_;
  std::vector<std::vector<uint32_t>> of_level_;
  std::vector<std::vector<uint16_t>> places_;  // levels that are cut alike share a table
  std::vector<size_t> table_of_level_;
};

}  // namespace bfly::dataplane

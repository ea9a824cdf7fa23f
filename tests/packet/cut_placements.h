// SPDX-License-Identifier: Apache-2.0
// The ways to cut a small network into runs of stages and blocks of rows.
#pragma once

#include <string>
#include <vector>

#include "dataplane/core/config.h"
#include "dataplane/runtime/cpus.h"

namespace bfly::dataplane {

inline constexpr int kWorkersOfTests = 4;

inline int LcoreOf(int worker) { return Lcores()[static_cast<size_t>(worker)].number; }

// The ways to write 0..count-1 as consecutive ranges, at most `most` of them: of each the first
// numbers.
inline std::vector<std::vector<int>> Cuts(int count, int most) {
  std::vector<std::vector<int>> cuts;
  for (unsigned set = 0; set < 1u << (count - 1); ++set) {
    std::vector<int> starts = {0};
    for (int i = 1; i < count; ++i) {
      if (set >> (i - 1) & 1) starts.push_back(i);
    }
    if (static_cast<int>(starts.size()) <= most) cuts.push_back(std::move(starts));
  }
  return cuts;
}

// Every way to cut stages into runs and the rows of each run into blocks, a worker a block.
inline std::vector<std::vector<StagePlacement>> Placements(int stages, int rows, int workers) {
  std::vector<std::vector<StagePlacement>> all;
  for (const std::vector<int>& runs : Cuts(stages, workers)) {
    std::vector<std::vector<StagePlacement>> begun = {{}};
    for (size_t run = 0; run < runs.size(); ++run) {
      const int last = run + 1 < runs.size() ? runs[run + 1] - 1 : stages - 1;
      const int needed_later = static_cast<int>(runs.size() - run) - 1;
      std::vector<std::vector<StagePlacement>> longer;
      for (const auto& placement : begun) {
        const int used = static_cast<int>(placement.size());
        for (const std::vector<int>& blocks : Cuts(rows, workers - used - needed_later)) {
          longer.push_back(placement);
          for (size_t b = 0; b < blocks.size(); ++b) {
            const int last_row = b + 1 < blocks.size() ? blocks[b + 1] - 1 : rows - 1;
            longer.back().push_back(
                {.first_stage = runs[run],
                 .last_stage = last,
                 .lcore = LcoreOf(used + static_cast<int>(b)),
                 .rows = {static_cast<Row>(blocks[b]), static_cast<Row>(last_row)}});
          }
        }
      }
      begun = std::move(longer);
    }
    all.insert(all.end(), begun.begin(), begun.end());
  }
  return all;
}

inline std::string Describe(const FabricConfig& config) {
  std::string text;
  for (const StagePlacement& p : config.placement) {
    text += "stages " + std::to_string(p.first_stage) + "-" + std::to_string(p.last_stage) +
            " rows " + std::to_string(p.rows.first) + "-" + std::to_string(p.rows.last) +
            " lcore " + std::to_string(p.lcore) + "; ";
  }
  return text;
}

}  // namespace bfly::dataplane

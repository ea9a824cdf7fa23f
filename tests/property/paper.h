// SPDX-License-Identifier: Apache-2.0
// The networks as Cole et al. 1998 write them down: rows as strings of digits w_1..w_d, one edge at
// a time, no bit tricks. Slow on purpose: the tests hold topologies/ against it.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "tests/property/paper_multibutterfly.h"
#include "topologies/network.h"
#include "topologies/random.h"
#include "topologies/switch_settings.h"
#include "topologies/tag.h"

namespace bfly::paper {

// digits[0] is w_1, the leftmost.
using Digits = std::vector<int>;

inline Digits DigitsOf(Row row, int d) {
  Digits w(d);
  for (int k = d; k-- > 0; row /= 2) w[k] = static_cast<int>(row % 2);
  return w;
}

inline Row RowOf(const Digits& w) {
  Row row = 0;
  for (int digit : w) row = 2 * row + static_cast<Row>(digit);
  return row;
}

// The position (1-based) that differs across the cross edges of transition i -> i+1.
inline int PositionOf(NetworkKind kind, int i, int d) {
  switch (kind) {
    case NetworkKind::kButterfly:
      return i % d + 1;  // extra stages repeat the first ones
    case NetworkKind::kWrappedButterfly:
      return i + 1;
    case NetworkKind::kTwoFoldButterfly:
      return i < d ? i + 1 : i - d + 1;
    case NetworkKind::kHypercube:
      return d - i;  // dimension i + 1, counted from the right
    case NetworkKind::kRandomlyWiredButterfly:
    case NetworkKind::kDilatedButterfly:
    case NetworkKind::kMultibutterfly:
      return i + 1;
    case NetworkKind::kBenes:
      return i < d ? i + 1 : 2 * d - i;
  }
  return 0;
}

inline Digits Cross(Digits w, int position) {
  w[position - 1] = 1 - w[position - 1];
  return w;
}

// The head of the cross link of <w, 0> in RB_n: w_1 flipped, the others sigma_{w_1}(w_2..w_d).
inline Digits RandomCross(uint64_t seed, const Digits& w) {
  const int d = static_cast<int>(w.size());
  const std::vector<uint32_t> sigma = RandomPermutation(
      seed, RandomStream::kRandomWiring, 1u << (d - 1), static_cast<uint64_t>(w[0]) << 32);
  Digits image = DigitsOf(sigma[RowOf(Digits(w.begin() + 1, w.end()))], d - 1);
  image.insert(image.begin(), 1 - w[0]);
  return image;
}

// The path through the row digits `tag` names, hop by hop.
inline std::vector<Row> Walk(const Network& network, Row input, const std::string& tag) {
  const int d = network.dimension();
  const bool two_copies =
      network.kind() == NetworkKind::kTwoFoldButterfly || network.kind() == NetworkKind::kBenes;
  const int stages = two_copies ? 2 * d : d + network.spec().extra_stages;
  Digits w = DigitsOf(input, d);
  std::vector<Row> rows{input};
  int stage = 0;
  for (char bit : tag) {
    const int position = PositionOf(network.kind(), stage, d);
    if (w[position - 1] != bit - '0') {
      const bool random = network.kind() == NetworkKind::kRandomlyWiredButterfly && stage == 0;
      w = random ? RandomCross(network.spec().seed, w) : Cross(w, position);
    }
    rows.push_back(RowOf(w));
    stage = (stage + 1) % stages;
  }
  return rows;
}

// The rows of the path by `ports`, hop by hop. A multibutterfly keeps its parallel edges.
inline std::vector<Row> WalkPorts(const Network& network, Row input,
                                  const std::vector<int>& ports) {
  const int multiplicity = network.spec().multiplicity;
  if (network.kind() != NetworkKind::kMultibutterfly) {
    std::string tag;
    for (const int port : ports) tag += port < multiplicity ? '0' : '1';
    return Walk(network, input, tag);
  }
  static std::map<std::array<uint64_t, 5>, Row> heads;  // drawing one takes time
  std::vector<Row> rows{input};
  const uint32_t n = network.rows();
  for (int c = 0; c < static_cast<int>(ports.size()); ++c) {
    const Row r = rows.back();
    const uint64_t seed = network.spec().seed;
    const auto [head, is_new] = heads.try_emplace(
        {n, seed, static_cast<uint64_t>(c), r,
         static_cast<uint64_t>(ports[c]) * 100 + static_cast<uint64_t>(multiplicity)});
    if (is_new) {
      for (const Splitter& splitter : SplittersOf(n, network.dimension())) {
        if (splitter.c != c || splitter.inputs[0] > r || splitter.inputs.back() < r) continue;
        head->second = HeadOf(splitter, ports[c] / multiplicity, ports[c] % multiplicity,
                              r - splitter.inputs[0], seed);
      }
    }
    rows.push_back(head->second);
  }
  return rows;
}

// Candidate path `which` of a request on BB_n as section 2 builds it: forwards through the random
// switches of levels 0..h-1, backwards from the output through those of levels 2d..d+h+1, and the
// one path between.
inline std::vector<Row> CandidatePath(const SwitchSettings& settings, int d, Row input, Row output,
                                      int which) {
  const int h = d / 2;
  const NetworkKind kind = NetworkKind::kTwoFoldButterfly;
  std::vector<Digits> at(2 * d + 1);
  at[0] = DigitsOf(input, d);
  bool cross = which == 1;
  for (int level = 0; level < h; ++level) {
    if (settings.setting(level, RowOf(at[level]))) cross = !cross;
    at[level + 1] = cross ? Cross(at[level], PositionOf(kind, level, d)) : at[level];
  }
  at[2 * d] = DigitsOf(output, d);
  cross = which == 1;
  for (int level = 2 * d; level > d + h; --level) {
    if (settings.setting(level, RowOf(at[level]))) cross = !cross;
    at[level - 1] = cross ? Cross(at[level], PositionOf(kind, level - 1, d)) : at[level];
  }
  for (int level = h; level < d + h; ++level) {
    const int position = PositionOf(kind, level, d);
    Digits next = at[level];
    next[position - 1] = at[d + h][position - 1];
    if (level + 1 < d + h) at[level + 1] = next;
  }
  std::vector<Row> rows;
  for (const Digits& w : at) rows.push_back(RowOf(w));
  return rows;
}

// Edges as (level, row, next row), with how many paths run over each.
using EdgeLoad = std::map<std::array<Row, 3>, int>;

inline void Count(EdgeLoad& load, const std::vector<Row>& path, int by = 1) {
  for (size_t level = 0; level + 1 < path.size(); ++level) {
    load[{static_cast<Row>(level), path[level], path[level + 1]}] += by;
  }
}

}  // namespace bfly::paper

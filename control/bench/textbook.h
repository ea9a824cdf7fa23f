// SPDX-License-Identifier: Apache-2.0
// The circuit protocols as a textbook would write them: they walk the paths and count in arrays,
// without tables and without regard for caches. The benchmarks compare with these, and check that
// both choose the same paths.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "control/protocols/protocol.h"
#include "topologies/random.h"
#include "topologies/switch_settings.h"

namespace bfly::textbook {

using Path = std::vector<uint64_t>;  // link indices, first hop first

// Candidate path `which` of a request on BB_n, switch by switch (THEORY.md 2.2).
inline Path CandidatePath(const Network& network, const SwitchSettings& settings, Row input,
                          Row output, int which) {
  const int d = network.dimension();
  const int h = d / 2;
  std::vector<Row> row(2 * d + 1);
  row[0] = input;
  row[2 * d] = output;
  bool cross = which == 1;
  for (int level = 0; level < h; ++level) {
    cross ^= settings.setting(level, row[level]);
    row[level + 1] = row[level] ^ (cross ? network.wiring(level).mask : 0);
  }
  cross = which == 1;
  for (int level = 2 * d; level > d + h; --level) {
    cross ^= settings.setting(level, row[level]);
    row[level - 1] = row[level] ^ (cross ? network.wiring(level - 1).mask : 0);
  }
  for (int level = h; level < d + h; ++level) {
    const Row mask = network.wiring(level).mask;
    const Row next = (row[level] & ~mask) | (row[d + h] & mask);
    if (level + 1 < d + h) row[level + 1] = next;
  }
  Path path;
  for (int stage = 0; stage < 2 * d; ++stage) {
    const int port = (row[stage + 1] & network.wiring(stage).mask) != 0;
    path.push_back(network.link_index({stage, row[stage], port}));
  }
  return path;
}

// The minimum protocol, THEORY.md 2.5.
class Minimum {
 public:
  explicit Minimum(const Network& network)
      : network_(network),
        settings_(SwitchSettings::Make(network).value()),
        counts_(network.link_count()),
        paths_(network.rows()) {}

  // Returns whether p' was taken.
  bool SetUp(Row input, Row output) {
    std::array<Path, 2> candidates;
    std::array<uint32_t, 2> most = {};
    const int d = network_.dimension();
    for (int which : {0, 1}) {
      candidates[which] = CandidatePath(network_, settings_, input, output, which);
      for (int stage = d / 2; stage < d / 2 + d; ++stage) {
        most[which] = std::max(most[which], counts_[candidates[which][stage]]);
      }
    }
    const bool second = most[1] < most[0];
    paths_[input] = candidates[second];
    for (uint64_t link : paths_[input]) ++counts_[link];
    return second;
  }
  void Release(Row input) {
    for (uint64_t link : paths_[input]) --counts_[link];
  }

 private:
  const Network& network_;
  SwitchSettings settings_;
  std::vector<uint32_t> counts_;
  std::vector<Path> paths_;
};

// The collision protocol, THEORY.md 2.3: returns which path each request takes, 2 if none.
inline std::vector<int> Collision(const Network& network, const Permutation& pi, uint32_t c) {
  const SwitchSettings settings = SwitchSettings::Make(network).value();
  std::vector<std::array<Path, 2>> paths(pi.size());
  for (Row input = 0; input < pi.size(); ++input) {
    for (int which : {0, 1}) {
      paths[input][which] = CandidatePath(network, settings, input, pi[input], which);
    }
  }
  std::vector<int> choice(pi.size(), 2);
  for (bool progress = true; progress;) {
    progress = false;
    std::vector<uint32_t> counts(network.link_count());
    for (Row input = 0; input < pi.size(); ++input) {
      if (choice[input] != 2) continue;
      for (const Path& path : paths[input]) {
        for (uint64_t link : path) ++counts[link];
      }
    }
    for (Row input = 0; input < pi.size(); ++input) {
      if (choice[input] != 2) continue;
      for (int which : {1, 0}) {
        const Path& path = paths[input][which];
        if (std::all_of(path.begin(), path.end(),
                        [&](uint64_t link) { return counts[link] <= c; })) {
          choice[input] = which;
          progress = true;
        }
      }
    }
  }
  return choice;
}

// The congestion of a baseline on BB_n that takes one path a request, whatever the load (THEORY.md
// 2.8).
inline uint32_t OneRandomPath(const Network& network, const Permutation& pi,
                              absl::string_view protocol, uint64_t seed) {
  const SwitchSettings settings = SwitchSettings::Make(network).value();
  std::vector<uint32_t> counts(network.link_count());
  for (Row input = 0; input < pi.size(); ++input) {
    Path path;
    if (protocol == "one_choice") {
      const bool second = RandomBelow(seed, RandomStream::kOneChoice, input, 2) != 0;
      path = CandidatePath(network, settings, input, pi[input], second);
    } else {
      const Row middle = protocol == "valiant"
                             ? RandomBelow(seed, RandomStream::kValiant, input, network.rows())
                             : input;
      Row row = input;
      for (int stage = 0; stage < network.stages(); ++stage) {
        const Row mask = network.wiring(stage).mask;
        const Row to = stage < network.dimension() ? middle : pi[input];
        path.push_back(network.link_index({stage, row, (to & mask) != 0}));
        row = (row & ~mask) | (to & mask);
      }
    }
    for (uint64_t link : path) ++counts[link];
  }
  return *std::max_element(counts.begin(), counts.end());
}

// Waksman's recursion: the middle row of each input of a permutation of 2^k rows.
inline std::vector<Row> Looping(const std::vector<Row>& pi) {
  const Row n = static_cast<Row>(pi.size());
  if (n == 1) return {0};
  const Row half = n / 2;
  std::vector<Row> inverse(n);
  for (Row input = 0; input < n; ++input) inverse[pi[input]] = input;
  std::vector<int> side(n, -1);
  for (Row start = 0; start < n; ++start) {
    for (Row input = start; side[input] < 0;) {
      side[input] = 0;
      const Row shares_output = inverse[pi[input] ^ half];
      side[shares_output] = 1;
      input = shares_output ^ half;
    }
  }
  std::vector<Row> middle(n);
  std::array<std::vector<Row>, 2> inner = {std::vector<Row>(half), std::vector<Row>(half)};
  for (Row input = 0; input < n; ++input) inner[side[input]][input % half] = pi[input] % half;
  for (int which : {0, 1}) inner[which] = Looping(inner[which]);
  for (Row input = 0; input < n; ++input) {
    middle[input] = static_cast<Row>(side[input]) * half + inner[side[input]][input % half];
  }
  return middle;
}

}  // namespace bfly::textbook

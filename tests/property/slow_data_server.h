// SPDX-License-Identifier: Apache-2.0
// The data server's protocols as Cole et al. 1998 (section 3) write them down: every edge of every
// path, and every round anew. They are slow on purpose. The tests compare the controller's
// protocols and the in-band programs with them.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "tests/property/paper.h"

namespace bfly::paper {

struct Read {
  Row user = 0;
  std::array<Row, 2> disks = {};
};

// The path of a user to a disk, digit by digit.
inline std::vector<Row> PathTo(const Network& network, Row user, Row disk) {
  std::string tag;
  for (int digit : DigitsOf(disk, network.dimension())) tag += static_cast<char>('0' + digit);
  return Walk(network, user, tag);
}

// The standing circuits on the edges and at the disks.
struct ServerLoad {
  EdgeLoad edges;
  std::map<Row, int> readers;

  void Count(const std::vector<Row>& path, int change = 1) {
    paper::Count(edges, path, change);
    readers[path.back()] += change;
  }
  int MostOnEdges(const std::vector<Row>& path) {
    int most = 0;
    for (size_t level = 0; level + 1 < path.size(); ++level) {
      most = std::max(most, edges[{static_cast<Row>(level), path[level], path[level + 1]}]);
    }
    return most;
  }
  // Section 3.2: the fullest edge or the disk, whichever has more.
  int Cost(const std::vector<Row>& path) {
    return std::max(MostOnEdges(path), readers[path.back()]);
  }
};

struct SlowReads {
  std::vector<int> choice;  // by request: the copy, -1: none
  std::vector<uint32_t> left_per_round;
};

// Section 3.1: p is selected if on each of its edges at most c, and at its disk at most c_disk
// paths are active or selected, those of `standing` among them. Without `count_selected` only
// active ones are counted.
inline SlowReads RunSlowly(const Network& network, const std::vector<Read>& requests, int c,
                           int c_disk, bool count_selected, const ServerLoad& standing = {}) {
  std::vector<std::array<std::vector<Row>, 2>> paths;
  for (const auto& [user, disks] : requests) {
    paths.push_back({PathTo(network, user, disks[0]), PathTo(network, user, disks[1])});
  }
  SlowReads run;
  run.choice.assign(requests.size(), -1);
  for (;;) {
    const std::vector<int> before = run.choice;
    const auto left = static_cast<uint32_t>(std::count(before.begin(), before.end(), -1));
    if (left == 0) return run;
    ServerLoad load = standing;
    for (size_t i = 0; i < paths.size(); ++i) {
      if (before[i] < 0) {
        for (const std::vector<Row>& path : paths[i]) load.Count(path);
      } else if (count_selected) {
        load.Count(paths[i][before[i]]);
      }
    }
    for (size_t i = 0; i < paths.size(); ++i) {
      for (int copy : {0, 1}) {
        const std::vector<Row>& path = paths[i][copy];
        const bool eligible =
            before[i] < 0 && load.readers[path.back()] <= c_disk && load.MostOnEdges(path) <= c;
        if (eligible && run.choice[i] < 0) run.choice[i] = copy;
      }
    }
    run.left_per_round.push_back(
        static_cast<uint32_t>(std::count(run.choice.begin(), run.choice.end(), -1)));
    if (run.left_per_round.back() == left) return run;
  }
}

}  // namespace bfly::paper
